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

namespace llmc::codegen {

namespace {
constexpr int64_t kAddressRegisters = 8;

bool hasScale(WeightFormat format) {
  return format != WeightFormat::F32 && format != WeightFormat::F16 &&
         format != WeightFormat::BF16;
}

bool hasOffset(WeightFormat format) {
  switch (format) {
  case WeightFormat::Q4_0:
  case WeightFormat::Q4_K:
  case WeightFormat::Q5_K:
  case WeightFormat::Q6_K:
  case WeightFormat::I8G16Offset:
    return true;
  default:
    return false;
  }
}

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
  switch (format) {
  case WeightFormat::F32:
  case WeightFormat::F16:
  case WeightFormat::BF16:
    return powerOfTwoDivisor(paddedColumns, 16);
  case WeightFormat::Q6_K:
  case WeightFormat::I8G16:
  case WeightFormat::I8G16Offset:
    return 16;
  default:
    return 32;
  }
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

/// Whether `candidate` is better than `best` under the budgets: within full
/// occupancy first, then multiply-adds per loaded vector.
struct Rank {
  bool fullOccupancy;
  int64_t multiplyAddsPerLoad;
  bool operator<(const Rank &other) const {
    if (fullOccupancy != other.fullOccupancy)
      return other.fullOccupancy;
    return multiplyAddsPerLoad < other.multiplyAddsPerLoad;
  }
};

std::optional<LinearTile> selectGemv(const LinearShape &shape,
                                     const DeviceLimits &device) {
  // 64 lanes: 16 shares of k for each of a tile's four quads. Fewer when there
  // are fewer groups to share.
  int64_t groups =
      (shape.K + 3) / 4 * 4 / groupColumns(shape.format, (shape.K + 3) / 4 * 4);
  int64_t lanes = std::min<int64_t>(64, device.maxInvocations);
  lanes = std::max<int64_t>(16, powerOfTwoDivisor(1 << 20, lanes));
  while (lanes > 16 && lanes / kQuadsPerTile > groups)
    lanes /= 2;
  std::optional<LinearTile> best;
  for (int64_t rows : {1, 2, 4, 8}) {
    if (rows > 1 && rows / 2 >= shape.rows)
      break;
    LinearTile tile{true,
                    {lanes, 1, 1},
                    rows,
                    4,
                    selectKStep(shape, std::min<int64_t>(32, device.maxUnroll)),
                    0,
                    0};
    tile.accumulators = accumulatorsOf(shape, rows, 4);
    tile.registers = linearRegisters(shape, tile);
    int64_t reductionBytes = lanes * rows * (16 * shape.numLinears + 4);
    bool fits = tile.registers <= device.registersMax &&
                reductionBytes <= device.workgroupMemoryBytes;
    if (!best || fits)
      best = tile;
  }
  if (lanes > device.maxInvocations)
    return std::nullopt;
  return best;
}

std::optional<LinearTile> selectGemm(const LinearShape &shape,
                                     const DeviceLimits &device) {
  // 16x4, or 8x4 where a subgroup has eight lanes: never square, columns along
  // a subgroup.
  int64_t lanesX = device.subgroupSize >= 16 ? 16 : 8, lanesY = 4;
  while (lanesX * lanesY > device.maxInvocations && lanesY > 1)
    lanesY /= 2;
  if (lanesX * lanesY > device.maxInvocations)
    return std::nullopt;
  std::optional<LinearTile> best;
  Rank bestRank{false, 0};
  for (int64_t rows : {1, 2, 4, 6, 8})
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
      // Vectors loaded per four k: one of x a row, the codes of the quads.
      int64_t unitsPerStep = 4 * quads * shape.numLinears,
              loads =
                  4 * rows + unitsPerStep * 4 / columnsPerUnit(shape.format);
      Rank rank{tile.registers <= device.registersFullOccupancy &&
                    tile.accumulators >= 16,
                1000 * tile.accumulators / loads};
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
  if (tile.isGemv && tile.rows <= kMaxGroupSumRows && hasScale(shape.format))
    sums *= 2;
  if (tile.isGemv && shape.hasNorm)
    sums += tile.rows + 4; // the sum of squares, the gain
  int64_t weights = quads * (4 + highWords(shape.format)) + 4;
  int64_t scales =
      quads * 4 * (hasScale(shape.format) + hasOffset(shape.format));
  int64_t inputs = tile.isGemv ? 4 : 4 * tile.rows;
  return sums + weights + scales + inputs + kAddressRegisters;
}

std::optional<LinearTile> selectLinearTile(const LinearShape &shape,
                                           const DeviceLimits &device) {
  return shape.rows <= kMaxGemvRows ? selectGemv(shape, device)
                                    : selectGemm(shape, device);
}

} // namespace llmc::codegen
