// SPDX-License-Identifier: Apache-2.0
//
// The phases, with the reason where their order matters.

#include "compiler/Pipelines/Phases.h"

#include "codegen/Lowering/Passes.h"
#include "codegen/SPIRV/Passes.h"
#include "codegen/Strategy/Passes.h"
#include "compiler/Fusion/Passes.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace llmc::pipelines {

using mlir::OpPassManager;
using mlir::func::FuncOp;

static void addFusionPasses(OpPassManager &manager) {
  // One value for each weight and constant, so that patterns see equal inputs.
  manager.addPass(mlir::createCSEPass());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addNestedPass<FuncOp>(fusion::createFuseGeluPass());
  manager.addNestedPass<FuncOp>(fusion::createFuseLayerNormPass());
  manager.addNestedPass<FuncOp>(fusion::createFuseQuantizedLinearPass());
  manager.addNestedPass<FuncOp>(fusion::createFuseSdpaPass());
  // Works on quantized linears.
  manager.addPass(fusion::createFuseHorizontalLinearsPass());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
}

static void addRowBucketPasses(OpPassManager &manager) {
  manager.addPass(transforms::createSetCacheTypesPass());
  manager.addPass(transforms::createExpandRowBucketsPass());
}

static void addRegionPasses(OpPassManager &manager) {
  // What is quantized, and what a region holds, depends on the number of rows.
  manager.addNestedPass<FuncOp>(fusion::createQuantizeActivationsPass());
  manager.addNestedPass<FuncOp>(fusion::createFormRegionsPass());
  manager.addPass(codegen::createFuseHeadsPass());
  // Only what crosses regions lies in memory.
  manager.addPass(transforms::createNarrowActivationsPass());
}

static void addStrategyPasses(OpPassManager &manager) {
  manager.addPass(codegen::createSelectLoweringConfigsPass());
}

static void addLoweringPasses(OpPassManager &manager) {
  manager.addPass(codegen::createLowerRegionsPass());
  manager.addPass(codegen::createAddSamplingPass());
}

static void addSpirvPasses(OpPassManager &manager) {
  manager.addPass(codegen::createConvertKernelsToSpirvPass());
}

static void addPlanningPasses(OpPassManager &manager) {
  // Lifetimes depend on the order, and hazards on where memory is reused.
  manager.addPass(planning::createScheduleDispatchesPass());
  manager.addPass(planning::createPlanMemoryPass());
  manager.addPass(planning::createInsertBarriersPass());
}

static constexpr Phase kModelPhases[] = {{"fused", addFusionPasses}};

static constexpr Phase kTargetPhases[] = {
    {"buckets", addRowBucketPasses}, {"regions", addRegionPasses},
    {"configs", addStrategyPasses},  {"kernels", addLoweringPasses},
    {"spirv", addSpirvPasses},       {"program", addPlanningPasses}};

ArrayRef<Phase> modelPhases() { return kModelPhases; }
ArrayRef<Phase> targetPhases() { return kTargetPhases; }

void registerPipelines() {
  mlir::PassPipelineRegistration<>("llmc-fuse", "primitives to fused ops",
                                   [](OpPassManager &manager) {
                                     for (const Phase &phase : modelPhases())
                                       phase.addPasses(manager);
                                   });
  mlir::PassPipelineRegistration<>("llmc-compile-target",
                                   "fused ops to a planned program with SPIR-V",
                                   [](OpPassManager &manager) {
                                     for (const Phase &phase : targetPhases())
                                       phase.addPasses(manager);
                                   });
}

} // namespace llmc::pipelines
