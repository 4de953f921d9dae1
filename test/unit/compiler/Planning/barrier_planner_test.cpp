// SPDX-License-Identifier: Apache-2.0
//
// Hazards, intervals and order of dispatches.

#include "compiler/Planning/BarrierPlanner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using llmc::planning::assignIntervals;
using llmc::planning::DispatchAccesses;
using llmc::planning::haveHazard;
using llmc::planning::MemoryAccess;
using llmc::planning::scheduleDispatches;

static MemoryAccess read(int64_t begin, int64_t end, int64_t buffer = 0) {
  return {buffer, begin, end, /*reads=*/true, /*writes=*/false};
}
static MemoryAccess write(int64_t begin, int64_t end, int64_t buffer = 0) {
  return {buffer, begin, end, /*reads=*/false, /*writes=*/true};
}

TEST(BarrierPlannerTest, HazardsNeedACommonByteAndAWriter) {
  EXPECT_TRUE(haveHazard({write(0, 8)}, {read(0, 8)}));  // read after write
  EXPECT_TRUE(haveHazard({read(0, 8)}, {write(0, 8)}));  // write after read
  EXPECT_TRUE(haveHazard({write(0, 8)}, {write(0, 8)})); // write after write
  EXPECT_FALSE(haveHazard({read(0, 8)}, {read(0, 8)}));
  EXPECT_TRUE(haveHazard({write(0, 8)}, {read(7, 9)}));
  EXPECT_FALSE(haveHazard({write(0, 8)}, {read(8, 16)}));
  EXPECT_FALSE(haveHazard({write(0, 8, 0)}, {read(0, 8, 1)}));
}

TEST(BarrierPlannerTest, IndependentDispatchesShareAnInterval) {
  EXPECT_EQ(assignIntervals({{write(0, 8)}, {write(8, 16)}, {write(16, 24)}}),
            (std::vector<int64_t>{0, 0, 0}));
}

TEST(BarrierPlannerTest, OneBarrierServesAllThatRanBefore) {
  // Two producers, two consumers: one barrier, not two.
  EXPECT_EQ(assignIntervals({{write(0, 8)},
                             {write(8, 16)},
                             {read(0, 8), write(16, 24)},
                             {read(8, 16), write(24, 32)}}),
            (std::vector<int64_t>{0, 0, 1, 1}));
}

TEST(BarrierPlannerTest, ReusedMemoryNeedsABarrier) {
  // The third dispatch writes where the first one's result lay, which the
  // second is still reading.
  EXPECT_EQ(assignIntervals(
                {{write(0, 8)}, {read(0, 8), write(8, 16)}, {write(0, 8)}}),
            (std::vector<int64_t>{0, 1, 2}));
}

TEST(BarrierPlannerTest, ScheduleBringsIndependentChainsTogether) {
  // Two chains one after the other: a b c, then d e f.
  std::vector<DispatchAccesses> dispatches = {
      {write(0, 8)},
      {read(0, 8), write(8, 16)},
      {read(8, 16), write(16, 24)},
      {write(0, 8, 1)},
      {read(0, 8, 1), write(8, 16, 1)},
      {read(8, 16, 1), write(16, 24, 1)}};
  EXPECT_EQ(scheduleDispatches(dispatches),
            (std::vector<size_t>{0, 3, 1, 4, 2, 5}));
}

TEST(BarrierPlannerTest, ScheduleLeavesAChainAlone) {
  EXPECT_EQ(scheduleDispatches({{write(0, 8)},
                                {read(0, 8), write(8, 16)},
                                {read(8, 16), write(0, 8)}}),
            (std::vector<size_t>{0, 1, 2}));
}

TEST(BarrierPlannerTest, RandomSchedulesKeepHazardsAndReachTheLongestChain) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<DispatchAccesses> dispatches;
    for (int i = 0; i < 25; ++i) {
      DispatchAccesses accesses;
      for (int j = 0; j < 3; ++j) {
        int64_t begin = random() % 40;
        accesses.push_back(j == 0 ? write(begin, begin + 4)
                                  : read(begin, begin + 4));
      }
      dispatches.push_back(accesses);
    }
    // The longest chain, by its definition.
    std::vector<int64_t> chain(dispatches.size(), 0);
    for (size_t i = 0; i < dispatches.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (haveHazard(dispatches[i], dispatches[j]))
          chain[i] = std::max(chain[i], chain[j] + 1);

    std::vector<size_t> order = scheduleDispatches(dispatches);
    std::vector<DispatchAccesses> ordered;
    std::vector<size_t> place(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      ordered.push_back(dispatches[order[i]]);
      place[order[i]] = i;
    }
    for (size_t i = 0; i < dispatches.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (haveHazard(dispatches[i], dispatches[j]))
          EXPECT_LT(place[j], place[i]);
    EXPECT_EQ(assignIntervals(ordered).back(),
              *std::max_element(chain.begin(), chain.end()));
  }
}
