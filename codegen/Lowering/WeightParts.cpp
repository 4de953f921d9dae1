// SPDX-License-Identifier: Apache-2.0
//
// WeightParts.h.

#include "codegen/Lowering/WeightParts.h"

#include <algorithm>

namespace llmc::codegen {

namespace {
/// Parts are multiples of this, so that blocks of 32 or 64 columns of a
/// linear's result never lie across two.
constexpr int64_t kLeastPartTiles = 4;
} // namespace

int64_t planeBytesPerTile(const WeightLayout &layout, const Plane &plane) {
  return layout.elementsPerTile(plane.kind) * plane.bytesPerElement;
}

std::optional<std::vector<RowRange>>
splitRows(const WeightLayout &layout, int64_t maxBytes, int64_t alignment) {
  auto fits = [&](const Plane &plane) { return plane.bytes <= maxBytes; };
  if (std::all_of(layout.planes.begin(), layout.planes.end(), fits))
    return std::vector<RowRange>{{0, layout.rows}};
  if (layout.name != "tile16")
    return std::nullopt;

  int64_t stepTiles = kLeastPartTiles, mostTileBytes = 0;
  for (const Plane &plane : layout.planes) {
    int64_t tileBytes = planeBytesPerTile(layout, plane);
    mostTileBytes = std::max(mostTileBytes, tileBytes);
    while (stepTiles * tileBytes % alignment != 0)
      stepTiles *= 2;
  }
  int64_t partTiles = maxBytes / mostTileBytes / stepTiles * stepTiles;
  if (partTiles == 0)
    return std::nullopt;
  std::vector<RowRange> parts;
  for (int64_t first = 0; first < layout.rows; first += partTiles * kTileRows)
    parts.push_back(
        {first, std::min(partTiles * kTileRows, layout.rows - first)});
  return parts;
}

FailureOr<std::vector<RowRange>> partsForDevice(Operation *op,
                                                const WeightLayout &layout,
                                                target::DeviceAttr device) {
  int64_t alignment = std::max<int64_t>(16, device.getBufferAlignment());
  auto parts = splitRows(layout, device.getMaxBufferRange(), alignment);
  if (parts)
    return std::move(*parts);
  const Plane &largest = *std::max_element(
      layout.planes.begin(), layout.planes.end(),
      [](const Plane &a, const Plane &b) { return a.bytes < b.bytes; });
  return op->emitOpError("reads a weight whose ")
         << planeName(largest.kind) << " take " << largest.bytes
         << " bytes, and no 64 rows of it fit the "
         << device.getMaxBufferRange() << " that device '" << device.getName()
         << "' binds at once";
}

} // namespace llmc::codegen
