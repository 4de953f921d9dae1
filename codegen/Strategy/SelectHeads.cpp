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
  // A norm keeps the head while sine and cosine are computed: with vectors of
  // four, 41 registers on the Mali targets.
  auto &body = region.getBody();
  bool hasNorm = !body.getOps<graph::RmsNormOp>().empty(),
       hasRotary = !body.getOps<graph::RotaryOp>().empty();
  bool isTight = input.device.getRegistersFullOccupancy() <= 32 &&
                 input.device.getFamily() != target::Family::Cpu;
  int64_t width = hasNorm && isTight ? 2 : 4;
  // Two vectors; angle, sine and cosine of each, and their polynomials.
  int64_t live =
      7 + 2 * width + (hasRotary ? 4 * width : 0) + (hasNorm ? 9 : 0);
  MLIRContext *context = region.getContext();
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "heads"), {threads, 1, 1},
      /*tile=*/{width}, /*splits=*/1, /*accumulators=*/0,
      streamingRegisters(input.device, live,
                         hasRotary ? Latency::Long : Latency::Short));
}

} // namespace llmc::codegen
