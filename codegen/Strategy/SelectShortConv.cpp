// SPDX-License-Identifier: Apache-2.0
//
// Lowering configs of regions whose root is short_conv: four channels of some
// rows an invocation.

#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/StreamingRegisters.h"

#include <algorithm>

namespace llmc::codegen {

/// Rows of an invocation where there are many: each loads the taps and the
/// inputs before its first row once.
static constexpr int64_t kRows = 8;

FailureOr<graph::LoweringConfigAttr>
selectShortConv(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  graph::ShortConvOp conv =
      *region.getBody().getOps<graph::ShortConvOp>().begin();
  auto type = cast<RankedTensorType>(conv.getType());
  int64_t taps =
      cast<RankedTensorType>(conv.getTaps().getType()).getDimSize(0) /
      type.getDimSize(1);
  int64_t rows =
      std::max(taps - 1, std::min<int64_t>(input.rowsOf(type), kRows));
  int64_t threads = std::min<int64_t>(64, input.device.getMaxInvocations());
  // Taps, the inputs under them and the sum, a vector for each operand.
  int64_t live = 10 + 8 * taps + 4 * int64_t(region.getNumOperands());
  MLIRContext *context = region.getContext();
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "short_conv"), {threads, 1, 1},
      /*tile=*/{rows, 4}, /*splits=*/1, /*accumulators=*/4,
      streamingRegisters(input.device, live, Latency::Long));
}

} // namespace llmc::codegen
