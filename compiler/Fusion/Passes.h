// SPDX-License-Identifier: Apache-2.0
//
// Passes that decide which ops run as one unit; Passes.td describes them.

#ifndef LLMC_COMPILER_FUSION_PASSES_H
#define LLMC_COMPILER_FUSION_PASSES_H

#include "dialects/Graph/Graph.h"

#include "mlir/Pass/Pass.h"

namespace llmc::fusion {

#define GEN_PASS_DECL
#include "compiler/Fusion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Fusion/Passes.h.inc"

} // namespace llmc::fusion

#endif // LLMC_COMPILER_FUSION_PASSES_H
