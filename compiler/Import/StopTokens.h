// SPDX-License-Identifier: Apache-2.0
//
// Which tokens end a turn.

#ifndef LLMC_COMPILER_IMPORT_STOPTOKENS_H
#define LLMC_COMPILER_IMPORT_STOPTOKENS_H

#include "runtime/format/manifest.pb.h"
#include "llvm/ADT/ArrayRef.h"

namespace llmc::importer {

constexpr int64_t kNoToken = -1;

/// Sets the stop ids of `tokenizer`, whose tokens and types are complete: the
/// `ids` that are not kNoToken, and the special tokens by which known models
/// end a turn; in ascending order.
void setStopIds(format::Tokenizer &tokenizer, llvm::ArrayRef<int64_t> ids);

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_STOPTOKENS_H
