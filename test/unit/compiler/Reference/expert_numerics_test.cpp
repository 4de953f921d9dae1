// SPDX-License-Identifier: Apache-2.0
//
// The formulas of mixtures of experts against numbers worked out by hand.

#include "compiler/Reference/Numerics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>

namespace llmc::reference {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

// softmax of the logarithms of 1, 2, 3, 2 is 1/8, 2/8, 3/8, 2/8.
Tensor scores() {
  return Tensor({1, 4}, {0, std::log(2), std::log(3), std::log(2)});
}

TEST(ExpertNumericsTest, RouteTakesTheHighestSharesOfAll) {
  Routes routes = route(scores(), 3, /*isNormalized=*/false, Precision::Double);
  EXPECT_THAT(routes.experts.values, ElementsAre(2, 1, 3));
  EXPECT_THAT(routes.weights.values,
              Pointwise(DoubleNear(1e-12), {0.375, 0.25, 0.25}));
}

TEST(ExpertNumericsTest, NormalizedSharesAddUpToOne) {
  Routes routes = route(scores(), 2, /*isNormalized=*/true, Precision::Double);
  EXPECT_THAT(routes.experts.values, ElementsAre(2, 1));
  EXPECT_THAT(routes.weights.values, Pointwise(DoubleNear(1e-12), {0.6, 0.4}));
}

TEST(ExpertNumericsTest, EqualScoresGoToTheLowerIndexRowByRow) {
  Tensor ties({2, 4}, {1, 1, 1, 1, 0, 7, 7, 7});
  Routes routes = route(ties, 2, /*isNormalized=*/true, Precision::Double);
  EXPECT_THAT(routes.experts.values, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(routes.weights.values, ElementsAre(0.5, 0.5, 0.5, 0.5));
}

// Expert e of three has the one row [e + 1, 10 (e + 1)].
void rowOf(int64_t index, float *row) {
  row[0] = static_cast<float>(index + 1);
  row[1] = 10 * row[0];
}

TEST(ExpertNumericsTest, ExpertLinearReadsTheRowsOfTheExpert) {
  Tensor x({2, 2}, {1, 0, 0, 1}), experts({2, 2}, {2, 0, 1, 1});
  Tensor y = expertLinear(x, experts, 3, 1, rowOf, Precision::Double);
  EXPECT_THAT(y.shape, ElementsAre(2, 2, 1));
  EXPECT_THAT(y.values, ElementsAre(3, 1, 20, 20));
}

TEST(ExpertNumericsTest, ExpertLinearTakesAnInputForEachExpert) {
  Tensor x({1, 2, 2}, {1, 0, 0, 1}), experts({1, 2}, {1, 0});
  EXPECT_THAT(expertLinear(x, experts, 3, 1, rowOf, Precision::Double).values,
              ElementsAre(2, 10));
}

TEST(ExpertNumericsTest, AnExpertBeyondTheLastCountsAsTheLast) {
  Tensor x({1, 2}, {1, 0}), experts({1, 2}, {3, -1});
  EXPECT_THAT(expertLinear(x, experts, 3, 1, rowOf, Precision::Double).values,
              ElementsAre(3, 3));
}

TEST(ExpertNumericsTest, WeightedSumAddsUpOverExperts) {
  Tensor x({2, 2, 2}, {1, 2, 10, 20, 3, 4, 30, 40});
  Tensor weights({2, 2}, {1, 0.5, 0, 2});
  Tensor y = weightedSum(x, weights, Precision::Double);
  EXPECT_THAT(y.shape, ElementsAre(2, 2));
  EXPECT_THAT(y.values, ElementsAre(6, 12, 60, 80));
}

} // namespace
} // namespace llmc::reference
