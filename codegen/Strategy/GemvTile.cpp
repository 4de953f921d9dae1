// SPDX-License-Identifier: Apache-2.0
//
// The register model of the GEMV kernel and the choice of its tile.
//
// A result is kept in vectors of four columns (a quad). In the inner loop these
// are alive per invocation: the sums; the 16-byte unit of codes of each linear;
// four decoded weights; scale and offset of each linear; one vector of x; and
// addresses.

#include "codegen/Strategy/LinearTile.h"
#include "codegen/Strategy/StreamingRegisters.h"

#include <algorithm>

namespace llmc::codegen {

int64_t gemvRegisters(const LinearShape &shape, const LinearTile &tile) {
  int64_t linears = shape.numLinears;
  int64_t sums = tile.accumulators;
  if (tile.rows <= kMaxGroupSumRows && scaleGroupColumns(shape.format) != 0)
    sums *= 2;
  if (shape.hasNorm)
    sums += tile.rows + 4; // the sum of squares, the gain
  int64_t weights = linears * (4 + highWords(shape.format)) + 4;
  int64_t scales =
      linears * 4 *
      ((scaleGroupColumns(shape.format) != 0) + hasOffsets(shape.format));
  return sums + weights + scales + 4 + kAddressRegisters;
}

std::optional<LinearTile> selectGemv(const LinearShape &shape,
                                     const DeviceLimits &device,
                                     const GemvStrategy &strategy) {
  // 64 lanes: 16 shares of k for each of a tile's four quads. Fewer when there
  // are fewer groups to share.
  constexpr int64_t kFewestLanes = 16;
  if (device.maxInvocations < kFewestLanes)
    return std::nullopt;
  int64_t paddedColumns = ceilDiv(shape.K, 4) * 4;
  int64_t groups = paddedColumns / groupColumns(shape.format, paddedColumns);
  int64_t lanes =
      powerOfTwoAtMost(std::min(strategy.maxLanes, device.maxInvocations));
  while (lanes > kFewestLanes && lanes / kQuadsPerTile > groups)
    lanes /= 2;

  std::optional<LinearTile> best;
  for (int64_t rows : {1, 2, 4, 8}) {
    if (rows > 1 && (rows / 2 >= shape.rows || rows > strategy.maxRows))
      break;
    // 32 k for few rows, so that loads are in flight; less for many, so that
    // the body stays short.
    int64_t kLimit = std::min(
        {strategy.maxStep, 2 * strategy.maxStep / rows, device.maxUnroll});
    LinearTile tile{true, {lanes, 1, 1}, rows, 4, selectKStep(shape, kLimit), 0,
                    0};
    tile.accumulators = accumulatorsOf(shape, rows, 4);
    tile.registers = gemvRegisters(shape, tile);
    int64_t reductionBytes = lanes * rows * (16 * shape.numLinears + 4);
    bool fits = tile.registers <= device.registersMax &&
                reductionBytes <= device.workgroupMemoryBytes;
    if (!best || fits)
      best = tile;
  }
  return best;
}

} // namespace llmc::codegen
