// SPDX-License-Identifier: Apache-2.0
//
// Larger tiles take each weight and each activation from device memory, and
// decode it, less often, and feed the matrix units better from workgroup
// memory; smaller ones fill the device where the result is small.

#include "codegen/Strategy/MatrixTile.h"

#include "codegen/Lowering/MatrixMemory.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

struct Shape {
  /// Of a workgroup, columns of all linears; of a subgroup.
  int64_t rows, columns, kStep, subgroupRows, subgroupColumns;
  /// What a workgroup takes for a column of k, in relative units: measured on
  /// an H200 with `llmc bench --profile`, results of 256 to 11008 columns.
  double cost;
  /// Whether a compute unit runs several at once, which wait in turns. A unit
  /// then takes at least as long as `kFewest` of them.
  bool isShared;
  /// Whether it is for pairs of linears, too.
  bool isForPairs;
};

constexpr double kFewest = 1.5;
constexpr Shape kShapes[] = {
    {128, 128, 32, 64, 32, 3.5, false, true},
    {128, 64, 64, 32, 32, 2.1, false, false},
    {32, 64, 64, 16, 32, 1.0, true, true},
    {32, 64, 32, 16, 32, 1.4, true, true}, // where 64 does not divide k
};

/// Relative time of the whole result.
double timeOf(const LinearShape &shape, const Shape &tile,
              const DeviceLimits &device) {
  int64_t groups = ceilDiv(shape.rows, tile.rows) *
                   ceilDiv(shape.N * shape.numLinears, tile.columns);
  double ofUnit =
      tile.isShared
          ? std::max(kFewest, static_cast<double>(groups) /
                                  static_cast<double>(device.computeUnits))
          : static_cast<double>(ceilDiv(groups, device.computeUnits));
  return ofUnit * tile.cost;
}

MatrixTile tileOf(const LinearShape &shape, const Shape &choice,
                  const DeviceLimits &device) {
  MatrixTile tile{};
  tile.rows = choice.rows;
  tile.columns = choice.columns / shape.numLinears;
  tile.kStep = choice.kStep;
  tile.subgroupRows = choice.subgroupRows;
  tile.subgroupColumns = choice.subgroupColumns / shape.numLinears;
  int64_t subgroups = choice.rows / choice.subgroupRows *
                      (choice.columns / choice.subgroupColumns);
  tile.invocations = subgroups * device.subgroupSize;
  tile.accumulators = choice.rows * choice.columns / tile.invocations;
  // Beside the sums: the matrices of 16 columns, what is loaded for the next
  // step, and addresses.
  constexpr int64_t kAddresses = 32, kRegistersPerChunk = 16;
  int64_t matrices = (choice.subgroupRows + choice.subgroupColumns) *
                     kMatrixSize / 2 / device.subgroupSize;
  int64_t inputs = choice.rows * tile.kStep / tile.invocations,
          chunks =
              ceilDiv(choice.columns / 4 * tile.kStep / 4, tile.invocations);
  tile.registers = tile.accumulators + matrices + inputs +
                   chunks * kRegistersPerChunk + kAddresses;
  return tile;
}

bool fits(const LinearShape &shape, const MatrixTile &tile,
          const DeviceLimits &device) {
  return shape.K % tile.kStep == 0 && tile.subgroupColumns % kMatrixSize == 0 &&
         tile.invocations <= device.maxInvocations &&
         tile.registers <= device.registersMax &&
         matrixWorkgroupBytes(shape, tile) <= device.workgroupMemoryBytes;
}

} // namespace

int64_t matrixWorkgroupBytes(const LinearShape &shape, const MatrixTile &tile) {
  constexpr int64_t kHalfVectorBytes = 8;
  int64_t columns = tile.columns * shape.numLinears,
          line = tile.kStep / 4 + kLinePadding,
          subgroups = tile.rows / tile.subgroupRows *
                      (tile.columns / tile.subgroupColumns);
  return kHalfVectorBytes *
             (tile.rows * line +
              columns / kMatrixSize * (kMatrixSize * line + kBlockPadding)) +
         4 * (subgroups * shape.numLinears * kMatrixSize * kSumStride +
              2 * tile.rows);
}

std::optional<MatrixTile> selectMatrixTile(const LinearShape &shape,
                                           const DeviceLimits &device) {
  if (shape.hasNorm || shape.isInt8 || shape.numLinears > 2)
    return std::nullopt;
  std::optional<MatrixTile> best;
  double bestTime = 0;
  for (const Shape &choice : kShapes) {
    MatrixTile tile = tileOf(shape, choice, device);
    double time = timeOf(shape, choice, device);
    if ((shape.numLinears > 1 && !choice.isForPairs) ||
        !fits(shape, tile, device) || (best && time >= bestTime))
      continue;
    best = tile;
    bestTime = time;
  }
  return best;
}

} // namespace llmc::codegen
