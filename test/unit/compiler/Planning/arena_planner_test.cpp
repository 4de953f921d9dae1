// SPDX-License-Identifier: Apache-2.0
//
// Placement of values with lifetimes in one buffer.

#include "compiler/Planning/ArenaPlanner.h"

#include <gtest/gtest.h>

#include <random>

using llmc::planning::arenaLowerBound;
using llmc::planning::ArenaPlan;
using llmc::planning::ArenaValue;
using llmc::planning::planArena;

/// The two promises of a plan: aligned offsets, and no common byte of two
/// values that live in a common interval.
static void expectValid(const std::vector<ArenaValue> &values,
                        const ArenaPlan &plan, int64_t alignment) {
  ASSERT_EQ(plan.offsets.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % alignment, 0);
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_LE(plan.offsets[i] + values[i].sizeInBytes, plan.highWaterMark);
    for (size_t j = 0; j < i; ++j) {
      bool together = values[i].firstUse <= values[j].lastUse &&
                      values[j].firstUse <= values[i].lastUse;
      bool overlap =
          plan.offsets[i] < plan.offsets[j] + values[j].sizeInBytes &&
          plan.offsets[j] < plan.offsets[i] + values[i].sizeInBytes;
      EXPECT_FALSE(together && overlap) << i << " and " << j;
    }
  }
}

TEST(ArenaPlannerTest, NothingNeedsNothing) {
  EXPECT_EQ(planArena({}, 64).highWaterMark, 0);
}

TEST(ArenaPlannerTest, ChainReusesTwoBuffers) {
  // a → b → c → d: at each step one is read and one written.
  std::vector<ArenaValue> values = {
      {256, 0, 1}, {256, 1, 2}, {256, 2, 3}, {256, 3, 4}};
  ArenaPlan plan = planArena(values, 64);
  expectValid(values, plan, 64);
  EXPECT_EQ(plan.highWaterMark, 512);
}

TEST(ArenaPlannerTest, ResidualLivesThroughTheBranch) {
  // A residual of 64 bytes beside a branch that grows to 256 and back.
  std::vector<ArenaValue> values = {
      {64, 0, 3}, {64, 0, 1}, {256, 1, 2}, {64, 2, 3}};
  ArenaPlan plan = planArena(values, 64);
  expectValid(values, plan, 64);
  EXPECT_EQ(plan.highWaterMark, 64 + 64 + 256);
}

TEST(ArenaPlannerTest, SizesAreRoundedToTheAlignment) {
  std::vector<ArenaValue> values = {{1, 0, 0}, {1, 0, 0}, {65, 0, 0}};
  ArenaPlan plan = planArena(values, 64);
  expectValid(values, plan, 64);
  EXPECT_EQ(plan.highWaterMark, 64 + 64 + 128);
}

TEST(ArenaPlannerTest, SmallestGapThatFitsIsTaken) {
  // 512 and 256 bytes lie below values that stay; both gaps open at time 1.
  std::vector<ArenaValue> values = {{1024, 0, 2}, {512, 0, 0}, {384, 0, 2},
                                    {256, 0, 0},  {192, 0, 2}, {128, 1, 2}};
  ArenaPlan plan = planArena(values, 64);
  expectValid(values, plan, 64);
  EXPECT_EQ(plan.offsets[5], plan.offsets[3]); // the gap of 256, not of 512
  EXPECT_EQ(plan.highWaterMark, 1024 + 512 + 384 + 256 + 192);
}

TEST(ArenaPlannerTest, RandomPlansAreValidRepeatableAndNearTheBound) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaValue> values;
    for (int i = 0; i < 40; ++i) {
      int64_t first = random() % 30;
      values.push_back({static_cast<int64_t>(random() % 5000 + 1), first,
                        first + static_cast<int64_t>(random() % 6)});
    }
    ArenaPlan plan = planArena(values, 256);
    expectValid(values, plan, 256);
    EXPECT_EQ(plan.offsets, planArena(values, 256).offsets);
    int64_t bound = arenaLowerBound(values, 256);
    EXPECT_GE(plan.highWaterMark, bound);
    EXPECT_LE(plan.highWaterMark, bound + bound / 2);
  }
}

TEST(ArenaPlannerTest, LowerBoundIsTheFullestInterval) {
  EXPECT_EQ(arenaLowerBound({{100, 0, 1}, {100, 1, 2}, {300, 3, 3}}, 4), 300);
  EXPECT_EQ(arenaLowerBound({{100, 0, 1}, {200, 1, 2}, {100, 2, 3}}, 4), 300);
}
