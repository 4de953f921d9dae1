// SPDX-License-Identifier: Apache-2.0
//
// The register model of the two linear kernels and the choice of their tiles.
//
// A result is kept in vectors of four columns (a quad). In the inner loop these
// are alive per invocation: the sums; the 16-byte unit of codes of each quad;
// four decoded weights; scale and offset of each quad; one vector of x per row
// (GEMM holds all rows' while it walks over quads, GEMV one); and addresses.

#include "codegen/Strategy/LinearTile.h"

#include <algorithm>
#include <tuple>

namespace llmc::codegen {

namespace {
constexpr int64_t kAddressRegisters = 8;

/// Words of the plane of high bits that stay alive with the codes.
int64_t highWords(WeightFormat format) {
  return format == WeightFormat::Q5_K || format == WeightFormat::Q6_K ? 4 : 0;
}

/// The largest power of two up to `limit` that divides `value`.
int64_t powerOfTwoDivisor(int64_t value, int64_t limit) {
  int64_t divisor = 1;
  while (divisor * 2 <= limit && value % (divisor * 2) == 0)
    divisor *= 2;
  return divisor;
}

/// k that share one scale; of floats, as many as a step may take at most.
int64_t groupColumns(WeightFormat format, int64_t paddedColumns) {
  int64_t scaled = scaleGroupColumns(format);
  return scaled ? scaled : powerOfTwoDivisor(paddedColumns, 16);
}

int64_t selectKStep(const LinearShape &shape, int64_t limit) {
  int64_t paddedColumns = (shape.K + 3) / 4 * 4;
  int64_t smallest = std::max<int64_t>(4, columnsPerUnit(shape.format));
  return std::max(
      smallest,
      powerOfTwoDivisor(groupColumns(shape.format, paddedColumns), limit));
}

int64_t accumulatorsOf(const LinearShape &shape, int64_t rows,
                       int64_t columns) {
  return rows * columns * shape.numLinears;
}

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

int64_t powerOfTwoAtMost(int64_t limit) {
  int64_t power = 1;
  while (power * 2 <= limit)
    power *= 2;
  return power;
}

int64_t ceilDiv(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

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

std::optional<LinearTile> selectGemv(const LinearShape &shape,
                                     const DeviceLimits &device) {
  // 64 lanes: 16 shares of k for each of a tile's four quads. Fewer when there
  // are fewer groups to share.
  constexpr int64_t kMostLanes = 64, kFewestLanes = 16;
  if (device.maxInvocations < kFewestLanes)
    return std::nullopt;
  int64_t paddedColumns = ceilDiv(shape.K, 4) * 4;
  int64_t groups = paddedColumns / groupColumns(shape.format, paddedColumns);
  int64_t lanes = powerOfTwoAtMost(std::min(kMostLanes, device.maxInvocations));
  while (lanes > kFewestLanes && lanes / kQuadsPerTile > groups)
    lanes /= 2;

  std::optional<LinearTile> best;
  for (int64_t rows : {1, 2, 4, 8}) {
    if (rows > 1 && rows / 2 >= shape.rows)
      break;
    // 32 k for few rows, so that loads are in flight; less for many, so that
    // the body stays short.
    int64_t kLimit = std::min({int64_t{32}, 64 / rows, device.maxUnroll});
    LinearTile tile{true, {lanes, 1, 1}, rows, 4, selectKStep(shape, kLimit), 0,
                    0};
    tile.accumulators = accumulatorsOf(shape, rows, 4);
    tile.registers = linearRegisters(shape, tile);
    int64_t reductionBytes = lanes * rows * (16 * shape.numLinears + 4);
    bool fits = tile.registers <= device.registersMax &&
                reductionBytes <= device.workgroupMemoryBytes;
    if (!best || fits)
      best = tile;
  }
  return best;
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
      tile.registers = linearRegisters(shape, tile);
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
} // namespace

int64_t linearRegisters(const LinearShape &shape, const LinearTile &tile) {
  int64_t quads = tile.columns / 4 * shape.numLinears;
  int64_t sums = tile.accumulators;
  if (tile.isGemv && tile.rows <= kMaxGroupSumRows &&
      scaleGroupColumns(shape.format) != 0)
    sums *= 2;
  if (tile.isGemv && shape.hasNorm)
    sums += tile.rows + 4; // the sum of squares, the gain
  int64_t weights = quads * (4 + highWords(shape.format)) + 4;
  int64_t scales =
      quads * 4 *
      ((scaleGroupColumns(shape.format) != 0) + hasOffsets(shape.format));
  int64_t inputs = tile.isGemv ? 4 : 4 * tile.rows;
  return sums + weights + scales + inputs + kAddressRegisters;
}

std::optional<LinearTile> selectLinearTile(const LinearShape &shape,
                                           const DeviceLimits &device) {
  return shape.rows <= kMaxGemvRows ? selectGemv(shape, device)
                                    : selectGemm(shape, device);
}

} // namespace llmc::codegen
