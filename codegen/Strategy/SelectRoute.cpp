// SPDX-License-Identifier: Apache-2.0
//
// Lowering configs of regions whose root is route: a workgroup a row, whose
// invocations have a few experts each.

#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/StreamingRegisters.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

FailureOr<graph::LoweringConfigAttr> selectRoute(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  graph::RouteOp route = *region.getBody().getOps<graph::RouteOp>().begin();
  int64_t experts =
      cast<RankedTensorType>(route.getScores().getType()).getDimSize(1);
  int64_t threads = std::min<int64_t>({64, input.device.getMaxInvocations(),
                                       static_cast<int64_t>(llvm::PowerOf2Ceil(
                                           static_cast<uint64_t>(experts)))});
  int64_t perThread = (experts + threads - 1) / threads;
  // More would not be in registers.
  constexpr int64_t kMostPerThread = 16;
  if (perThread > kMostPerThread)
    return region.emitOpError("routes to ")
           << experts << " experts, allowed are up to "
           << kMostPerThread * threads << " on device '"
           << input.device.getName() << "'";
  // Index, score, key and rank of each; score, key and maximum of the loop.
  int64_t live = 11 + 4 * perThread;
  MLIRContext *context = region.getContext();
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "route"), {threads, 1, 1},
      /*tile=*/{1, perThread}, /*splits=*/1, /*accumulators=*/perThread,
      streamingRegisters(input.device, live, Latency::Long));
}

} // namespace llmc::codegen
