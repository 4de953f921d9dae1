// SPDX-License-Identifier: Apache-2.0
//
// Lowering configs of regions of element-wise ops: four columns an invocation.

#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/StreamingRegisters.h"

#include <algorithm>

namespace llmc::codegen {

FailureOr<graph::LoweringConfigAttr>
selectElementwise(const StrategyInput &input) {
  int64_t threads = std::min<int64_t>(64, input.device.getMaxInvocations());
  MLIRContext *context = input.region->getContext();
  // The most values that a tree of element-wise ops may hold: one an operand,
  // and the result.
  int64_t vectors = input.region->getNumOperands() + 1;
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "elementwise"), {threads, 1, 1},
      /*tile=*/{1, 4}, /*splits=*/1, /*accumulators=*/0,
      streamingRegisters(vectors));
}

} // namespace llmc::codegen
