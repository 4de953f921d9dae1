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

/// Of a compiler that loads early: decoded columns of a quad, of one linear,
/// and inputs are alive as whole vectors, inputs of both halves of a unit of
/// nibbles; and a quarter more for what is moved ahead. Fitted to turnip's.
static int64_t earlyLoadRegisters(const LinearShape &shape,
                                  const LinearTile &tile,
                                  const DeviceLimits &device) {
  constexpr int64_t kMovedAheadPercent = 25, kVector = 4;
  int64_t linears = tile.columns / 4,
          unitColumns = columnsPerUnit(shape.format),
          codes = std::max<int64_t>(kVector / unitColumns, 1) +
                  highWords(shape.format) / kVector;
  bool isScaled = scaleGroupColumns(shape.format) != 0,
       sumsCodes = isScaled && tile.rows <= kMaxGroupSumRows;
  int64_t vectors =
      tile.rows * linears * (sumsCodes ? 2 : 1) + linears * codes + kVector +
      tile.rows * (unitColumns == 8 ? 2 : 1) +
      linears * (isScaled + hasOffsets(shape.format)) + shape.hasNorm;
  int64_t live = kVector * vectors + kAddressRegisters;
  return std::max(live * (100 + kMovedAheadPercent) / 100,
                  device.registersFullOccupancy);
}

int64_t gemvRegisters(const LinearShape &shape, const LinearTile &tile,
                      const DeviceLimits &device,
                      const GemvStrategy &strategy) {
  if (strategy.loadsEarly)
    return earlyLoadRegisters(shape, tile, device);
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
  return sums + weights + scales + 4 + kAddressRegisters;
}

int64_t gemvWorkgroupBytes(const LinearTile &tile) {
  constexpr int64_t kBytesPerSum = 4;
  return tile.workgroup[0] * tile.rows * (tile.columns + 1) * kBytesPerSum;
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
    tile.registers = gemvRegisters(shape, tile, device, strategy);
    bool fits = tile.registers <= device.registersMax &&
                gemvWorkgroupBytes(tile) <= device.workgroupMemoryBytes;
    if (!best || fits)
      best = tile;
  }
  return best;
}

} // namespace llmc::codegen
