// SPDX-License-Identifier: Apache-2.0
//
// The passes that choose.

#ifndef LLMC_CODEGEN_STRATEGY_PASSES_H
#define LLMC_CODEGEN_STRATEGY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace llmc::codegen {

#define GEN_PASS_DECL
#include "codegen/Strategy/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "codegen/Strategy/Passes.h.inc"

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_PASSES_H
