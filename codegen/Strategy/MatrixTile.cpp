// SPDX-License-Identifier: Apache-2.0
//
// Larger tiles take each weight and each activation from device memory, and
// decode it, less often, and feed the matrix units better from workgroup
// memory; smaller ones fill the device where the result is small, and so do
// workgroups that share k.

#include "codegen/Strategy/MatrixTile.h"

#include "codegen/Lowering/MatrixMemory.h"
#include "codegen/Lowering/TileMisfit.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace llmc::codegen {

namespace {

struct Shape {
  /// Of a workgroup, columns of all linears; of a subgroup.
  int64_t rows, columns, kStep, subgroupRows, subgroupColumns, buffers;
  /// Workgroups that a compute unit runs at once, and what they take together
  /// in microseconds on an H200: a step, and the rest.
  int64_t perUnit;
  double step, rest;
};

// Fitted to what `llmc bench --profile` measured for results of 256 to 22016
// columns, 2048 and 11008 columns of k, and 1 to 16 splits.
constexpr Shape kShapes[] = {
    {128, 128, 64, 64, 32, 1, 1, 1.26, 6.0},
    {128, 128, 32, 64, 64, 1, 2, 1.16, 6.3},
    {64, 128, 64, 32, 32, 1, 1, 1.0, 1.8},
    {32, 128, 64, 32, 32, 1, 2, 1.19, 2.0},
    {64, 64, 32, 32, 32, 1, 1, 0.8, 2.0}, // estimated, for little memory
};
constexpr int64_t kMaxSplits = 16;
/// The kernel that adds up sums of splits, and what it reads in a microsecond.
constexpr double kSecondKernel = 4, kPartialBytes = 5e6;

/// Of the whole result.
double timeOf(const LinearShape &shape, const Shape &choice, int64_t splits,
              const DeviceLimits &device) {
  int64_t columns = shape.N * shape.numLinears,
          groups = ceilDiv(shape.rows, choice.rows) *
                   ceilDiv(columns, choice.columns) * splits,
          steps = ceilDiv(ceilDiv(shape.K, choice.kStep), splits);
  double time = static_cast<double>(
                    ceilDiv(groups, choice.perUnit * device.computeUnits)) *
                (static_cast<double>(steps) * choice.step + choice.rest);
  if (splits == 1)
    return time;
  return time + kSecondKernel +
         static_cast<double>(4 * splits * shape.rows * columns) / kPartialBytes;
}

int64_t subgroupsOf(const MatrixTile &tile) {
  return tile.rows / tile.subgroupRows * (tile.columns / tile.subgroupColumns);
}

MatrixTile tileOf(const LinearShape &shape, const Shape &choice, int64_t splits,
                  const DeviceLimits &device) {
  MatrixTile tile{};
  tile.rows = choice.rows;
  tile.columns = choice.columns / shape.numLinears;
  tile.kStep = choice.kStep;
  tile.subgroupRows = choice.subgroupRows;
  tile.subgroupColumns = choice.subgroupColumns / shape.numLinears;
  tile.buffers = choice.buffers;
  tile.splits = splits;
  return withEstimate(shape, tile, device);
}

/// Of sizes that the kernel shares out.
std::string checkShares(const LinearShape &shape, const MatrixTile &tile,
                        const DeviceLimits &device) {
  for (auto [field, value, step] :
       {std::tuple("tile's rows", tile.rows, tile.subgroupRows),
        std::tuple("tile's columns", tile.columns, tile.subgroupColumns),
        std::tuple("subgroup's rows", tile.subgroupRows, kMatrixSize),
        std::tuple("subgroup's columns", tile.subgroupColumns, kMatrixSize),
        std::tuple("tile's k", tile.kStep, 2 * kMatrixSize)})
    if (step < 1 || value < 1 || value % step != 0)
      return describeMisfit(field, value,
                            "are multiples of " + std::to_string(step));
  int64_t vectors = tile.kStep / kChunkColumns, inputs = tile.rows * vectors,
          weights = tile.columns * shape.numLinears / 4 * vectors;
  // Some invocations may have no weights, as many as whole subgroups.
  bool isPartial =
      weights % device.subgroupSize == 0 && tile.invocations % weights == 0;
  for (auto [field, value, fits] :
       {std::tuple("vectors of activations", inputs, false),
        std::tuple("vectors of weights", weights, isPartial)})
    if (value % tile.invocations != 0 && !fits)
      return describeMisfit(std::string("tile's ") + field, value,
                            "are multiples of the workgroup's " +
                                std::to_string(tile.invocations) +
                                " invocations");
  return "";
}

} // namespace

void MatrixTile::setSizes(llvm::ArrayRef<int64_t> sizes) {
  rows = sizes[0];
  columns = sizes[1];
  kStep = sizes[2];
  subgroupRows = sizes[3];
  subgroupColumns = sizes[4];
  buffers = sizes[5];
}

int64_t matrixWorkgroupBytes(const LinearShape &shape, const MatrixTile &tile) {
  constexpr int64_t kVectorBytes = 16;
  int64_t line = tile.kStep / kChunkColumns + kLinePadding,
          columns = tile.columns * shape.numLinears,
          sums =
              subgroupsOf(tile) * shape.numLinears * kMatrixSize * kSumStride;
  return kVectorBytes * (std::max(tile.buffers * tile.rows * line, sums) +
                         tile.buffers * columns * line) +
         4 * (tile.rows + subgroupsOf(tile));
}

MatrixTile withEstimate(const LinearShape &shape, MatrixTile tile,
                        const DeviceLimits &device) {
  if (tile.subgroupRows < 1 || tile.subgroupColumns < 1)
    return tile;
  tile.invocations = subgroupsOf(tile) * device.subgroupSize;
  if (tile.invocations == 0)
    return tile;
  int64_t columns = tile.columns * shape.numLinears,
          subgroupColumns = tile.subgroupColumns * shape.numLinears;
  tile.accumulators = tile.rows * columns / tile.invocations;
  // Beside the sums: the matrices of 16 columns, what is loaded for the next
  // step (of a weight its codes and scales), and addresses.
  constexpr int64_t kAddresses = 32, kRegistersPerChunk = 12;
  int64_t matrices = (tile.subgroupRows + subgroupColumns) * kMatrixSize / 2 /
                     device.subgroupSize,
          inputs = tile.rows * tile.kStep / tile.invocations,
          chunks = ceilDiv(columns / 4 * tile.kStep / kChunkColumns,
                           tile.invocations);
  tile.registers = tile.accumulators + matrices + inputs +
                   chunks * kRegistersPerChunk + kAddresses;
  return tile;
}

bool isSameTile(const MatrixTile &a, const MatrixTile &b) {
  return a.rows == b.rows && a.columns == b.columns && a.kStep == b.kStep &&
         a.subgroupRows == b.subgroupRows &&
         a.subgroupColumns == b.subgroupColumns && a.buffers == b.buffers &&
         a.splits == b.splits;
}

std::string checkMatrixTile(const LinearShape &shape, const MatrixTile &tile,
                            const DeviceLimits &device) {
  if (std::string wrong = checkShares(shape, tile, device); !wrong.empty())
    return wrong;
  if (shape.K % tile.kStep != 0)
    return describeMisfit("tile's k", tile.kStep,
                          "are divisors of " + std::to_string(shape.K));
  if (tile.buffers != 1 && tile.buffers != 2)
    return describeMisfit("tile's buffers", tile.buffers, "are 1 and 2");
  int64_t steps = shape.K / tile.kStep;
  if (tile.splits < 1 || tile.splits > steps ||
      ceilDiv(steps, tile.splits) * (tile.splits - 1) >= steps)
    return describeMisfit("splits", tile.splits,
                          "are those that share " + std::to_string(steps) +
                              " steps with none empty");
  if (tile.invocations > device.maxInvocations)
    return describeMisfit("workgroup's number of invocations", tile.invocations,
                          "are " + std::to_string(device.maxInvocations));
  if (tile.registers > device.registersMax)
    return describeMisfit("estimate of registers", tile.registers,
                          "are " + std::to_string(device.registersMax));
  int64_t bytes = matrixWorkgroupBytes(shape, tile);
  if (bytes > device.workgroupMemoryBytes)
    return describeMisfit("workgroup memory", bytes,
                          "are " + std::to_string(device.workgroupMemoryBytes) +
                              " bytes");
  return "";
}

std::optional<MatrixTile> selectMatrixTile(const LinearShape &shape,
                                           const DeviceLimits &device) {
  if (shape.hasNorm || shape.isInt8 || shape.numLinears > 2)
    return std::nullopt;
  std::optional<MatrixTile> best;
  double bestTime = 0;
  for (const Shape &choice : kShapes)
    for (int64_t splits = 1; splits <= kMaxSplits; ++splits) {
      MatrixTile tile = tileOf(shape, choice, splits, device);
      double time = timeOf(shape, choice, splits, device);
      if ((best && time >= bestTime) ||
          !checkMatrixTile(shape, tile, device).empty())
        continue;
      best = tile;
      bestTime = time;
    }
  return best;
}

std::vector<MatrixTile> enumerateMatrixTiles(const LinearShape &shape,
                                             const MatrixTile &chosen,
                                             const DeviceLimits &device,
                                             size_t most) {
  std::multimap<double, MatrixTile> others; // by time
  for (const Shape &choice : kShapes)
    // Numbers in between differ by less than a measurement does.
    for (int64_t splits : {1, 2, 3, 4, 6, 8, 12, 16}) {
      MatrixTile tile = tileOf(shape, choice, splits, device);
      if (!isSameTile(tile, chosen) &&
          checkMatrixTile(shape, tile, device).empty())
        others.emplace(timeOf(shape, choice, splits, device), tile);
    }
  std::vector<MatrixTile> tiles = {chosen};
  for (const auto &[time, tile] : others)
    if (tiles.size() < most)
      tiles.push_back(tile);
  return tiles;
}

} // namespace llmc::codegen
