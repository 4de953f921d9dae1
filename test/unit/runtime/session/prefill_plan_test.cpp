// SPDX-License-Identifier: Apache-2.0
//
// How prompts are cut, against exhaustive search and by examples.

#include "runtime/session/PrefillPlan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace llmc::runtime {
namespace {

using Sizes = std::vector<uint32_t>;

Sizes bucketsOf(const std::vector<PrefillStep> &steps) {
  Sizes buckets;
  for (const PrefillStep &step : steps)
    buckets.push_back(step.bucket);
  return buckets;
}

uint64_t costOf(const std::vector<PrefillStep> &steps) {
  uint64_t cost = 0;
  for (const PrefillStep &step : steps)
    cost += step.bucket + kStepCost;
  return cost;
}

/// The least cost, by trying everything.
uint64_t leastCost(uint32_t numTokens, const Sizes &buckets) {
  if (numTokens == 0)
    return 0;
  uint64_t least = UINT64_MAX;
  for (const uint32_t bucket : buckets)
    least = std::min(
        least, bucket + kStepCost +
                   leastCost(numTokens - std::min(numTokens, bucket), buckets));
  return least;
}

TEST(PlanPrefill, stepsAreFullButTheLastAndCoverTheTokens) {
  const Sizes buckets = {1, 8, 32, 128, 512};
  for (uint32_t numTokens = 0; numTokens <= 3000; ++numTokens) {
    uint32_t sum = 0;
    const auto steps = planPrefill(numTokens, buckets);
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_GE(steps[i].rows, 1u);
      EXPECT_TRUE(steps[i].rows == steps[i].bucket || i + 1 == steps.size());
      EXPECT_LE(steps[i].rows, steps[i].bucket);
      sum += steps[i].rows;
    }
    ASSERT_EQ(sum, numTokens);
  }
}

TEST(PlanPrefill, costsTheLeast) {
  const Sizes buckets = {3, 8, 20};
  for (uint32_t numTokens = 1; numTokens <= 60; ++numTokens)
    EXPECT_EQ(costOf(planPrefill(numTokens, buckets)),
              leastCost(numTokens, buckets))
        << numTokens;
}

TEST(PlanPrefill, neverGoesTokenByToken) {
  const Sizes buckets = {1, 8, 32, 128, 512};
  for (uint32_t numTokens = 1; numTokens <= 2000; ++numTokens) {
    const Sizes plan = bucketsOf(planPrefill(numTokens, buckets));
    EXPECT_LE(std::count(plan.begin(), plan.end(), 1u), 1) << numTokens;
  }
}

TEST(PlanPrefill, examples) {
  const Sizes buckets = {512, 1, 8, 128, 32};
  EXPECT_EQ(bucketsOf(planPrefill(1, buckets)), (Sizes{1}));
  EXPECT_EQ(bucketsOf(planPrefill(2, buckets)), (Sizes{8}));
  EXPECT_EQ(bucketsOf(planPrefill(33, buckets)), (Sizes{32, 1}));
  EXPECT_EQ(bucketsOf(planPrefill(130, buckets)), (Sizes{128, 8}));
  EXPECT_EQ(bucketsOf(planPrefill(1024, buckets)), (Sizes{512, 512}));
  EXPECT_EQ(bucketsOf(planPrefill(5, {64})), (Sizes{64}));
  EXPECT_TRUE(planPrefill(0, buckets).empty());
  EXPECT_TRUE(planPrefill(5, {}).empty());
}

} // namespace
} // namespace llmc::runtime
