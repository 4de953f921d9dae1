// SPDX-License-Identifier: Apache-2.0
//
// The register model of the GEMM kernel and the choice of its tile.
//
// A result is kept in vectors of four columns (a quad). In the inner loop these
// are alive per invocation: the sums; the 16-byte unit of codes of each quad;
// four decoded weights; scale and offset of each quad; a vector of x for each
// row; and addresses.

#include "codegen/Strategy/LinearTile.h"
#include "codegen/Strategy/StreamingRegisters.h"

#include <algorithm>
#include <tuple>

namespace llmc::codegen {

namespace {
/// Better tiles compare greater.
struct Rank {
  /// There is a workgroup for each compute unit.
  bool fillsDevice;
  bool fullOccupancy;
  /// Multiply-adds per thousand instructions, estimated.
  int64_t efficiency;
  bool operator<(const Rank &other) const {
    return std::tie(fillsDevice, fullOccupancy, efficiency) <
           std::tie(other.fillsDevice, other.fullOccupancy, other.efficiency);
  }
};

/// Of a GEMM's inner loop, counted over four k. A load costs its address too; a
/// weight with a scale is shifted, masked, converted and scaled.
int64_t gemmEfficiency(const LinearShape &shape, const LinearTile &tile) {
  constexpr int64_t kInstructionsPerLoad = 6, kInstructionsPerDecode = 4;
  int64_t quads = tile.columns / 4 * shape.numLinears;
  int64_t multiplyAdds = 4 * tile.accumulators;
  int64_t units = ceilDiv(4 * quads, columnsPerUnit(shape.format));
  int64_t loads = kInstructionsPerLoad * (tile.rows + units);
  int64_t decodes = scaleGroupColumns(shape.format) != 0
                        ? kInstructionsPerDecode * 16 * quads
                        : 0;
  return 1000 * multiplyAdds / (multiplyAdds + loads + decodes);
}
} // namespace

int64_t gemmRegisters(const LinearShape &shape, const LinearTile &tile) {
  int64_t quads = tile.columns / 4 * shape.numLinears;
  int64_t weights = quads * (4 + highWords(shape.format)) + 4;
  int64_t scales =
      quads * 4 *
      ((scaleGroupColumns(shape.format) != 0) + hasOffsets(shape.format));
  return tile.accumulators + weights + scales + 4 * tile.rows +
         kAddressRegisters;
}

std::optional<LinearTile> selectGemm(const LinearShape &shape,
                                     const DeviceLimits &device) {
  // 16x4, or 8x4 where a subgroup has eight lanes: never square, columns along
  // a subgroup.
  int64_t lanesX = device.subgroupSize >= 16 ? 16 : 8;
  int64_t lanesY =
      std::min<int64_t>(4, powerOfTwoAtMost(device.maxInvocations) / lanesX);
  if (lanesY < 1)
    return std::nullopt;
  std::optional<LinearTile> best;
  Rank bestRank{false, false, 0};
  for (int64_t rows : {1, 2, 4, 8})
    for (int64_t quads : {1, 2}) {
      LinearTile tile{
          false,
          {lanesX, lanesY, 1},
          rows,
          4 * quads,
          selectKStep(shape, std::min<int64_t>(8, device.maxUnroll)),
          0,
          0};
      tile.accumulators = accumulatorsOf(shape, rows, tile.columns);
      tile.registers = gemmRegisters(shape, tile);
      if (tile.registers > device.registersMax && best)
        continue;
      int64_t groups = ceilDiv(shape.N, lanesX * tile.columns) *
                       ceilDiv(shape.rows, lanesY * rows);
      // Below 16 sums, full occupancy does not make up for the loads.
      bool fullOccupancy = tile.registers <= device.registersFullOccupancy &&
                           tile.accumulators >= 16;
      Rank rank{groups >= device.computeUnits, fullOccupancy,
                gemmEfficiency(shape, tile)};
      if (!best || bestRank < rank) {
        best = tile;
        bestRank = rank;
      }
    }
  return best;
}

} // namespace llmc::codegen
