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
  // The most values that a tree of element-wise ops may hold: one an operand,
  // and the result.
  int64_t vectors = region.getNumOperands() + 1;
  // Whoever quantizes holds 32 columns until their scale is known.
  if (!region.getBody().getOps<graph::QuantizeActivationsOp>().empty())
    vectors += graph::kQuantizedBlock / 4;
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "elementwise"), {threads, 1, 1},
      /*tile=*/{1, 4}, /*splits=*/1, /*accumulators=*/0,
      streamingRegisters(vectors));
}

} // namespace llmc::codegen
