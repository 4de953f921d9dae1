// SPDX-License-Identifier: Apache-2.0
//
// Lowering configs of regions of element-wise ops: four columns an invocation.

#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/StreamingRegisters.h"

#include <algorithm>

namespace llmc::codegen {

FailureOr<graph::LoweringConfigAttr>
selectElementwise(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  int64_t threads = std::min<int64_t>(64, input.device.getMaxInvocations());
  MLIRContext *context = region.getContext();
  bool hasFunctions = llvm::any_of(region.getBody().front(), [](Operation &op) {
    return isa<graph::GeluOp, graph::GeluTanhOp, graph::TanhOp, graph::ErfOp>(
        op);
  });
  // A vector an operand, into which results go; what a function needs at once.
  int64_t live = 5 + 4 * static_cast<int64_t>(region.getNumOperands()) +
                 (hasFunctions ? 2 : 0);
  // Whoever quantizes holds 32 columns until their scale is known.
  if (!region.getBody().getOps<graph::QuantizeActivationsOp>().empty())
    live += graph::kQuantizedBlock;
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "elementwise"), {threads, 1, 1},
      /*tile=*/{1, 4}, /*splits=*/1, /*accumulators=*/0,
      streamingRegisters(input.device, live,
                         hasFunctions ? Latency::Long : Latency::Short));
}

} // namespace llmc::codegen
