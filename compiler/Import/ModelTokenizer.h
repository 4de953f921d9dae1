// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of a model in whatever format it comes.

#ifndef LLMC_COMPILER_IMPORT_MODELTOKENIZER_H
#define LLMC_COMPILER_IMPORT_MODELTOKENIZER_H

#include "dialects/Support/LLVM.h"
#include "runtime/format/manifest.pb.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace llmc::importer {

/// The tokenizer that belongs to `path`: a GGUF file's own; the one of a model
/// directory, or of the directory that an .onnx file lies in; a tokenizer.json
/// itself. None if there is none, as for .mlir files.
llvm::Expected<std::optional<format::Tokenizer>>
readModelTokenizer(StringRef path);

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_MODELTOKENIZER_H
