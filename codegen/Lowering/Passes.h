// SPDX-License-Identifier: Apache-2.0
//
// The pass that makes programs and kernels.

#ifndef LLMC_CODEGEN_LOWERING_PASSES_H
#define LLMC_CODEGEN_LOWERING_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace llmc::codegen {

#define GEN_PASS_DECL
#include "codegen/Lowering/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "codegen/Lowering/Passes.h.inc"

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_PASSES_H
