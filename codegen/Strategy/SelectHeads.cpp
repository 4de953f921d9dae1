// SPDX-License-Identifier: Apache-2.0
//
// Lowering configs of regions that prepare heads for attention.

#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/StreamingRegisters.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

FailureOr<graph::LoweringConfigAttr> selectHeads(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  // An invocation holds two vectors of four elements where sizes allow, of one
  // where they do not: a head of D elements never takes more than D/2
  // invocations.
  constexpr int64_t kWorkgroup = 64;
  int64_t threads = std::min(kWorkgroup, input.device.getMaxInvocations());
  for (Operation &op : region.getBody().front()) {
    if (!isa<graph::RmsNormOp, graph::RotaryOp, graph::KvAppendOp>(op))
      continue;
    int64_t headDim =
        cast<RankedTensorType>(op.getOperand(0).getType()).getShape().back();
    threads = std::max<int64_t>(threads, llvm::PowerOf2Ceil((headDim + 1) / 2));
  }
  if (threads > input.device.getMaxInvocations())
    return region.emitOpError("has heads that need ")
           << threads << " invocations; a workgroup of device '"
           << input.device.getName() << "' has at most "
           << input.device.getMaxInvocations();
  MLIRContext *context = region.getContext();
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "heads"), {threads, 1, 1}, /*tile=*/{1},
      /*splits=*/1, /*accumulators=*/0,
      // A pair, its two gains, the angle with its reduction, sine and cosine.
      streamingRegisters(/*vectors=*/0, /*scalars=*/2 + 2 + 3 + 2));
}

} // namespace llmc::codegen
