// SPDX-License-Identifier: Apache-2.0
//
// Rewrites of whole functions; Passes.td describes them.

#ifndef LLMC_COMPILER_TRANSFORMS_PASSES_H
#define LLMC_COMPILER_TRANSFORMS_PASSES_H

#include "dialects/Graph/Graph.h"

#include "mlir/Pass/Pass.h"

namespace llmc::transforms {

#define GEN_PASS_DECL
#include "compiler/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Passes.h.inc"

} // namespace llmc::transforms

#endif // LLMC_COMPILER_TRANSFORMS_PASSES_H
