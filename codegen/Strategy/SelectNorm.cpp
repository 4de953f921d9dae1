// SPDX-License-Identifier: Apache-2.0
//
// Lowering configs of regions whose root is a norm or a pool: the workgroup
// that shares a row.

#include "codegen/Strategy/FamilyStrategy.h"
#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/StreamingRegisters.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

/// The norm of the region, or else its pool; its name is that of the kind.
static Operation *findRoot(graph::RegionOp region) {
  Operation *root = nullptr;
  for (Operation &op : region.getBody().front())
    if (isa<graph::RmsNormOp, graph::LayerNormOp, graph::L2NormalizeOp>(op) ||
        (!root && isa<graph::PoolOp>(op)))
      root = &op;
  return root;
}

FailureOr<graph::LoweringConfigAttr> selectNorm(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  Operation *root = findRoot(region);
  auto type = cast<RankedTensorType>(root->getResult(0).getType());
  // A lone row has the device to itself: more invocations, fewer rounds.
  int64_t most = input.rowsOf(type) == 1 ? 256 : 128;
  int64_t quads = (type.getShape().back() + 3) / 4;
  int64_t threads = std::min<int64_t>(
      {most,
       static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(quads))),
       input.device.getMaxInvocations()});
  // Sum, gain or bias, and a vector for each tensor that is read.
  int64_t inputs = llvm::count_if(region.getInputs(), [](Value value) {
    auto tensor = cast<RankedTensorType>(value.getType());
    return tensor.getRank() > 1;
  });
  int64_t live = 13 + 4 * inputs;
  StringRef reduction = getFamilyStrategy(input.device).reduction;
  // Quantizing takes another pass over the row and a maximum.
  bool isShort =
      reduction == "subgroup" &&
      region.getBody().getOps<graph::QuantizeActivationsOp>().empty();
  MLIRContext *context = region.getContext();
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, root->getName().stripDialect()),
      {threads, 1, 1},
      /*tile=*/{1, 4},
      /*splits=*/1, /*accumulators=*/4,
      streamingRegisters(input.device, live,
                         isShort ? Latency::Short : Latency::Long),
      /*arithmetic=*/"f32", reduction,
      /*decode=*/"convert");
}

} // namespace llmc::codegen
