// SPDX-License-Identifier: Apache-2.0
//
// The formulas of ops on rows of texts against numbers worked out by hand.

#include "compiler/Reference/Numerics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

namespace llmc::reference {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expectNear(const Tensor &tensor, const std::vector<double> &expected) {
  EXPECT_THAT(tensor.values, Pointwise(DoubleNear(1e-12), expected));
}

TEST(RowNumericsTest, LayerNormTakesMeanAndVarianceOut) {
  // Mean 3, variance 4 (of the row, not of a sample), plus epsilon: root 2.5.
  Tensor x({1, 2}, {1, 5}), gain({2}, {10, 100}), bias({2}, {0.5, -1});
  expectNear(layerNorm(x, gain, &bias, 2.25, Precision::Double),
             {0.5 - 20 / 2.5, -1 + 200 / 2.5});
  expectNear(layerNorm(x, gain, nullptr, 0, Precision::Double), {-10, 100});
}

TEST(RowNumericsTest, L2NormalizeGivesLengthOneAndKeepsZeros) {
  Tensor x({2, 2}, {3, 4, 0, 0});
  expectNear(l2Normalize(x, 1e-12, Precision::Double), {0.6, 0.8, 0, 0});
  expectNear(l2Normalize(x, 10, Precision::Double), {0.3, 0.4, 0, 0});
}

TEST(RowNumericsTest, ReduceMeanKeepsADimensionOfOne) {
  Tensor mean = reduceMean(Tensor({2, 2}, {1, 3, 5, 9}), Precision::Double);
  EXPECT_THAT(mean.shape, ElementsAre(2, 1));
  EXPECT_THAT(mean.values, ElementsAre(2, 7));
}

TEST(RowNumericsTest, PoolsEachSpanByItself) {
  Tensor x({4, 2}, {1, 2, 3, 6, 100, 200, 300, 400});
  Tensor spans({3, 2}, {0, 2, 2, 4, 0, 0});
  auto pooled = [&](PoolMode mode) {
    return pool(x, spans, mode, Precision::Double).values;
  };
  EXPECT_THAT(pooled(PoolMode::Mean), ElementsAre(2, 4, 200, 300, 0, 0));
  EXPECT_THAT(pooled(PoolMode::First), ElementsAre(1, 2, 100, 200, 0, 0));
  EXPECT_THAT(pooled(PoolMode::Last), ElementsAre(3, 6, 300, 400, 0, 0));
}

TEST(RowNumericsTest, ShortConvHasTheCurrentRowUnderItsLastTap) {
  // Two channels of three taps, rows 1, 2, 3 of the first; past rows are 10 and
  // 20.
  Tensor x({3, 2}, {1, 0, 2, 0, 3, 1}), past({2, 2}, {10, 0, 20, 0});
  Tensor taps({6}, {100, 10, 1, 0, 0, 7});
  auto conv = [&](int64_t position) {
    return shortConv(
               x, taps, past, [&](int64_t) { return RowRange{-position, 3}; },
               /*ahead=*/0, Precision::Double)
        .values;
  };
  EXPECT_THAT(conv(2), ElementsAre(1000 + 200 + 1, 0, 2000 + 10 + 2, 0,
                                   100 + 20 + 3, 7));
  // At position 1 only the latest of the past exists, at 0 none.
  EXPECT_THAT(conv(1), ElementsAre(200 + 1, 0, 2000 + 10 + 2, 0, 123, 7));
  EXPECT_THAT(conv(0), ElementsAre(1, 0, 12, 0, 123, 7));
}

TEST(RowNumericsTest, ShortConvHasTheCurrentRowUnderAnEarlierTap) {
  // Rows 1 and 2 are one text, row 3 another.
  Tensor x({3, 1}, {1, 2, 3}), past({2, 1}, {10, 20});
  Tensor taps({3}, {100, 10, 1});
  auto conv = [&](int64_t ahead) {
    return shortConv(
               x, taps, past,
               [](int64_t row) {
                 return row < 2 ? RowRange{0, 2} : RowRange{2, 3};
               },
               ahead, Precision::Double)
        .values;
  };
  EXPECT_THAT(conv(0), ElementsAre(1, 12, 3));
  EXPECT_THAT(conv(1), ElementsAre(12, 120, 30));
  EXPECT_THAT(conv(2), ElementsAre(120, 200, 300));
}

TEST(RowNumericsTest, RangeMaskShowsARowItsOwnText) {
  Tensor x({1, 2, 3}, {1, 2, 3, 4, 5, 6}), ranges({2, 2}, {0, 1, 1, 3});
  EXPECT_THAT(rangeMask(x, ranges).values,
              ElementsAre(1, -kInfinity, -kInfinity, -kInfinity, 5, 6));
}

// Distances -1, 0, 1 for two heads: -1 of head 0 is 1, of head 1 is 2, …
TEST(RowNumericsTest, RelativeBiasGoesByKeyMinusRow) {
  Tensor x({2, 2, 2}), table({6}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(relativeBias(x, table).values,
              ElementsAre(3, 5, 1, 3, 4, 6, 2, 4));
}

TEST(RowNumericsTest, SdpaAddsTheRelativeBiasOfEachHead) {
  // Values are the keys' numbers; scores are the biases alone.
  Tensor query({2, 2, 1}), key({2, 1, 1}), value({2, 1, 1}, {0, 1});
  Tensor table({6}, {0, 0, 0, 0, std::log(3), std::log(7)});
  SdpaParameters parameters;
  parameters.relative = &table;
  // Row 0 sees key 1 at distance 1, row 1 sees both at -1 and 0.
  expectNear(sdpa(query, key, value, parameters, Precision::Double),
             {0.75, 0.875, 0.5, 0.5});
}

TEST(RowNumericsTest, ConcatPutsInputsBehindOneAnother) {
  Tensor a({2, 1}, {1, 2}), b({2, 2}, {3, 4, 5, 6});
  Tensor joined = concat({a, b}, 1);
  EXPECT_THAT(joined.shape, ElementsAre(2, 3));
  EXPECT_THAT(joined.values, ElementsAre(1, 3, 4, 2, 5, 6));
  EXPECT_THAT(concat({b, b}, 0).shape, ElementsAre(4, 2));
}

TEST(RowNumericsTest, RotaryTurnsByPositionsOfRows) {
  Tensor x({2, 1, 2}, {1, 0, 1, 0}), positions({2}, {0, 3});
  expectNear(rotary(x, 7, {true, 1e4, 2, 1, nullptr, &positions}),
             {1, 0, std::cos(3), std::sin(3)});
}

} // namespace
} // namespace llmc::reference
