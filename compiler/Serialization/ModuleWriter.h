// SPDX-License-Identifier: Apache-2.0
//
// Writes a .llmc file: programs of all targets, and their weights once.

#ifndef LLMC_COMPILER_SERIALIZATION_MODULEWRITER_H
#define LLMC_COMPILER_SERIALIZATION_MODULEWRITER_H

#include "compiler/Import/ConvertedRows.h"
#include "compiler/Serialization/EarlierFile.h"
#include "compiler/Serialization/SelfTestCase.h"
#include "dialects/Support/LLVM.h"
#include "runtime/format/manifest.pb.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace llmc::serialization {

/// One target's planned program and what its device must match.
struct TargetProgram {
  ModuleOp module;
  format::TargetInfo target;
  /// The planned entries that test its kernels, null for none, and the cases.
  ModuleOp selfTests = nullptr;
  std::vector<SelfTestCase> cases = {};
};

/// Bytes of packed weights.
struct WeightBytes {
  uint64_t all = 0;
  uint64_t written = 0;
  /// Of `written`, those that an earlier file had.
  uint64_t copied = 0;
};

struct WriteOptions {
  std::string path;
  /// Producer, model and tokenizer; the rest is filled in.
  format::Manifest manifest;
  unsigned numThreads = 2;
  /// Where weights may be copied from that it has already; null: nowhere. The
  /// file that is written is the same with it and without.
  const EarlierFile *earlier = nullptr;
  /// Where rows are that were quantized already; null: nowhere.
  importer::ConvertedRows *converted = nullptr;
  /// Called from one thread at a time, may be empty.
  std::function<void(const WeightBytes &)> progress;
};

/// Writes sections, then the manifest, then the header, under a temporary name
/// beside |options.path|, and renames the file at the end. Weights are packed
/// one at a time by each thread, so memory for `numThreads` packed tensors is
/// needed. On failure no file is left.
llvm::Expected<WeightBytes> writeModule(ArrayRef<TargetProgram> programs,
                                        const WriteOptions &options);

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_MODULEWRITER_H
