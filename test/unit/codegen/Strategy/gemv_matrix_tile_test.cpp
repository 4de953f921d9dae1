// SPDX-License-Identifier: Apache-2.0
//
// Which linears of one row an H200 multiplies in matrix units, and how: those
// that were measured to be faster so (docs/performance.md).

#include "codegen/Strategy/GemvMatrixTile.h"

#include <gtest/gtest.h>

namespace llmc::codegen {
namespace {

const DeviceLimits kH200 = {32, 255, 32, 1024, 49152, 128, 132};

GemvStrategy withFragments() {
  GemvStrategy strategy;
  strategy.matrixFragments = true;
  return strategy;
}

std::optional<GemvMatrixTile> select(WeightFormat format, int64_t N, int64_t K,
                                     int64_t numLinears = 1) {
  return selectGemvMatrixTile({format, 1, N, K, numLinears, false}, kH200,
                              withFragments());
}

TEST(GemvMatrixTile, subgroupsShareTheColumnsOfLargePairs) {
  auto pair = select(WeightFormat::Q4_K, 11008, 2048, 2);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->subgroups, 8);
  EXPECT_EQ(pair->kStep, 128);
  EXPECT_EQ(pair->tileWorkgroups, 0);
}

TEST(GemvMatrixTile, subgroupsGoOverTheTilesOfVocabularies) {
  auto tile = select(WeightFormat::Q6_K, 151936, 1024);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->subgroups, 8);
  EXPECT_EQ(tile->tileWorkgroups, 8 * 132);
  EXPECT_FALSE(select(WeightFormat::Q6_K, 151936, 2048)); // long rows
}

TEST(GemvMatrixTile, othersAreNotForMatrixUnits) {
  EXPECT_FALSE(select(WeightFormat::Q4_0, 11008, 2048, 2));
  EXPECT_FALSE(select(WeightFormat::Q4_K, 2560, 2048));    // one linear
  EXPECT_FALSE(select(WeightFormat::Q6_K, 2048, 11008));   // likewise
  EXPECT_FALSE(select(WeightFormat::Q4_K, 3072, 1024, 2)); // few columns
  EXPECT_FALSE(selectGemvMatrixTile(
      {WeightFormat::Q4_K, 2, 11008, 2048, 2, false}, kH200, withFragments()));
  EXPECT_FALSE(selectGemvMatrixTile(
      {WeightFormat::Q4_K, 1, 11008, 2048, 2, false}, kH200, {}));
}

} // namespace
} // namespace llmc::codegen
