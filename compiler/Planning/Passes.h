// SPDX-License-Identifier: Apache-2.0
//
// The planning passes: order, memory, barriers of a module in the program
// dialect. They run in the order of their declaration here.

#ifndef LLMC_COMPILER_PLANNING_PASSES_H
#define LLMC_COMPILER_PLANNING_PASSES_H

#include "dialects/Program/Program.h"
#include "dialects/Target/Target.h"

#include "mlir/Pass/Pass.h"

namespace llmc::planning {

#define GEN_PASS_DECL
#include "compiler/Planning/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Planning/Passes.h.inc"

} // namespace llmc::planning

#endif // LLMC_COMPILER_PLANNING_PASSES_H
