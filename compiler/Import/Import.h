// SPDX-License-Identifier: Apache-2.0
//
// Model files to graph modules: the one entry point for every format.

#ifndef LLMC_COMPILER_IMPORT_IMPORT_H
#define LLMC_COMPILER_IMPORT_IMPORT_H

#include "dialects/Graph/GraphEnums.h"
#include "dialects/Support/LLVM.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>

namespace llmc::importer {

/// The context length when neither the caller nor a shorter model says another.
constexpr int64_t kDefaultContextLength = 4096;

/// Tokens of the longest text that an encoder is compiled for unless its file
/// or the caller says less: a text can't be cut, and all of it is one step.
constexpr int64_t kDefaultTextLength = 512;

/// How an encoder's rows become the embedding of their text.
struct PoolingOption {
  /// None: rows are all there is.
  std::optional<graph::Pooling> mode;
  /// Whether embeddings get length 1.
  bool isNormalized = false;
};

struct ImportOptions {
  /// Tokens that the states (KV caches) have room for; 0 means the smaller of
  /// the model's own maximum and kDefaultContextLength. Of encoders, tokens of
  /// the longest text, 0 being at most kDefaultTextLength. More than the
  /// model's maximum is an error.
  int64_t contextLength = 0;
  /// Of encoders, instead of what the file says.
  std::optional<PoolingOption> pooling = {};

  /// `contextLength`, or the smaller of the model's maximum `most` and `usual`
  /// when it is 0. An error when the model has fewer: it names `file` and the
  /// `field` that says so.
  llvm::Expected<int64_t> chooseContextLength(StringRef file,
                                              const Twine &field, int64_t most,
                                              int64_t usual) const;
};

/// Reads `path` (a GGUF file, a Hugging Face directory, or a .mlir file in the
/// graph dialect) into a verified module of graph primitives as
/// docs/architecture.md section 1 describes. Loads the dialects it needs into
/// `context`. An error's message names the file, the field or tensor, what was
/// found and what is allowed.
llvm::Expected<OwningOpRef<ModuleOp>>
importModel(MLIRContext &context, StringRef path,
            const ImportOptions &options = {});

/// The part of `importModel` for .mlir files: parses and verifies, and makes
/// the paths in `graph.files` that are relative relative to the file's folder.
llvm::Expected<OwningOpRef<ModuleOp>> importMlirFile(MLIRContext &context,
                                                     StringRef path);

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_IMPORT_H
