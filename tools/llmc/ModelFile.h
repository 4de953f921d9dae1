// SPDX-License-Identifier: Apache-2.0
//
// Commands that take a .llmc file or, where the compiler is built in, a model
// file.

#ifndef LLMC_TOOLS_LLMC_MODELFILE_H
#define LLMC_TOOLS_LLMC_MODELFILE_H

#include "runtime/text/Tokenizer.h"

#include <memory>
#include <string>

namespace llmc::tool {

/// The tokenizer of the file at `path`.
StatusOr<std::unique_ptr<text::Tokenizer>>
openTokenizer(const std::string &path);

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_MODELFILE_H
