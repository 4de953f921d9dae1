// SPDX-License-Identifier: Apache-2.0
//
// The device descriptions that are part of the binary. The definition is
// generated from the .textproto files.

#ifndef LLMC_CODEGEN_TARGETS_EMBEDDEDDESCRIPTIONS_H
#define LLMC_CODEGEN_TARGETS_EMBEDDEDDESCRIPTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace llmc::targets {

/// A text file of the source tree.
struct EmbeddedFile {
  llvm::StringLiteral name; // without folder and suffix
  llvm::StringLiteral text;
};

/// All descriptions, by name in alphabetical order.
llvm::ArrayRef<EmbeddedFile> getEmbeddedDescriptions();

} // namespace llmc::targets

#endif // LLMC_CODEGEN_TARGETS_EMBEDDEDDESCRIPTIONS_H
