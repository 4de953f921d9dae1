// SPDX-License-Identifier: Apache-2.0
//
// Biases by distance: the buckets of T5's and MPNet's relative positions.

#include "compiler/Import/EncoderModel.h"

#include "gtest/gtest.h"

#include <numeric>

namespace {

using llmc::importer::relativeBiasTable;

/// The bucket of each distance -span … span, for 32 buckets up to 128.
std::vector<int> bucketsOf(int64_t span) {
  std::vector<float> numbers(32);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  std::vector<float> table = relativeBiasTable(numbers, 32, span, 128);
  return {table.begin(), table.end()};
}

TEST(RelativeBiasTest, NearDistancesHaveBucketsOfTheirOwn) {
  EXPECT_EQ(bucketsOf(7), (std::vector<int>{7, 6, 5, 4, 3, 2, 1, 0, 17, 18, 19,
                                            20, 21, 22, 23}));
}

// 8 + 8 log(d / 8) / log 16: a bucket is sqrt 2 times as far as the one before.
TEST(RelativeBiasTest, FarDistancesShareRangesThatGrow) {
  std::vector<int> buckets = bucketsOf(300);
  auto of = [&](int distance) { return buckets[distance + 300]; };
  const int first[] = {8, 12, 16, 23, 32, 46, 64, 91};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(of(first[i]), 24 + i) << first[i];
    EXPECT_EQ(of(-first[i]), 8 + i) << first[i];
    EXPECT_EQ(of(first[i] - 1), 24 + i - 1) << first[i];
  }
  EXPECT_EQ(of(127), 31);
  EXPECT_EQ(of(300), 31);
  EXPECT_EQ(of(-300), 15);
}

TEST(RelativeBiasTest, HeadsLieTogether) {
  std::vector<float> numbers(64);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  // 32 buckets of 2 heads: bucket b has 2b and 2b + 1.
  EXPECT_EQ(relativeBiasTable(numbers, 32, 1, 128),
            (std::vector<float>{2, 3, 0, 1, 34, 35}));
}

} // namespace
