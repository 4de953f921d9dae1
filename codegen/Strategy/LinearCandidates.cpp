// SPDX-License-Identifier: Apache-2.0
//
// What the two linear kernels can be built with. Every size is a power of two,
// as the lowerings index with.

#include "codegen/Strategy/LinearCandidates.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

bool isPowerOfTwo(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

std::string say(const std::string &field, int64_t value,
                const std::string &allowed) {
  return field + " is " + std::to_string(value) + ", allowed " + allowed;
}

int64_t invocationsOf(const LinearTile &tile) {
  return tile.workgroup[0] * tile.workgroup[1] * tile.workgroup[2];
}

/// Sums of lanes that share k meet in workgroup memory.
int64_t reductionBytes(const LinearShape &shape, const LinearTile &tile) {
  return tile.isGemv
             ? invocationsOf(tile) * tile.rows * (16 * shape.numLinears + 4)
             : 0;
}

std::string checkSizes(const LinearShape &shape, const LinearTile &tile) {
  int64_t columns = ceilDiv(shape.K, 4) * 4;
  int64_t most = groupColumns(shape.format, columns);
  int64_t least =
      std::min(most, std::max<int64_t>(4, columnsPerUnit(shape.format)));
  if (!isPowerOfTwo(tile.kStep) || tile.kStep < least || tile.kStep > most)
    return say("tile's k", tile.kStep,
               "are powers of two from " + std::to_string(least) + " to " +
                   std::to_string(most));
  int64_t mostRows = tile.isGemv ? kMaxGemvRows : 8;
  if (!isPowerOfTwo(tile.rows) || tile.rows > mostRows ||
      (tile.rows > 1 && tile.rows / 2 >= shape.rows))
    return say("tile's rows", tile.rows,
               "are powers of two up to " + std::to_string(mostRows) +
                   " that the " + std::to_string(shape.rows) + " rows need");
  bool hasColumns = tile.columns == 4 || (!tile.isGemv && tile.columns == 8);
  if (!hasColumns)
    return say("tile's columns", tile.columns,
               tile.isGemv ? "is 4" : "are 4 and 8");
  return "";
}

std::string checkWorkgroup(const LinearTile &tile) {
  auto [x, y, z] = tile.workgroup;
  if (!isPowerOfTwo(x) || !isPowerOfTwo(y) || z != 1)
    return "workgroup must be two powers of two and 1";
  if (tile.isGemv && (y != 1 || x < 4 * kQuadsPerTile))
    return say("workgroup's x", x, "are 16 or more, with y 1");
  // Never square: some drivers compute that wrongly.
  if (!tile.isGemv && x <= y)
    return say("workgroup's x", x, "is more than y, " + std::to_string(y));
  return "";
}

} // namespace

std::string checkLinearTile(const LinearShape &shape, const LinearTile &tile,
                            const DeviceLimits &device) {
  if (tile.isGemv && shape.rows > kMaxGemvRows)
    return say("rows of a gemv", shape.rows,
               "are up to " + std::to_string(kMaxGemvRows));
  if (!tile.isGemv && shape.hasNorm)
    return "kind is gemm, which computes no norm of its input";
  if (std::string problem = checkSizes(shape, tile); !problem.empty())
    return problem;
  if (std::string problem = checkWorkgroup(tile); !problem.empty())
    return problem;
  if (invocationsOf(tile) > device.maxInvocations)
    return say("workgroup's number of invocations", invocationsOf(tile),
               "are " + std::to_string(device.maxInvocations));
  if (reductionBytes(shape, tile) > device.workgroupMemoryBytes)
    return say("workgroup memory", reductionBytes(shape, tile),
               "are " + std::to_string(device.workgroupMemoryBytes) + " bytes");
  if (tile.registers > device.registersMax)
    return say("estimate of registers", tile.registers,
               "are " + std::to_string(device.registersMax));
  return "";
}

LinearTile withEstimate(const LinearShape &shape, LinearTile tile) {
  tile.accumulators = accumulatorsOf(shape, tile.rows, tile.columns);
  tile.registers =
      tile.isGemv ? gemvRegisters(shape, tile) : gemmRegisters(shape, tile);
  return tile;
}

std::vector<LinearTile> enumerateLinearTiles(const LinearShape &shape,
                                             const DeviceLimits &device,
                                             const LinearTile &chosen) {
  std::vector<LinearTile> tiles = {chosen};
  auto add = [&](LinearTile tile) {
    tile = withEstimate(shape, tile);
    auto isSame = [&](const LinearTile &other) {
      return std::equal(tile.workgroup, tile.workgroup + 3, other.workgroup) &&
             tile.rows == other.rows && tile.columns == other.columns &&
             tile.kStep == other.kStep;
    };
    if (checkLinearTile(shape, tile, device).empty() &&
        std::none_of(tiles.begin(), tiles.end(), isSame))
      tiles.push_back(tile);
  };
  // A workgroup half as large, as it is, twice as large; along x.
  for (int64_t lanes :
       {chosen.workgroup[0] / 2, chosen.workgroup[0], chosen.workgroup[0] * 2})
    for (int64_t rows : {1, 2, 4, 8})
      for (int64_t columns : {4, 8})
        for (int64_t kStep : {4, 8, 16, 32}) {
          LinearTile tile = chosen;
          tile.workgroup[0] = lanes;
          tile.rows = rows;
          tile.columns = columns;
          tile.kStep = kStep;
          add(tile);
        }
  return tiles;
}

} // namespace llmc::codegen
