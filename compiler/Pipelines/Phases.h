// SPDX-License-Identifier: Apache-2.0
//
// The order of passes from a graph of primitives to a planned program.

#ifndef LLMC_COMPILER_PIPELINES_PHASES_H
#define LLMC_COMPILER_PIPELINES_PHASES_H

#include "dialects/Support/LLVM.h"

#include "mlir/Pass/PassManager.h"

namespace llmc::pipelines {

/// Some passes after which the module is worth looking at.
struct Phase {
  /// Of the dump after it, for instance "fused".
  StringRef name;
  void (*addPasses)(mlir::OpPassManager &manager);
};

/// What is done once for a model: primitives become fused ops.
ArrayRef<Phase> modelPhases();

/// What is done for each target, on a module that has `target.device`: the last
/// phase leaves a program with SPIR-V, memory plan and barriers.
ArrayRef<Phase> targetPhases();

/// Registers the pipelines `llmc-fuse` (all model phases) and
/// `llmc-compile-target` (all target phases) for llmc-opt.
void registerPipelines();

} // namespace llmc::pipelines

#endif // LLMC_COMPILER_PIPELINES_PHASES_H
