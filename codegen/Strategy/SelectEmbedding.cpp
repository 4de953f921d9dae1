// SPDX-License-Identifier: Apache-2.0
//
// Lowering configs of regions whose root is a quantized_embedding: one
// invocation decodes one unit of a row.

#include "codegen/Lowering/WeightParts.h"
#include "codegen/Lowering/WeightType.h"
#include "codegen/Strategy/LinearTile.h"
#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/StreamingRegisters.h"

#include <algorithm>

namespace llmc::codegen {

FailureOr<graph::LoweringConfigAttr>
selectEmbedding(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  auto embedding =
      *region.getBody().getOps<graph::QuantizedEmbeddingOp>().begin();
  auto type = cast<RankedTensorType>(embedding.getTable().getType());
  std::optional<WeightLayout> layout = layoutOf(type);
  if (!layout)
    return region.emitOpError("has a table of type ")
           << type << ", for which there is no layout";
  if (failed(partsForDevice(region, *layout, input.device)))
    return failure();

  // At least one vector of four columns, so that every store is 16 bytes.
  int64_t columns = std::max<int64_t>(4, columnsPerUnit(layout->format));
  int64_t lanes = std::min<int64_t>(64, input.device.getMaxInvocations());
  // The unit of codes and what it decodes to; scales, offsets and high bits of
  // formats with a unit of eight columns.
  int64_t live = kAddressRegisters + 4 * (1 + columns / 4) + 2;
  if (columns > 4)
    live += 4 + 2 * (hasOffsets(layout->format) ? 1 : 0) +
            4 * (highWords(layout->format) != 0 ? 1 : 0);
  MLIRContext *context = region.getContext();
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "embedding"), {lanes, 1, 1},
      {1, columns},
      /*splits=*/1, /*accumulators=*/0,
      streamingRegisters(input.device, live, Latency::Long));
}

} // namespace llmc::codegen
