// SPDX-License-Identifier: Apache-2.0
//
// The tuning files that are part of the binary. The definition is generated
// from the .textproto files in tuned/.

#ifndef LLMC_CODEGEN_STRATEGY_EMBEDDEDTUNINGS_H
#define LLMC_CODEGEN_STRATEGY_EMBEDDEDTUNINGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace llmc::codegen {

/// A text file of the source tree, named after its target.
struct EmbeddedFile {
  llvm::StringLiteral name; // without folder and suffix
  llvm::StringLiteral text;
};

llvm::ArrayRef<EmbeddedFile> getEmbeddedTunings();

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_EMBEDDEDTUNINGS_H
