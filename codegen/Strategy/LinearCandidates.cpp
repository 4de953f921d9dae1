// SPDX-License-Identifier: Apache-2.0
//
// What the two linear kernels can be built with. Sizes are powers of two, as
// the lowerings index with, but for a gemv's invocations that add up in
// subgroups, which are any whole number of these.

#include "codegen/Strategy/LinearCandidates.h"

#include "codegen/Lowering/TileMisfit.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

bool isPowerOfTwo(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

int64_t invocationsOf(const LinearTile &tile) {
  return tile.workgroup[0] * tile.workgroup[1] * tile.workgroup[2];
}

int64_t workgroupBytes(const LinearProblem &problem, const LinearTile &tile) {
  const LinearShape &shape = problem.shape;
  return tile.isGemv ? gemvWorkgroupBytes(shape, tile, problem.limits,
                                          problem.strategy.gemv)
                     : gemmWorkgroupBytes(shape, tile);
}

/// Whether the invocations of a gemv add up in subgroups, which then may be any
/// number, with a part of a group's columns each.
bool addsInSubgroups(const LinearProblem &problem) {
  return problem.strategy.gemv.reduction == "subgroup";
}

/// In how many parts a tile may be dealt to workgroups.
std::vector<int64_t> splitsOf(const LinearProblem &problem,
                              const LinearTile &tile) {
  if (tile.isGemv && addsInSubgroups(problem))
    return {1, 2, 4};
  return {tile.splits};
}

std::string checkSizes(const LinearProblem &problem, const LinearTile &tile) {
  const LinearShape &shape = problem.shape;
  int64_t columns = ceilDiv(shape.K, 4) * 4;
  int64_t most = groupColumns(shape.format, columns);
  int64_t least =
      std::min(most, std::max<int64_t>(4, columnsPerUnit(shape.format)));
  // A share of a gemv's columns is one or two groups of scales, or a part.
  if (tile.isGemv && scaleGroupColumns(shape.format) != 0) {
    if (!addsInSubgroups(problem))
      least = most;
    most = columns % (2 * most) == 0 ? 2 * most : most;
  }
  if (!isPowerOfTwo(tile.kStep) || tile.kStep < least || tile.kStep > most)
    return describeMisfit("tile's k", tile.kStep,
                          "are powers of two from " + std::to_string(least) +
                              " to " + std::to_string(most));
  constexpr int64_t mostRows = 8;
  if (!isPowerOfTwo(tile.rows) || tile.rows > mostRows ||
      (tile.rows > 1 && tile.rows / 2 >= shape.rows))
    return describeMisfit("tile's rows", tile.rows,
                          "are powers of two up to " +
                              std::to_string(mostRows) + " that the " +
                              std::to_string(shape.rows) + " rows need");
  if (shape.isInt8 && tile.rows % 4 != 0)
    return describeMisfit("tile's rows", tile.rows,
                          "are 4 and 8: quantized activations come in fours");
  // More than four of a gemv are two linears side by side, or tiles of one.
  int64_t mostColumns = 8;
  if (tile.isGemv && shape.numLinears == 1)
    mostColumns = std::max(mostColumns, 4 * problem.strategy.gemv.rowTiles);
  if (!isPowerOfTwo(tile.columns) || tile.columns < 4 ||
      tile.columns > mostColumns)
    return describeMisfit("tile's columns", tile.columns,
                          mostColumns == 8 ? "are 4 and 8"
                                           : "are powers of two from 4 to " +
                                                 std::to_string(mostColumns));
  return "";
}

/// Shares of a part of a group of scales lie side by side in a workgroup.
std::string checkParts(const LinearProblem &problem, const LinearTile &tile) {
  const GemvStrategy &gemv = problem.strategy.gemv;
  // Lanes hand on whole groups, 16 columns at a time, and four have a quad.
  bool exchanges =
      gemvExchangedColumns(problem.shape, tile, problem.limits, gemv) != 0;
  if (exchanges && tile.splits != 1)
    return describeMisfit("splits", tile.splits,
                          "is 1 where lanes hand on the input");
  if (int64_t least = std::max<int64_t>(scaleGroupColumns(problem.shape.format),
                                        4 * kQuadsPerTile);
      exchanges && tile.kStep < least)
    return describeMisfit("tile's k", tile.kStep,
                          "are " + std::to_string(least) +
                              " and more where lanes hand on the input");
  int64_t group = scaleGroupColumns(problem.shape.format),
          shares = tile.workgroup[0] * tile.splits / kQuadsPerTile;
  if (tile.kStep >= group)
    return "";
  if (shares % (group / tile.kStep) != 0)
    return describeMisfit("workgroup's number of shares", shares,
                          "are multiples of the " +
                              std::to_string(group / tile.kStep) +
                              " that a group of scales has");
  int64_t staged = gemvStagedColumns(problem.shape, tile, problem.limits, gemv);
  return staged == 0
             ? ""
             : describeMisfit("tile's k", tile.kStep,
                              "are whole groups of scales where input is "
                              "staged");
}

std::string checkWorkgroup(const LinearProblem &problem,
                           const LinearTile &tile) {
  auto [x, y, z] = tile.workgroup;
  if (tile.isGemv && addsInSubgroups(problem)) {
    int64_t subgroup = problem.limits.subgroupSize;
    if (x % subgroup != 0 || y != 1 || z != 1)
      return "workgroup must be subgroups of " + std::to_string(subgroup) +
             " along x, with y and z 1";
    bool isOne = problem.shape.numLinears * 4 == tile.columns;
    if (tile.splits != 1 && ((tile.splits != 2 && tile.splits != 4) || !isOne))
      return describeMisfit("splits", tile.splits,
                            "are 1, and 2 and 4 for one tile");
    return checkParts(problem, tile);
  }
  if (tile.splits != 1)
    return describeMisfit("splits", tile.splits, "is 1");
  if (!isPowerOfTwo(x) || !isPowerOfTwo(y) || z != 1)
    return "workgroup must be two powers of two and 1";
  if (tile.isGemv && (y != 1 || x < 4 * kQuadsPerTile))
    return describeMisfit("workgroup's x", x, "are 16 or more, with y 1");
  // Never square: some drivers compute that wrongly.
  if (!tile.isGemv && x <= y)
    return describeMisfit("workgroup's x", x,
                          "is more than y, " + std::to_string(y));
  return "";
}

} // namespace

std::string checkLinearTile(const LinearProblem &problem,
                            const LinearTile &tile) {
  const LinearShape &shape = problem.shape;
  const DeviceLimits &limits = problem.limits;
  int64_t mostRows = problem.strategy.gemv.maxShapeRows;
  if (tile.isGemv && shape.rows > mostRows)
    return describeMisfit("rows of a gemv", shape.rows,
                          "are up to " + std::to_string(mostRows));
  if (!tile.isGemv && shape.hasNorm)
    return "kind is gemm, which computes no norm of its input";
  if (std::string wrong = checkSizes(problem, tile); !wrong.empty())
    return wrong;
  if (std::string wrong = checkWorkgroup(problem, tile); !wrong.empty())
    return wrong;
  if (invocationsOf(tile) > limits.maxInvocations)
    return describeMisfit("workgroup's number of invocations",
                          invocationsOf(tile),
                          "are " + std::to_string(limits.maxInvocations));
  if (workgroupBytes(problem, tile) > limits.workgroupMemoryBytes)
    return describeMisfit("workgroup memory", workgroupBytes(problem, tile),
                          "are " + std::to_string(limits.workgroupMemoryBytes) +
                              " bytes");
  if (tile.registers > limits.registersMax)
    return describeMisfit("estimate of registers", tile.registers,
                          "are " + std::to_string(limits.registersMax));
  return "";
}

LinearTile withEstimate(const LinearProblem &problem, LinearTile tile) {
  const LinearShape &shape = problem.shape;
  tile.accumulators = tile.rows * tile.columns;
  tile.registers =
      tile.isGemv
          ? gemvRegisters(shape, tile, problem.limits, problem.strategy.gemv)
          : gemmRegisters(shape, tile, problem.limits, problem.strategy.gemm);
  return tile;
}

bool isSameTile(const LinearTile &a, const LinearTile &b) {
  return a.isGemv == b.isGemv &&
         std::equal(a.workgroup, a.workgroup + 3, b.workgroup) &&
         a.rows == b.rows && a.columns == b.columns && a.kStep == b.kStep &&
         a.splits == b.splits;
}

std::vector<LinearTile> enumerateLinearTiles(const LinearProblem &problem,
                                             const LinearTile &chosen) {
  std::vector<LinearTile> tiles = {chosen};
  auto add = [&](LinearTile tile) {
    tile = withEstimate(problem, tile);
    // A part of a subgroup would idle.
    bool isWhole = invocationsOf(tile) % problem.limits.subgroupSize == 0;
    bool isNew =
        std::none_of(tiles.begin(), tiles.end(), [&](const LinearTile &other) {
          return isSameTile(tile, other);
        });
    if (isWhole && isNew && checkLinearTile(problem, tile).empty())
      tiles.push_back(tile);
  };
  // A workgroup half as large, as it is, twice as large; along x.
  for (int64_t lanes :
       {chosen.workgroup[0] / 2, chosen.workgroup[0], chosen.workgroup[0] * 2})
    for (int64_t rows : {1, 2, 4, 8})
      for (int64_t columns : {4, 8})
        for (int64_t kStep : {4, 8, 16, 32, 64})
          for (int64_t splits : splitsOf(problem, chosen)) {
            LinearTile tile = chosen;
            tile.workgroup[0] = lanes;
            tile.rows = rows;
            tile.columns = columns;
            tile.kStep = kStep;
            tile.splits = splits;
            add(tile);
          }
  return tiles;
}

} // namespace llmc::codegen
