// SPDX-License-Identifier: Apache-2.0
//
// Which texts of an encoder share a step.

#include "runtime/session/TextPlan.h"

#include <gtest/gtest.h>

namespace llmc::runtime {
namespace {

using Places = std::vector<std::pair<size_t, uint32_t>>;

Places placesOf(const TextStep &step) {
  Places places;
  for (const PlacedText &placed : step.texts)
    places.emplace_back(placed.text, placed.firstRow);
  return places;
}

TEST(TextPlanTest, TextsOfOneBucketBeginAtMultiplesOf64) {
  const auto steps = planTexts({5, 64, 3}, {512});
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(placesOf(steps[0]), (Places{{0, 0}, {1, 64}, {2, 128}}));
  EXPECT_EQ(steps[0].rows, 131u);
  EXPECT_EQ(steps[0].bucket, 512u);
}

TEST(TextPlanTest, AFullStepIsFollowedByAnother) {
  const auto steps = planTexts({65, 64, 1}, {128});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(placesOf(steps[0]), (Places{{0, 0}}));
  EXPECT_EQ(placesOf(steps[1]), (Places{{1, 0}, {2, 64}}));
  EXPECT_EQ(steps[1].rows, 65u);
}

// The bucket is that of the text alone, whatever else is in the batch.
TEST(TextPlanTest, BucketsFollowFromTheTextsOwnLength) {
  const auto steps = planTexts({129, 7, 512, 128}, {512, 128});
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(placesOf(steps[0]), (Places{{1, 0}}));
  EXPECT_EQ(placesOf(steps[1]), (Places{{3, 0}}));
  EXPECT_EQ(placesOf(steps[2]), (Places{{0, 0}}));
  EXPECT_EQ(placesOf(steps[3]), (Places{{2, 0}}));
  EXPECT_EQ(steps[1].bucket, 128u);
  EXPECT_EQ(steps[2].bucket, 512u);
}

TEST(TextPlanTest, NoTextsNeedNoSteps) {
  EXPECT_TRUE(planTexts({}, {128}).empty());
}

} // namespace
} // namespace llmc::runtime
