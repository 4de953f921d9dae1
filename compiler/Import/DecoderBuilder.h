// SPDX-License-Identifier: Apache-2.0
//
// From a decoder's description to graph primitives.

#ifndef LLMC_COMPILER_IMPORT_DECODERBUILDER_H
#define LLMC_COMPILER_IMPORT_DECODERBUILDER_H

#include "compiler/Import/DecoderModel.h"

#include "dialects/Support/LLVM.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmc::importer {

/// Rows for which `@logits` is compiled at most.
constexpr int64_t kMaxLogitsRows = 32;

/// The module of docs/architecture.md section 1: weights, states, `@forward`
/// and `@logits`. The model must be consistent; the graph and func dialects
/// must be loaded.
OwningOpRef<ModuleOp> buildDecoder(MLIRContext &context,
                                   const DecoderModel &model);

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_DECODERBUILDER_H
