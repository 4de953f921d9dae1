// SPDX-License-Identifier: Apache-2.0
//
// Bounds of magnitudes: by hand on small cases, and never exceeded by random
// rows.

#include "compiler/Transforms/Magnitude.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace llmc::transforms {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

TEST(Magnitude, RowsOfAWeight) {
  RowMagnitudes weight;
  for (const std::vector<float> &row :
       {std::vector<float>{3, -4}, std::vector<float>{-6, 0}})
    weight.addRow(row.data(), 2);
  EXPECT_DOUBLE_EQ(weight.length, 6);
  EXPECT_DOUBLE_EQ(weight.sum, 7);
  EXPECT_DOUBLE_EQ(weight.largest, 6);
  EXPECT_DOUBLE_EQ(weight.total, std::sqrt(61.0));
}

TEST(Magnitude, AWeightThatIsNoNumberBoundsNothing) {
  const float row[] = {1, NAN};
  RowMagnitudes weight;
  weight.addRow(row, 2);
  EXPECT_EQ(weight.largest, kUnknown);
  EXPECT_EQ(weight.length, kUnknown);
  EXPECT_EQ(ofLinear({1, 2}, weight, 8).largest, kUnknown);
}

// A row whose only number is not 0 reaches the norm's bound.
TEST(Magnitude, NormsReachTheRootOfTheirSize) {
  Magnitude normed = ofNorm(16, 3);
  EXPECT_DOUBLE_EQ(normed.largest, 12);
  EXPECT_DOUBLE_EQ(normed.length, 12);
  EXPECT_DOUBLE_EQ(ofNorm(16, 3, 5).largest, 17);
}

TEST(Magnitude, LinearsTakeTheSmallerOfTwoBounds) {
  RowMagnitudes weight;
  const float row[] = {1, 1, 1, 1};
  weight.addRow(row, 4);
  // length 2 times length 2; largest 1 times sum 4.
  EXPECT_DOUBLE_EQ(ofLinear({10, 2}, weight, 1).largest, 4);
  EXPECT_DOUBLE_EQ(ofLinear({0.5, 10}, weight, 1).largest, 2);
  EXPECT_EQ(ofLinear({}, weight, 1).largest, kUnknown);
}

TEST(Magnitude, SumsProductsRotationsAndReshapes) {
  EXPECT_DOUBLE_EQ(ofSum({1, 2}, {3, 4}).largest, 4);
  EXPECT_DOUBLE_EQ(ofSum({1, 2}, {3, 4}).length, 6);
  EXPECT_DOUBLE_EQ(ofProduct({2, 5}, {3, 4}).largest, 6);
  EXPECT_DOUBLE_EQ(ofProduct({2, 5}, {3, 4}).length, 8);
  EXPECT_EQ(ofProduct({2, 5}, {}).largest, kUnknown);
  EXPECT_EQ(ofProduct({0, 0}, {}).largest, 0);
  EXPECT_DOUBLE_EQ(ofRotation({1, 10}).largest, std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(ofRotation({4, 5}).largest, 5);
  // Heads of a row are no longer than it; a row of heads may be.
  EXPECT_DOUBLE_EQ(ofReshape({3, 5}, 16, 4).length, 5);
  EXPECT_DOUBLE_EQ(ofReshape({3, 5}, 4, 16).length, 12);
}

// A gated unit behind a norm, as a model has it, on rows that try to be large.
TEST(Magnitude, RandomRowsStayWithinTheBounds) {
  constexpr int kSize = 8;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 200; ++round) {
    std::vector<float> gain(kSize), x(kSize), gate(kSize), up(kSize);
    for (std::vector<float> *numbers : {&gain, &x, &gate, &up})
      for (float &number : *numbers)
        number = normal(random) * std::exp(2 * normal(random));
    double squares = 0, largestGain = 0, left = 0, right = 0;
    for (float number : x)
      squares += double(number) * number;
    for (float number : gain)
      largestGain = std::max(largestGain, std::abs(double(number)));
    for (int i = 0; i < kSize; ++i) {
      double normed = x[i] / std::sqrt(squares / kSize) * gain[i];
      left += normed * gate[i];
      right += normed * up[i];
    }
    RowMagnitudes gates, ups;
    gates.addRow(gate.data(), kSize);
    ups.addRow(up.data(), kSize);
    Magnitude input = ofNorm(kSize, largestGain);
    Magnitude bound =
        ofProduct(ofLinear(input, gates, 1), ofLinear(input, ups, 1));
    EXPECT_LE(std::abs(left / (1 + std::exp(-left)) * right),
              bound.largest * (1 + 1e-9));
  }
}

} // namespace
} // namespace llmc::transforms
