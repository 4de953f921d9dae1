// SPDX-License-Identifier: Apache-2.0
//
// Greedy placement by size.

#include "compiler/Planning/ArenaPlanner.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace llmc::planning {

static int64_t alignUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

static bool liveTogether(const ArenaValue &a, const ArenaValue &b) {
  return a.firstUse <= b.lastUse && b.firstUse <= a.lastUse;
}

/// A placed value as the range it occupies.
struct Placed {
  int64_t begin;
  int64_t end;
};

/// The offset of the smallest gap between |neighbours| that holds |size| bytes,
/// or the end of the last one. |neighbours| are sorted by `begin`.
static int64_t findBestFit(const std::vector<Placed> &neighbours,
                           int64_t size) {
  int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
  for (const Placed &neighbour : neighbours) {
    int64_t gap = neighbour.begin - end;
    if (gap >= size && gap < bestGap) {
      best = end;
      bestGap = gap;
    }
    end = std::max(end, neighbour.end);
  }
  return best >= 0 ? best : end;
}

ArenaPlan planArena(const std::vector<ArenaValue> &values, int64_t alignment) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Ties are broken, so that the plan is the same on every machine.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_pair(-values[a].sizeInBytes, a) <
           std::make_pair(-values[b].sizeInBytes, b);
  });

  ArenaPlan plan;
  plan.offsets.assign(values.size(), 0);
  std::vector<size_t> done;
  for (size_t index : order) {
    std::vector<Placed> neighbours;
    for (size_t other : done)
      if (liveTogether(values[index], values[other]))
        neighbours.push_back(
            {plan.offsets[other],
             plan.offsets[other] +
                 alignUp(values[other].sizeInBytes, alignment)});
    std::sort(
        neighbours.begin(), neighbours.end(),
        [](const Placed &a, const Placed &b) { return a.begin < b.begin; });
    int64_t size = alignUp(values[index].sizeInBytes, alignment);
    plan.offsets[index] = findBestFit(neighbours, size);
    plan.highWaterMark =
        std::max(plan.highWaterMark, plan.offsets[index] + size);
    done.push_back(index);
  }
  return plan;
}

int64_t arenaLowerBound(const std::vector<ArenaValue> &values,
                        int64_t alignment) {
  int64_t most = 0;
  // The fullest interval begins with some value.
  for (const ArenaValue &start : values) {
    int64_t live = 0;
    for (const ArenaValue &value : values)
      if (value.firstUse <= start.firstUse && start.firstUse <= value.lastUse)
        live += alignUp(value.sizeInBytes, alignment);
    most = std::max(most, live);
  }
  return most;
}

} // namespace llmc::planning
