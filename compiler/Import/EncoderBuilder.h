// SPDX-License-Identifier: Apache-2.0
//
// From an encoder's description to graph primitives.

#ifndef LLMC_COMPILER_IMPORT_ENCODERBUILDER_H
#define LLMC_COMPILER_IMPORT_ENCODERBUILDER_H

#include "compiler/Import/EncoderModel.h"

#include "dialects/Support/LLVM.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmc::importer {

/// The module of docs/architecture.md section 1: weights and `@encode`. The
/// model must be consistent; the graph and func dialects must be loaded.
OwningOpRef<ModuleOp> buildEncoder(MLIRContext &context,
                                   const EncoderModel &model);

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_ENCODERBUILDER_H
