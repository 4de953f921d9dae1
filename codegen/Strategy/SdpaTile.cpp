// SPDX-License-Identifier: Apache-2.0
//
// Tiles of the attention kernel: queries an invocation, scores an invocation,
// and invocations a value are tried through.

#include "codegen/Strategy/SdpaTile.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace llmc::codegen {

/// Invocations of a workgroup that occupy a compute unit well.
static constexpr int64_t kWorkgroup = 64;
/// Keys of a block: enough that its barriers are worth it, not so many that a
/// short context leaves most of them idle.
static constexpr int64_t kMinKeys = 16, kMaxKeys = 64;
/// Queries and scores that one invocation computes side by side at most.
static constexpr int64_t kMaxPerInvocation = 4, kMaxScores = 4;
/// Up to that many rows, keys are split when the heads alone leave compute
/// units idle.
static constexpr int64_t kMaxSplitRows = 8;
/// What half the invocations in flight count for where arithmetic is what takes
/// time; estimates of the tiles that it is traded for stay 10 % below the most
/// registers, so that nothing spills.
static constexpr double kOccupancyStep = 1.3;
/// Blocks of keys that a split has at least when the context is full, and the
/// most splits that are worth combining.
static constexpr int64_t kMinBlocksPerSplit = 4;
static constexpr int64_t kMaxSplits = 16;

static int64_t ceilDiv(int64_t numerator, int64_t denominator) {
  return (numerator + denominator - 1) / denominator;
}

int64_t SdpaTile::workgroupBytes(const SdpaProblem &problem) const {
  int64_t slots = queries / perInvocation;
  int64_t numbers = workgroup() + workgroup() / 2 + 1 + slots * (keys + 1);
  int64_t sums = lanes == valueLanes ? 0 : 4 * workgroup();
  constexpr int64_t kOfSplits = 2;
  int64_t codes = problem.isQuantized ? 2 * queries * problem.headDim / 4 : 0;
  int64_t heads =
      problem.preparesHeads
          ? problem.numPrepared() * problem.headDim +
                ceilDiv(problem.numPrepared(), headsAtOnce(problem)) *
                    workgroup()
          : 0;
  return 4 * (numbers * perInvocation + sums + codes + heads + kOfSplits);
}

/// Elements of keys and of values that one load gives: at most 16 bytes.
static int64_t elementsPerLoad(const SdpaProblem &problem,
                               const SdpaTile &tile) {
  int64_t elements = problem.headDim / tile.valueLanes, perLoad = 4;
  while (2 * perLoad * problem.elementBits <= 128 &&
         elements % (2 * perLoad) == 0)
    perLoad *= 2;
  return perLoad;
}

int64_t sdpaRegisters(const SdpaProblem &problem, const SdpaTile &tile,
                      const SdpaDevice &device) {
  int64_t elements = problem.headDim / tile.valueLanes,
          perLoad = elementsPerLoad(problem, tile);
  int64_t scores = tile.keys / tile.lanes, queries = tile.perInvocation;
  // Fitted to what Mesa's compilers for the three targets take: a score with
  // its key in flight and the key's place; a query's place; the numbers of
  // query and key; sums with maximum and sum of weights.
  int64_t kept = queries * (elements + 2);
  int64_t scoring =
      6 + 6 * scores + queries * scores + 3 * queries + 2 * perLoad + kept;
  int64_t summing = 9 + queries * elements + perLoad;
  // A load in flight is kept packed.
  int64_t inFlight =
      (device.loadsAtOnce - 1) * perLoad * problem.elementBits / 32;
  int64_t all = std::max(scoring, summing) + inFlight;
  if (device.loadsEarly)
    all = std::max(all, device.registersFullOccupancy);
  return all + problem.extras * queries;
}

double sdpaCost(const SdpaProblem &problem, const SdpaTile &tile) {
  // Fitted to the loops that Mesa's compilers for the three targets make: per
  // eight elements of the head; per key; per block.
  auto queries = static_cast<double>(tile.perInvocation),
       scores = static_cast<double>(tile.keys / tile.lanes),
       elements = static_cast<double>(problem.headDim / tile.valueLanes),
       keys = static_cast<double>(tile.keys * tile.valueLanes / tile.lanes),
       headDim = static_cast<double>(problem.headDim),
       loads = 8.0 / static_cast<double>(elementsPerLoad(problem, tile));
  double scoring =
      headDim / 8 *
      (4 + 8 * queries * scores + (8 + 6 * loads) * scores + 6 * queries);
  double summing = keys * (9 + 1.3 * elements + queries * elements);
  double block = 60 + 45 * queries + 15 * queries * scores;
  return (scoring + summing + block) /
         (queries * (scores * headDim + keys * elements));
}

/// Enough workgroups for all compute units to have two, as far as the context
/// has keys for them.
static int64_t selectSplits(const SdpaProblem &problem, const SdpaTile &tile,
                            int64_t computeUnits) {
  if (problem.rows > kMaxSplitRows)
    return 1;
  int64_t groups = ceilDiv(problem.queries(), tile.queries) * problem.kvHeads;
  int64_t most =
      std::min(kMaxSplits, problem.context / (tile.keys * kMinBlocksPerSplit));
  return std::max<int64_t>(1, std::min(most, 2 * computeUnits / groups));
}

/// The cost with what idles: invocations of the last subgroup, queries of the
/// last workgroup, invocations that a workgroup lacks.
static double costOfAll(const SdpaProblem &problem, const SdpaTile &tile,
                        const SdpaDevice &device, int64_t target) {
  auto idle = [](int64_t used, int64_t unit) {
    return static_cast<double>(ceilDiv(used, unit) * unit) /
           static_cast<double>(used);
  };
  double lacking =
      std::sqrt(std::max(1.0, static_cast<double>(target) /
                                  static_cast<double>(tile.workgroup())));
  return sdpaCost(problem, tile) * lacking *
         idle(tile.workgroup(), device.subgroupSize) *
         idle(problem.queries(), tile.queries);
}

/// Fills in what follows from the tile's lanes, or gives nothing for a tile
/// that does not fit.
static std::optional<SdpaTile> completeTile(SdpaTile tile,
                                            const SdpaProblem &problem,
                                            const SdpaDevice &device,
                                            int64_t target) {
  int64_t most = target / tile.lanes;
  if (problem.preparesHeads) // all queries of a KV head, whatever the target
    most = std::max(most, std::min(problem.group() / tile.perInvocation,
                                   device.maxInvocations / tile.lanes));
  int64_t slots =
      std::clamp<int64_t>(problem.queries() / tile.perInvocation, 1, most);
  tile.queries = slots * tile.perInvocation;
  tile.accumulators = tile.perInvocation * problem.headDim / tile.valueLanes;
  tile.registers = sdpaRegisters(problem, tile, device);
  if (problem.preparesHeads &&
      (tile.queries < problem.group() || tile.headsAtOnce(problem) == 0))
    return std::nullopt;
  bool fits = tile.registers <= device.registersMax &&
              tile.workgroupBytes(problem) <= device.workgroupMemoryBytes;
  return fits ? std::optional(tile) : std::nullopt;
}

/// Calls `consider` with every sensible tile that fits.
template <typename FunctionT>
static void forEachTile(const SdpaProblem &problem, const SdpaDevice &device,
                        int64_t target, FunctionT consider) {
  int64_t quads = problem.headDim / 4;
  for (int64_t queries = 1; queries <= kMaxPerInvocation; queries *= 2) {
    // Heads of one row, or rows of one head.
    bool isRegular = problem.group() % queries == 0 || problem.group() == 1;
    if (!isRegular || queries > problem.queries())
      continue;
    for (int64_t valueLanes = 1; valueLanes <= std::min(quads, target);
         ++valueLanes)
      // What is quantized has all lanes on one value.
      for (int64_t lanes = valueLanes,
                   most = problem.isQuantized ? valueLanes : target;
           quads % valueLanes == 0 && lanes <= most; lanes *= 2)
        for (int64_t scores = 1; scores <= kMaxScores; scores *= 2) {
          SdpaTile tile = {};
          tile.perInvocation = queries;
          tile.lanes = lanes;
          tile.valueLanes = valueLanes;
          tile.keys = lanes * scores;
          tile.splits = 1;
          tile.loadsAtOnce = device.loadsAtOnce;
          bool isSensible = (scores == 1 || tile.keys <= kMaxKeys) &&
                            (scores == kMaxScores || tile.keys >= kMinKeys);
          if (!isSensible || problem.keyAlignment % tile.keys != 0)
            continue;
          if (auto complete = completeTile(tile, problem, device, target))
            consider(*complete);
        }
  }
}

std::optional<SdpaTile> selectSdpaTile(const SdpaProblem &problem,
                                       const SdpaDevice &device) {
  int64_t target = std::min(std::max(kWorkgroup, device.subgroupSize),
                            device.maxInvocations);
  bool trades = device.tradesOccupancy && problem.rows > kMaxSplitRows;
  auto badness = [&](const SdpaTile &tile) {
    int64_t excess =
        std::max<int64_t>(0, tile.registers - device.registersFullOccupancy);
    double cost = costOfAll(problem, tile, device, target);
    if (trades && excess != 0) {
      cost *= kOccupancyStep;
      excess =
          std::max<int64_t>(0, 10 * tile.registers - 9 * device.registersMax);
    }
    return std::make_tuple(excess, cost, tile.lanes);
  };
  std::optional<SdpaTile> best;
  forEachTile(problem, device, target, [&](const SdpaTile &tile) {
    if (!best || badness(tile) < badness(*best))
      best = tile;
  });
  if (best)
    best->splits = selectSplits(problem, *best, device.computeUnits);
  return best;
}

} // namespace llmc::codegen
