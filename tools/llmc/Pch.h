// SPDX-License-Identifier: Apache-2.0
//
// Headers that take long and that nearly every command includes; precompiled
// for clang. What g++ compiles shows that each file includes what it needs.

#ifndef LLMC_TOOLS_LLMC_PCH_H
#define LLMC_TOOLS_LLMC_PCH_H

#include "runtime/format/manifest.pb.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#endif // LLMC_TOOLS_LLMC_PCH_H
