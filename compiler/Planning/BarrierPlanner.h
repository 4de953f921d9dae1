// SPDX-License-Identifier: Apache-2.0
//
// Which dispatches must wait for which: hazards on ranges of buffers, the
// fewest barriers for an order, and an order that needs the fewest. Plain C++,
// without IR.

#ifndef LLMC_COMPILER_PLANNING_BARRIERPLANNER_H
#define LLMC_COMPILER_PLANNING_BARRIERPLANNER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace llmc::planning {

/// What a dispatch does with bytes [begin, end) of a buffer.
struct MemoryAccess {
  int64_t buffer;
  int64_t begin;
  int64_t end;
  bool reads;
  bool writes;
};

/// All accesses of one dispatch.
using DispatchAccesses = std::vector<MemoryAccess>;

/// Whether the two dispatches touch a common byte that one of them writes: read
/// after write, write after read, or write after write.
bool haveHazard(const DispatchAccesses &a, const DispatchAccesses &b);

/// The interval of each dispatch, from 0, when they run in the given order and
/// each interval ends with a barrier. A barrier makes everything before it
/// visible to everything after it; so putting each as late as possible gives
/// the fewest.
std::vector<int64_t>
assignIntervals(const std::vector<DispatchAccesses> &dispatches);

/// An order of the dispatches, as indices, in which hazards keep their order
/// and `assignIntervals` gives the fewest intervals: the length of the longest
/// chain of dependent dispatches. Dispatches of an interval keep their order.
std::vector<size_t>
scheduleDispatches(const std::vector<DispatchAccesses> &dispatches);

} // namespace llmc::planning

#endif // LLMC_COMPILER_PLANNING_BARRIERPLANNER_H
