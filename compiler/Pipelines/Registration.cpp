// SPDX-License-Identifier: Apache-2.0
//
// Registration of dialects and passes. A folder that defines passes adds its
// line to registerAllPasses.

#include "compiler/Pipelines/Registration.h"

#include "codegen/Lowering/Passes.h"
#include "codegen/SPIRV/Passes.h"
#include "codegen/Strategy/Passes.h"
#include "compiler/Fusion/Passes.h"
#include "compiler/Pipelines/Phases.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Program/Program.h"
#include "dialects/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace llmc::pipelines {

void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, program::ProgramDialect,
                  target::TargetDialect>();
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::gpu::GPUDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::spirv::SPIRVDialect, mlir::vector::VectorDialect>();
}

void registerAllPasses() {
  fusion::registerFusionPasses();
  transforms::registerTransformsPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
  planning::registerLlmcCompilerPlanningPasses();
  codegen::registerLoweringPasses();
  codegen::registerSPIRVPasses();
  codegen::registerStrategyPasses();
  registerPipelines();
}

} // namespace llmc::pipelines
