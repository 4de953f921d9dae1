// SPDX-License-Identifier: Apache-2.0
//
// Hazard analysis by comparing every pair; entries have a few hundred
// dispatches.

#include "compiler/Planning/BarrierPlanner.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace llmc::planning {

bool haveHazard(const DispatchAccesses &a, const DispatchAccesses &b) {
  for (const MemoryAccess &x : a)
    for (const MemoryAccess &y : b)
      if (x.buffer == y.buffer && x.begin < y.end && y.begin < x.end &&
          (x.writes || y.writes))
        return true;
  return false;
}

std::vector<int64_t>
assignIntervals(const std::vector<DispatchAccesses> &dispatches) {
  std::vector<int64_t> intervals(dispatches.size(), 0);
  size_t begin = 0; // first dispatch of the current interval
  for (size_t i = 1; i < dispatches.size(); ++i) {
    bool mustWait = false;
    for (size_t j = begin; j < i && !mustWait; ++j)
      mustWait = haveHazard(dispatches[j], dispatches[i]);
    intervals[i] = intervals[i - 1] + (mustWait ? 1 : 0);
    if (mustWait)
      begin = i;
  }
  return intervals;
}

std::vector<size_t>
scheduleDispatches(const std::vector<DispatchAccesses> &dispatches) {
  std::vector<int64_t> level(dispatches.size(), 0);
  for (size_t i = 0; i < dispatches.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (level[j] >= level[i] && haveHazard(dispatches[j], dispatches[i]))
        level[i] = level[j] + 1;
  std::vector<size_t> order(dispatches.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_pair(level[a], a) < std::make_pair(level[b], b);
  });
  return order;
}

} // namespace llmc::planning
