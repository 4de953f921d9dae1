// SPDX-License-Identifier: Apache-2.0
//
// Headers that nearly every test includes; precompiled once for tests with MLIR
// and once for those without it.

#ifndef LLMC_TEST_SUPPORT_PCH_H
#define LLMC_TEST_SUPPORT_PCH_H

#ifdef LLMC_PCH_WITH_MLIR
#include "dialects/Support/Pch.h"
#endif
#include "runtime/format/manifest.pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#endif // LLMC_TEST_SUPPORT_PCH_H
