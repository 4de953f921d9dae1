// SPDX-License-Identifier: Apache-2.0
//
// Asks the strategy of each region's root for a lowering config. What is
// chosen, and why, is in the roots' own files.

#include "codegen/Strategy/Passes.h"
#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/Tuning.h"
#include "dialects/Target/ModuleDevice.h"

namespace llmc::codegen {

#define DEBUG_TYPE "llmc-select-lowering-configs"
#define GEN_PASS_DEF_SELECTLOWERINGCONFIGSPASS
#include "codegen/Strategy/Passes.h.inc"

RootStrategy findRootStrategy(graph::RegionOp region) {
  struct Root {
    bool (*isRoot)(Operation &);
    RootStrategy strategy;
  };
  static const Root roots[] = {
      {[](Operation &op) { return isa<graph::QuantizedLinearOp>(op); },
       selectLinear},
      {[](Operation &op) { return isa<graph::ExpertLinearOp>(op); },
       selectExpertLinear},
      {[](Operation &op) { return isa<graph::QuantizedEmbeddingOp>(op); },
       selectEmbedding},
      {[](Operation &op) { return isa<graph::SdpaOp>(op); }, selectSdpa},
      {[](Operation &op) {
         return isa<graph::KvAppendOp, graph::RotaryOp>(op);
       },
       selectHeads},
      {[](Operation &op) { return isa<graph::ShortConvOp>(op); },
       selectShortConv},
      {[](Operation &op) { return isa<graph::RouteOp>(op); }, selectRoute},
      {[](Operation &op) {
         return isa<graph::RmsNormOp, graph::LayerNormOp, graph::L2NormalizeOp,
                    graph::PoolOp>(op);
       },
       selectNorm},
  };
  for (const Root &root : roots)
    if (llvm::any_of(region.getBody().front(), root.isRoot))
      return root.strategy;
  return selectElementwise;
}

//===----------------------------------------------------------------------===//
// llmc-select-lowering-configs
//===----------------------------------------------------------------------===//

namespace {
struct SelectLoweringConfigsPass final
    : impl::SelectLoweringConfigsPassBase<SelectLoweringConfigsPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<target::DeviceAttr> device =
        target::getModuleDevice(getOperation(), "to choose for");
    if (failed(device))
      return signalPassFailure();
    auto result = getOperation().walk([&](graph::RegionOp region) {
      return succeeded(select(region, *device)) ? mlir::WalkResult::advance()
                                                : mlir::WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    // They have served their purpose.
    getOperation()->removeAttr(kTuningAttr);
    getOperation()->removeAttr(kTuningDefaultsAttr);
  }

  LogicalResult select(graph::RegionOp region, target::DeviceAttr device) {
    if (region.getLoweringConfig())
      return success();
    RootStrategy strategy = findRootStrategy(region);
    auto rows = region->getParentOfType<mlir::func::FuncOp>()
                    ->getAttrOfType<IntegerAttr>("graph.rows");
    FailureOr<graph::LoweringConfigAttr> config =
        strategy({region, device, rows ? rows.getInt() : 1});
    if (failed(config))
      return failure();
    region.setLoweringConfigAttr(*config);
    ++numConfigs;
    return success();
  }
};
} // namespace

} // namespace llmc::codegen
