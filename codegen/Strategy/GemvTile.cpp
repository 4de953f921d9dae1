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

int64_t gemvRegisters(const LinearShape &shape, const LinearTile &tile,
                      const GemvStrategy &strategy) {
  int64_t linears = tile.columns / 4;
  int64_t sums = tile.accumulators;
  if (tile.rows <= kMaxGroupSumRows && scaleGroupColumns(shape.format) != 0)
    sums *= 2;
  if (shape.hasNorm)
    sums += tile.rows + 4; // the sum of squares, the gain
  int64_t weights = linears * (4 + highWords(shape.format)) + 4;
  int64_t scales =
      linears * 4 *
      ((scaleGroupColumns(shape.format) != 0) + hasOffsets(shape.format));
  int64_t live = sums + weights + scales + 4 + kAddressRegisters;
  return std::max(live * strategy.registersPercent / 100,
                  strategy.leastRegisters);
}

/// k of one share: one or two groups of scales, at most `limit` unless a group
/// is more.
static int64_t selectShare(const LinearShape &shape, int64_t limit) {
  int64_t paddedColumns = ceilDiv(shape.K, 4) * 4;
  int64_t group = groupColumns(shape.format, paddedColumns);
  bool isPair = scaleGroupColumns(shape.format) != 0 && 2 * group <= limit &&
                paddedColumns % (2 * group) == 0;
  return isPair ? 2 * group : group;
}

std::optional<LinearTile> selectGemv(const LinearShape &shape,
                                     const DeviceLimits &device,
                                     const GemvStrategy &strategy) {
  // 64 lanes: 16 shares of k for each of a tile's four quads. Fewer when there
  // is less to share.
  constexpr int64_t kFewestLanes = 16;
  if (device.maxInvocations < kFewestLanes)
    return std::nullopt;
  bool inTurn = strategy.linearsInTurn ||
                (strategy.highBitsInTurn && highWords(shape.format) != 0);
  std::optional<LinearTile> best;
  for (int64_t rows : {1, 2, 4, 8}) {
    if (rows > 1 && (rows / 2 >= shape.rows || rows > strategy.maxRows))
      break;
    bool sideBySide = !inTurn && rows * shape.numLinears <= strategy.maxVectors;
    int64_t linearsAtOnce = sideBySide ? shape.numLinears : 1;
    // As many k for few rows that loads are in flight; less for many, so that
    // the body stays short.
    int64_t limit = std::min(
        {strategy.maxStep, 2 * strategy.maxStep / rows, device.maxUnroll});
    LinearTile tile{
        true, {1, 1, 1}, rows, 4 * linearsAtOnce, selectShare(shape, limit),
        0,    0};
    int64_t shares = ceilDiv(shape.K, tile.kStep);
    tile.workgroup[0] =
        powerOfTwoAtMost(std::min(strategy.maxLanes, device.maxInvocations));
    while (tile.workgroup[0] > kFewestLanes &&
           tile.workgroup[0] / kQuadsPerTile > shares)
      tile.workgroup[0] /= 2;
    tile.accumulators = rows * tile.columns;
    tile.registers = gemvRegisters(shape, tile, strategy);
    int64_t reductionBytes =
        tile.workgroup[0] * rows * (16 * shape.numLinears + 4);
    bool fits = tile.registers <= device.registersMax &&
                reductionBytes <= device.workgroupMemoryBytes;
    if (!best || fits)
      best = tile;
  }
  return best;
}

} // namespace llmc::codegen
