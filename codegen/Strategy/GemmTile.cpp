// SPDX-License-Identifier: Apache-2.0
//
// The register model of the GEMM kernels and the choice of their tile.
//
// Linears of one region are computed one after the other, so that the registers
// are those of one: the results of the first and the invocation's place wait in
// workgroup memory. In the inner loop these are alive per invocation: the sums
// (with quantized activations also the integer sums of a group); the 16-byte
// unit of codes of each quad and its scales, offsets and high bits; four
// decoded weights; a vector of the input for each row, or for four rows of
// quantized activations; and addresses.

#include "codegen/Strategy/LinearTile.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace llmc::codegen {

namespace {
/// Better tiles compare greater.
struct Rank {
  /// There is a workgroup for each compute unit.
  bool fillsDevice;
  /// Multiply-adds per thousand instructions, estimated.
  int64_t efficiency;
  bool operator<(const Rank &other) const {
    return std::tie(fillsDevice, efficiency) <
           std::tie(other.fillsDevice, other.efficiency);
  }
};

/// Of the inner loop, counted over eight k. A load costs its address too. A
/// weight with a scale is taken out of a word, converted and scaled; quantized
/// activations take the codes of four k at a time, and the integer sums are
/// converted and scaled once for the group.
int64_t gemmEfficiency(const LinearShape &shape, const LinearTile &tile) {
  int64_t quads = tile.columns / 4;
  int64_t multiplyAdds = 8 * tile.accumulators;
  int64_t units = ceilDiv(8 * quads, columnsPerUnit(shape.format));
  if (shape.isInt8) {
    constexpr int64_t kInstructionsPerLoad = 2, kOfGroup = 4;
    int64_t loads = kInstructionsPerLoad * (2 * tile.rows / 4 + units);
    int64_t unpacking = 4 * 4 * quads;
    int64_t scaling = kOfGroup * tile.accumulators / 4;
    return 1000 * multiplyAdds /
           (multiplyAdds / 4 + loads + unpacking + scaling);
  }
  constexpr int64_t kInstructionsPerLoad = 4, kInstructionsPerDecode = 3;
  int64_t loads = kInstructionsPerLoad * (2 * tile.rows + units);
  int64_t decodes =
      (scaleGroupColumns(shape.format) != 0 ? kInstructionsPerDecode : 1) * 32 *
      quads;
  return 1000 * multiplyAdds / (multiplyAdds + loads + decodes);
}

LinearTile bestGemm(const LinearShape &shape,
                    const std::vector<LinearTile> &tiles,
                    const DeviceLimits &device, const GemmStrategy &strategy) {
  int64_t most = 0;
  for (const LinearTile &tile : tiles)
    most = std::max(most, gemmEfficiency(shape, tile));
  auto rankOf = [&](const LinearTile &tile) {
    int64_t groups = ceilDiv(shape.N, tile.workgroup[0] * tile.columns) *
                     ceilDiv(shape.rows, tile.workgroup[1] * tile.rows),
            efficiency = gemmEfficiency(shape, tile);
    bool isEfficient =
        100 * efficiency >= strategy.leastEfficiencyPercent * most;
    return Rank{isEfficient && groups >= device.computeUnits, efficiency};
  };
  // The first of equal ones.
  return *std::max_element(tiles.begin(), tiles.end(),
                           [&](const LinearTile &a, const LinearTile &b) {
                             return rankOf(a) < rankOf(b);
                           });
}

/// The registers that a compiler takes which needs `registers`, uses four at a
/// time and stops at the next step of occupancy: waves are in pairs, of which
/// as many fit as vectors of the register file allow.
int64_t fillOccupancyStep(int64_t registers, const DeviceLimits &device) {
  constexpr int64_t kPairsAtFullOccupancy = 8;
  int64_t fileVectors =
      device.registersFullOccupancy / 4 * kPairsAtFullOccupancy;
  int64_t pairs = std::clamp<int64_t>(fileVectors / ceilDiv(registers, 4), 1,
                                      kPairsAtFullOccupancy);
  return std::max(registers, fileVectors / pairs * 4);
}
} // namespace

int64_t gemmRegisters(const LinearShape &shape, const LinearTile &tile,
                      const DeviceLimits &device,
                      const GemmStrategy &strategy) {
  constexpr int64_t kDecoded = 4, kAddresses = 12;
  int64_t quads = tile.columns / 4;
  bool isScaled = scaleGroupColumns(shape.format) != 0;
  int64_t registers = tile.accumulators + 4 * quads +
                      highWords(shape.format) * quads + kAddresses;
  if (shape.isInt8) {
    registers += tile.accumulators + tile.rows + 4 * quads + kDecoded;
  } else {
    bool hasOffset =
        hasOffsets(shape.format) &&
        (strategy.decode != "bytes" || hasStoredOffsets(shape.format));
    registers += 4 * tile.rows + (isScaled ? kDecoded : 0) +
                 4 * quads * (isScaled + hasOffset);
  }
  // A compiler that has registers to fill loads the step's units at once where
  // there is little else to do with them.
  if (strategy.fillsOccupancyStep && !isScaled)
    registers += 4 * quads * (tile.kStep / columnsPerUnit(shape.format) - 1);
  if (!strategy.fillsOccupancyStep)
    return registers;
  // Sums that wait in that much workgroup memory leave a compiler no reason to
  // save registers: with quantized activations 128 of them, and 168 where the
  // result is quantized, which takes more of it.
  constexpr int64_t kWaitingSums = 32, kWaitingRegisters = 148;
  registers = fillOccupancyStep(registers, device);
  bool waits =
      shape.isInt8 && shape.numLinears > 1 && tile.accumulators >= kWaitingSums;
  return waits ? std::max(registers, kWaitingRegisters) : registers;
}

int64_t gemmWorkgroupBytes(const LinearShape &shape, const LinearTile &tile) {
  constexpr int64_t kSumBytes = 4, kPlaceBytes = 8;
  int64_t waiting = shape.numLinears - 1;
  if (waiting == 0)
    return 0;
  return tile.workgroup[0] * tile.workgroup[1] *
         (kSumBytes * tile.rows * tile.columns * waiting + kPlaceBytes);
}

std::optional<LinearTile> selectGemm(const LinearShape &shape,
                                     const DeviceLimits &device,
                                     const GemmStrategy &strategy) {
  // 16x4, or 8x4 where a subgroup has eight lanes: never square, columns along
  // a subgroup.
  int64_t lanesX = device.subgroupSize >= 16 ? 16 : 8;
  int64_t lanesY =
      std::min<int64_t>(4, powerOfTwoAtMost(device.maxInvocations) / lanesX);
  if (lanesY < 1)
    return std::nullopt;
  int64_t step = shape.isInt8 ? strategy.int8Step : strategy.floatStep;
  int64_t kStep = selectKStep(shape, std::min(step, device.maxUnroll));
  int64_t maxSums = strategy.maxSums;
  if (shape.isInt8 && shape.numLinears > 1)
    maxSums = std::min(maxSums, strategy.maxInt8PairSums);
  std::vector<LinearTile> tiles;
  // Quantized activations come in tiles of four rows.
  for (int64_t rows = shape.isInt8 ? 4 : 1; rows <= 8; rows *= 2)
    for (int64_t quads : {1, 2}) {
      LinearTile tile{false, {lanesX, lanesY, 1}, rows, 4 * quads, kStep, 0, 0};
      tile.accumulators = rows * tile.columns;
      tile.registers = gemmRegisters(shape, tile, device, strategy);
      bool fits =
          tile.accumulators <= maxSums &&
          tile.registers + strategy.spareRegisters <= device.registersMax &&
          gemmWorkgroupBytes(shape, tile) <= device.workgroupMemoryBytes;
      if (tiles.empty() || fits)
        tiles.push_back(tile);
    }
  return bestGemm(shape, tiles, device, strategy);
}

} // namespace llmc::codegen
