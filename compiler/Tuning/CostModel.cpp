// SPDX-License-Identifier: Apache-2.0
//
// A candidate as the work of one dispatch, and its time.

#include "compiler/Tuning/CostModel.h"

#include "compiler/Estimate/Estimate.h"

#include <algorithm>

namespace llmc::tuner {

using codegen::ceilDiv;
using codegen::LinearTile;

namespace {

constexpr double kWidestLoad = 16, kNoOverlap = 0.25, kWorthIt = 0.98;

/// Workgroups along the rows, and along the columns of the result.
struct Grid {
  int64_t alongRows, alongColumns;
  int64_t rows, columns; // of the result, that one of them computes
};

Grid gridOf(const codegen::LinearShape &shape, const LinearTile &tile) {
  Grid grid;
  grid.rows = tile.isGemv ? tile.rows : tile.rows * tile.workgroup[1];
  // A GEMV's columns are linears side by side, or tiles of one.
  int64_t tiles = shape.numLinears == 1 ? tile.columns / 4 : 1;
  grid.columns = tile.isGemv ? codegen::kTileRows * tiles
                             : tile.columns * tile.workgroup[0];
  grid.alongRows = ceilDiv(shape.rows, grid.rows);
  grid.alongColumns = ceilDiv(shape.N, grid.columns);
  return grid;
}

estimate::DispatchWork workOf(const CostProblem &problem,
                              const Candidate &candidate) {
  const codegen::LinearShape &shape = problem.shape;
  const LinearTile &tile = candidate.tile;
  Grid grid = gridOf(shape, tile);
  estimate::DispatchWork work;
  work.kind = tile.isGemv ? "gemv" : "gemm";
  work.encoding = problem.encoding;
  work.workgroups = grid.alongRows * grid.alongColumns;
  work.weightBytes = problem.weightBytes *
                     static_cast<double>(tile.isGemv ? grid.alongRows : 1);
  work.multiplyAdds = static_cast<double>(work.workgroups * grid.rows) *
                      static_cast<double>(grid.columns * shape.K) *
                      static_cast<double>(shape.numLinears);
  work.kernel.add_tile(static_cast<uint32_t>(tile.rows));
  work.kernel.add_tile(static_cast<uint32_t>(tile.columns));
  work.kernel.set_registers(static_cast<uint32_t>(tile.registers));
  work.kernel.set_arithmetic(problem.arithmetic);
  if (const auto &figures = candidate.figures) {
    work.occupancy = static_cast<double>(figures->occupancyPercent) / 100;
    work.instructionsPerMultiplyAdd = figures->instructionsPerMultiplyAdd;
    if (figures->bytesPerLoad > 0)
      work.weightBytes *= std::max(1.0, kWidestLoad / figures->bytesPerLoad);
  }
  return work;
}

} // namespace

double costMicroseconds(const CostProblem &problem, const Candidate &candidate,
                        const description::Target &device) {
  estimate::Time time =
      estimate::estimateDispatch(workOf(problem, candidate), device, {});
  // Lanes of a subgroup that a workgroup has no invocations for idle.
  int64_t invocations =
      candidate.tile.workgroup[0] * candidate.tile.workgroup[1];
  int64_t subgroup = std::max<int64_t>(1, device.subgroup().size());
  int64_t lanes = ceilDiv(invocations, subgroup) * subgroup;
  time.arithmeticMicroseconds *=
      static_cast<double>(lanes) / static_cast<double>(invocations);
  auto [less, more] =
      std::minmax(time.memoryMicroseconds, time.arithmeticMicroseconds);
  return more + kNoOverlap * less;
}

/// The least occupancy that another tile may have instead of Strategy's: a GEMV
/// streams, and hides its loads behind other invocations alone; a GEMM does
/// with half of them.
static int64_t leastOccupancy(const Candidate &chosen) {
  constexpr int64_t kHalf = 50;
  if (!chosen.figures || !chosen.figures->staysInRegisters())
    return 0;
  int64_t occupancy = chosen.figures->occupancyPercent;
  return chosen.tile.isGemv ? occupancy : std::min(kHalf, occupancy);
}

size_t selectCandidate(const CostProblem &problem,
                       const std::vector<Candidate> &candidates,
                       const description::Target &device) {
  bool isMeasured =
      std::any_of(candidates.begin(), candidates.end(),
                  [](const Candidate &one) { return one.figures.has_value(); });
  int64_t least = leastOccupancy(candidates.front());
  size_t best = 0;
  std::optional<double> leastCost;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate &candidate = candidates[i];
    if (isMeasured &&
        !(candidate.figures && candidate.figures->staysInRegisters() &&
          candidate.figures->occupancyPercent >= least))
      continue;
    double cost = costMicroseconds(problem, candidate, device);
    // The first has to be beaten clearly; others, by anything.
    double bar = leastCost ? *leastCost * (best == 0 ? kWorthIt : 1) : 0;
    if (leastCost && cost >= bar)
      continue;
    best = i;
    leastCost = cost;
  }
  return best;
}

} // namespace llmc::tuner
