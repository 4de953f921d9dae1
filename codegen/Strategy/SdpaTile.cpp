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
/// Keys of a block at least, so that its two barriers are worth it.
static constexpr int64_t kMinKeys = 16;

static int64_t ceilDiv(int64_t numerator, int64_t denominator) {
  return (numerator + denominator - 1) / denominator;
}

int64_t sdpaRegisters(const SdpaProblem &problem, const SdpaTile &tile) {
  int64_t quadsPerLane = problem.headDim / 4 / tile.lanes;
  int64_t scoresPerLane = tile.keys / tile.lanes;
  // Fitted to what Mesa's compiler for Mali-G610 takes, within 3 registers: 18
  // for the query, indices, maximum and sum; a score with its index and the key
  // in flight 8, less from the third on; 5 more for two quads of f16 at a time.
  int64_t scores = 8 * std::min<int64_t>(scoresPerLane, 2) +
                   4 * std::max<int64_t>(scoresPerLane - 2, 0);
  int64_t secondQuad = problem.isHalf && quadsPerLane % 2 == 0 ? 5 : 0;
  return 18 + 4 * quadsPerLane + scores + secondQuad;
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

/// The tile with these lanes and keys.
static SdpaTile makeTile(const SdpaProblem &problem, int64_t workgroup,
                         int64_t lanes, int64_t keys) {
  SdpaTile tile = {};
  tile.lanes = lanes;
  tile.keys = keys;
  int64_t queries = problem.rows * (problem.heads / problem.kvHeads);
  tile.queries = std::clamp<int64_t>(queries, 1, workgroup / lanes);
  tile.accumulators = problem.headDim / lanes;
  tile.registers = sdpaRegisters(problem, tile);
  return tile;
}

std::optional<SdpaTile> selectSdpaTile(const SdpaProblem &problem,
                                       const SdpaDevice &device) {
  int64_t quads = problem.headDim / 4;
  int64_t target = std::min(std::max(kWorkgroup, device.subgroupSize),
                            device.maxInvocations);
  auto badness = [&](const SdpaTile &tile) {
    return std::make_tuple(
        std::max<int64_t>(0, tile.registers - device.registersFullOccupancy),
        target - tile.workgroup(), tile.lanes, -tile.keys);
  };
  std::optional<SdpaTile> best;
  for (int64_t lanes = 1; lanes <= std::min(quads, target); ++lanes)
    for (int64_t scores = 1; quads % lanes == 0 && scores <= kMaxScores;
         scores *= 2) {
      int64_t keys = lanes * scores;
      bool isSensible = scores == 1 || keys <= kKeys,
           isEnough = scores == kMaxScores || keys >= kMinKeys;
      SdpaTile tile = makeTile(problem, target, lanes, keys);
      bool fits = tile.registers <= device.registersMax &&
                  tile.workgroupBytes(problem) <= device.workgroupMemoryBytes;
      if (isSensible && isEnough && fits &&
          (!best || badness(tile) < badness(*best)))
        best = tile;
    }
  if (best)
    best->splits = selectSplits(problem, *best, device.computeUnits);
  return best;
}

} // namespace llmc::codegen
