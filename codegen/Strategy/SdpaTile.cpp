// SPDX-License-Identifier: Apache-2.0
//
// Tiles of the attention kernel: every number of lanes that divides the head is
// a candidate.

#include "codegen/Strategy/SdpaTile.h"

#include <algorithm>
#include <tuple>

namespace llmc::codegen {

/// Invocations of a workgroup that occupy a compute unit well, and keys whose
/// weights pass through workgroup memory together: larger ones gained nothing
/// in static counts of the mobile targets' compilers.
static constexpr int64_t kWorkgroup = 64;
static constexpr int64_t kKeys = 32;
/// Scores that one invocation computes side by side at most.
static constexpr int64_t kMaxScores = 8;
/// Up to that many rows, keys are split when the heads alone leave compute
/// units idle.
static constexpr int64_t kMaxSplitRows = 8;
/// Blocks of keys that a split has at least when the context is full, and the
/// most splits that are worth combining.
static constexpr int64_t kMinBlocksPerSplit = 4;
static constexpr int64_t kMaxSplits = 16;
/// Maximum, sum, loop counters, indices and what the compiler needs besides.
static constexpr int64_t kOtherRegisters = 12;

static int64_t ceilDiv(int64_t numerator, int64_t denominator) {
  return (numerator + denominator - 1) / denominator;
}

int64_t sdpaRegisters(const SdpaProblem &problem, const SdpaTile &tile) {
  int64_t quadsPerLane = problem.headDim / 4 / tile.lanes;
  int64_t scoresPerLane = tile.keys / tile.lanes;
  // A fragment of the query and one of a key. f16 comes two quads at a time
  // where the lane has pairs, stays packed, and takes a pair of registers while
  // it is unpacked.
  int64_t quads = problem.isHalf && quadsPerLane % 2 == 0 ? 2 : 1;
  int64_t fragments = problem.isHalf ? 4 * quads + 2 * quads + 2 : 8;
  // A score and the index of its key.
  return 4 * quadsPerLane + 2 * scoresPerLane + fragments + kOtherRegisters;
}

/// Enough workgroups for all compute units to have two, as far as the context
/// has keys for them.
static int64_t selectSplits(const SdpaProblem &problem, const SdpaTile &tile,
                            int64_t computeUnits) {
  if (problem.rows > kMaxSplitRows)
    return 1;
  int64_t queries = problem.rows * (problem.heads / problem.kvHeads);
  int64_t groups = ceilDiv(queries, tile.queries) * problem.kvHeads;
  int64_t most =
      std::min(kMaxSplits, problem.context / (tile.keys * kMinBlocksPerSplit));
  return std::max<int64_t>(1, std::min(most, 2 * computeUnits / groups));
}

std::optional<SdpaTile> selectSdpaTile(const SdpaProblem &problem,
                                       const SdpaDevice &device) {
  int64_t quads = problem.headDim / 4;
  int64_t queries = problem.rows * (problem.heads / problem.kvHeads);
  int64_t target = std::min(std::max(kWorkgroup, device.subgroupSize),
                            device.maxInvocations);
  auto badness = [&](const SdpaTile &tile) {
    return std::make_tuple(
        std::max<int64_t>(0, tile.registers - device.registersFullOccupancy),
        target - tile.workgroup(), tile.lanes);
  };
  std::optional<SdpaTile> best;
  for (int64_t lanes = 1; lanes <= std::min(quads, target); ++lanes) {
    if (quads % lanes != 0)
      continue;
    SdpaTile tile = {};
    tile.lanes = lanes;
    tile.keys = lanes * std::clamp<int64_t>(kKeys / lanes, 1, kMaxScores);
    tile.queries = std::clamp<int64_t>(queries, 1, target / lanes);
    tile.accumulators = problem.headDim / lanes;
    tile.registers = sdpaRegisters(problem, tile);
    bool fits = tile.registers <= device.registersMax &&
                tile.workgroupBytes() <= device.workgroupMemoryBytes;
    if (fits && (!best || badness(tile) < badness(*best)))
      best = tile;
  }
  if (best)
    best->splits = selectSplits(problem, *best, device.computeUnits);
  return best;
}

} // namespace llmc::codegen
