// SPDX-License-Identifier: Apache-2.0
//
// Where values of known size and lifetime lie in one buffer. Plain C++, without
// IR.

#ifndef LLMC_COMPILER_PLANNING_ARENAPLANNER_H
#define LLMC_COMPILER_PLANNING_ARENAPLANNER_H

#include <cstdint>
#include <vector>

namespace llmc::planning {

/// A value that holds memory from interval `firstUse` to interval `lastUse`,
/// both included.
struct ArenaValue {
  int64_t sizeInBytes;
  int64_t firstUse;
  int64_t lastUse;
};

struct ArenaPlan {
  std::vector<int64_t> offsets; // in bytes, one for each value
  int64_t highWaterMark = 0;    // bytes the arena needs
};

/// Places values so that no two which live in a common interval overlap.
/// Every offset is a multiple of |alignment| (a power of two).
///
/// Largest first, each into the smallest gap that fits. That is a heuristic:
/// the optimum is a hard problem, and on the chains of a transformer this
/// reaches `arenaLowerBound` or misses it by a few percent.
ArenaPlan planArena(const std::vector<ArenaValue> &values, int64_t alignment);

/// Bytes of the fullest interval, which no plan can go below.
int64_t arenaLowerBound(const std::vector<ArenaValue> &values,
                        int64_t alignment);

} // namespace llmc::planning

#endif // LLMC_COMPILER_PLANNING_ARENAPLANNER_H
