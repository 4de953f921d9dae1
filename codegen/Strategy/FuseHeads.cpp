// SPDX-License-Identifier: Apache-2.0
//
// Puts the heads of attention of one row into its kernel, where the device has
// a tile that can prepare them.

#include "codegen/Lowering/SdpaHeads.h"
#include "codegen/Strategy/FamilyStrategy.h"
#include "codegen/Strategy/Passes.h"
#include "codegen/Strategy/SdpaProblem.h"
#include "dialects/Target/ModuleDevice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace llmc::codegen {

#define DEBUG_TYPE "llmc-fuse-heads"
#define GEN_PASS_DEF_FUSEHEADSPASS
#include "codegen/Strategy/Passes.h.inc"

namespace {

using mlir::func::FuncOp;

graph::SdpaOp findSdpa(graph::RegionOp region) {
  auto ops = region.getBody().getOps<graph::SdpaOp>();
  return ops.empty() ? graph::SdpaOp() : *ops.begin();
}

/// The region that prepares the heads of `attention`, if that is all it does
/// and nothing else reads what it computes.
graph::RegionOp findHeads(graph::RegionOp attention, graph::SdpaOp sdpa) {
  auto argument = dyn_cast<mlir::BlockArgument>(sdpa.getKey());
  if (!argument)
    return {};
  auto heads = attention.getInputs()[argument.getArgNumber()]
                   .getDefiningOp<graph::RegionOp>();
  if (!heads || heads.getLoweringConfig() ||
      !llvm::all_of(heads->getUsers(), [&](Operation *user) {
        return user == attention.getOperation();
      }))
    return {};
  bool isPreparing = llvm::all_of(
      heads.getBody().front().without_terminator(), [](Operation &op) {
        return isa<graph::SliceOp, graph::ReshapeOp, graph::DequantizeOp,
                   graph::RmsNormOp, graph::RotaryOp, graph::KvAppendOp>(op);
      });
  return isPreparing ? heads : graph::RegionOp();
}

/// A region of both bodies before `attention`. Its results are the caches, then
/// those of `attention`.
graph::RegionOp join(graph::RegionOp heads, graph::RegionOp attention) {
  OpBuilder builder(attention);
  auto body = std::make_unique<Block>();
  OpBuilder bodyBuilder(builder.getContext());
  bodyBuilder.setInsertionPointToEnd(body.get());
  // From values outside, and from those of the two bodies.
  mlir::IRMapping arguments, inner;
  SmallVector<Value> inputs, yielded;
  auto addBody = [&](graph::RegionOp region) {
    for (auto [argument, input] :
         llvm::zip_equal(region.getBody().getArguments(), region.getInputs())) {
      if (!arguments.contains(input)) {
        inputs.push_back(input);
        arguments.map(input,
                      body->addArgument(input.getType(), input.getLoc()));
      }
      inner.map(argument, arguments.lookup(input));
    }
    for (Operation &op : region.getBody().front().without_terminator())
      bodyBuilder.clone(op, inner);
  };
  addBody(heads);
  for (auto [result, value] : llvm::zip_equal(
           heads.getResults(),
           heads.getBody().front().getTerminator()->getOperands())) {
    arguments.map(result, inner.lookup(value));
    if (value.getDefiningOp<graph::KvAppendOp>())
      yielded.push_back(inner.lookup(value));
  }
  addBody(attention);
  for (Value value : attention.getBody().front().getTerminator()->getOperands())
    yielded.push_back(inner.lookup(value));
  graph::YieldOp::create(bodyBuilder, attention.getLoc(), yielded);
  auto joined = graph::RegionOp::create(builder, attention.getLoc(),
                                        ValueRange(yielded).getTypes(), inputs,
                                        graph::LoweringConfigAttr());
  joined.getBody().push_back(body.release());
  return joined;
}

/// Whether the kernel of `joined` can be built, and the device should.
bool isWorthIt(graph::RegionOp joined, target::DeviceAttr device,
               int64_t rows) {
  graph::SdpaOp sdpa = findSdpa(joined);
  SdpaChains chains = {readHeadChain(sdpa.getQuery()),
                       readHeadChain(sdpa.getKey()),
                       readHeadChain(sdpa.getValue())};
  if (!canPrepareTogether(chains) || sdpa.getBias() || sdpa.getRelative() ||
      sdpa.getRanges())
    return false;
  FailureOr<SdpaProblem> problem = readSdpaProblem({joined, device, rows});
  // Codes have a scale that the head's invocations would have to find first.
  if (failed(problem) || problem->elementBits < 16)
    return false;
  SdpaDevice limits = sdpaDevice(device);
  return limits.preparesHeads && selectSdpaTile(*problem, limits);
}

//===----------------------------------------------------------------------===//
// llmc-fuse-heads
//===----------------------------------------------------------------------===//

struct FuseHeadsPass final : impl::FuseHeadsPassBase<FuseHeadsPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<target::DeviceAttr> device =
        target::getModuleDevice(getOperation(), "to fuse heads for");
    if (failed(device))
      return signalPassFailure();
    for (FuncOp function : getOperation().getOps<FuncOp>()) {
      auto rows = function->getAttrOfType<IntegerAttr>("graph.rows");
      if (!rows || rows.getInt() != 1)
        continue;
      SmallVector<graph::RegionOp> regions(function.getOps<graph::RegionOp>());
      for (graph::RegionOp region : regions)
        fuse(region, *device, rows.getInt());
    }
  }

  void fuse(graph::RegionOp attention, target::DeviceAttr device,
            int64_t rows) {
    graph::SdpaOp sdpa = findSdpa(attention);
    graph::RegionOp heads = sdpa && !attention.getLoweringConfig()
                                ? findHeads(attention, sdpa)
                                : graph::RegionOp();
    if (!heads)
      return;
    graph::RegionOp joined = join(heads, attention);
    if (!isWorthIt(joined, device, rows))
      return joined->erase();
    unsigned numCaches = joined.getNumResults() - attention.getNumResults();
    attention->replaceAllUsesWith(joined->getResults().drop_front(numCaches));
    attention->erase();
    heads->erase();
    ++numFused;
  }
};

} // namespace

} // namespace llmc::codegen
