// SPDX-License-Identifier: Apache-2.0
//
// The formulas of the reference evaluator against numbers worked out by hand or
// from the ops' definitions elsewhere.

#include "compiler/Reference/Numerics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace {

using llmc::reference::broadcast;
using llmc::reference::causalMask;
using llmc::reference::dequantize;
using llmc::reference::gelu;
using llmc::reference::geluTanh;
using llmc::reference::linear;
using llmc::reference::matmul;
using llmc::reference::Precision;
using llmc::reference::quantize;
using llmc::reference::QuantizedTensor;
using llmc::reference::rmsNorm;
using llmc::reference::rotary;
using llmc::reference::sdpa;
using llmc::reference::SdpaParameters;
using llmc::reference::silu;
using llmc::reference::slice;
using llmc::reference::softmax;
using llmc::reference::Tensor;
using llmc::reference::transpose;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// 1, 2, 3, …
Tensor counting(llvm::ArrayRef<int64_t> shape) {
  Tensor tensor(shape);
  std::iota(tensor.values.begin(), tensor.values.end(), 1);
  return tensor;
}

void expectNear(const Tensor &tensor, const std::vector<double> &expected,
                double tolerance) {
  EXPECT_THAT(tensor.values, Pointwise(DoubleNear(tolerance), expected));
}

// Largest magnitude 127 (or 254): a scale of 1 (or 2), so that codes are the
// numbers rounded, halves to even.
TEST(NumericsTest, QuantizesARowToWholeCodes) {
  Tensor x({2, 64});
  x.values[0] = -127;
  x.values[1] = 0.5;
  x.values[2] = 1.5;
  x.values[40] = 2.5;
  x.values[64] = 5; // 2.5 scales
  x.values[127] = 254;
  QuantizedTensor row = quantize(x, 0);
  EXPECT_THAT(row.scales.values, ElementsAre(1, 2));
  EXPECT_THAT(row.sums.values, ElementsAre(-125, 2, 4, 254));
  Tensor codes({2, 64});
  codes.values[0] = -127;
  codes.values[2] = codes.values[40] = codes.values[64] = 2;
  codes.values[127] = 127;
  EXPECT_EQ(row.codes.values, codes.values);
  EXPECT_EQ(row.codes.shape, x.shape);
  EXPECT_EQ(dequantize(row.codes, row.scales).values[127], 254);
}

TEST(NumericsTest, QuantizesBlocksByThemselves) {
  Tensor x({1, 96});
  x.values[31] = 127;
  x.values[32] = -12.7; // scale 0.1
  x.values[33] = 0.3;
  QuantizedTensor blocks = quantize(x, 32);
  expectNear(blocks.scales, {1, 0.1, 0}, 1e-12);
  expectNear(blocks.sums, {127, -12.4, 0}, 1e-12);
  EXPECT_EQ(blocks.codes.values[33], 3);
  EXPECT_EQ(blocks.codes.values[64], 0);
  expectNear(dequantize(blocks.codes, blocks.scales), x.values, 1e-12);
}

// Head dimension 8, base 10000, position 3, x = 1 … 8.
TEST(NumericsTest, RotaryTurnsHalfSplitOrAdjacentPairs) {
  Tensor x = counting({1, 8});
  expectNear(rotary(x, 3, {false, 10000, 8, 1, nullptr}),
             {-1.69559, 0.13755, 2.78868, 3.97598, -4.80884, 6.32306, 7.08684,
              8.01196},
             1e-5);
  expectNear(rotary(x, 3, {true, 10000, 8, 1, nullptr}),
             {-1.27223, -1.83886, 1.68393, 4.70791, 4.81778, 6.14728, 6.97597,
              8.02096},
             1e-5);
}

TEST(NumericsTest, RotaryLeavesElementsBeyondItsWidth) {
  expectNear(rotary(counting({1, 10}), 2, {false, 10000, 4, 1, nullptr}),
             {-3.14404, 1.91961, -0.33914, 4.0392, 5, 6, 7, 8, 9, 10}, 1e-5);
}

// A model with llama-3 scaling stores factors; frequencies must come out as the
// scaling rule says (64 wide, base 5e5, factor 32, low 1, high 4, original
// length 8192). A vector (1, 0) turned at position 1 shows each angle.
TEST(NumericsTest, RotaryDividesFrequenciesByFactors) {
  const std::pair<int, double> scaled[] = {{0, 1},
                                           {14, 3.211446e-3},
                                           {15, 1.290548e-3},
                                           {16, 4.295568e-4},
                                           {17, 9.708288e-5},
                                           {18, 1.946164e-5},
                                           {31, 9.418307e-8}};
  Tensor factors({32}), x({1, 64});
  std::fill(factors.values.begin(), factors.values.end(), 1.0);
  std::fill(x.values.begin(), x.values.begin() + 32, 1.0);
  for (auto [i, frequency] : scaled)
    factors.values[i] = std::pow(5e5, -2.0 * i / 64) / frequency;
  Tensor y = rotary(x, 1, {false, 5e5, 64, 1, &factors});
  for (auto [i, frequency] : scaled)
    EXPECT_NEAR(y.values[32 + i] / std::sin(frequency), 1, 1e-6) << i;
}

TEST(NumericsTest, RotaryScalesPositions) {
  Tensor x = counting({1, 2, 4});
  EXPECT_EQ(rotary(x, 8, {true, 100, 4, 0.25, nullptr}).values,
            rotary(x, 2, {true, 100, 4, 1, nullptr}).values);
}

TEST(NumericsTest, RotaryCountsPositionsRowByRow) {
  Tensor rows = counting({2, 1, 4});
  Tensor second({1, 1, 4}, {5, 6, 7, 8});
  Tensor turned = rotary(rows, 3, {true, 100, 4, 1, nullptr});
  EXPECT_EQ(slice(turned, 0, 1, 1).values,
            rotary(second, 4, {true, 100, 4, 1, nullptr}).values);
}

TEST(NumericsTest, RmsNormPerHead) {
  Tensor y = rmsNorm(Tensor({1, 2}, {3, 4}), Tensor({2}, {2, 2}), 1e-6,
                     Precision::Double);
  expectNear(y, {1.69706, 2.26274}, 1e-5);
}

TEST(NumericsTest, RmsNormOfValuesFarFromOne) {
  for (auto [x, expected] : {std::pair(300.0, 1.0), std::pair(60000.0, 1.0),
                             std::pair(1e-4, 0.0995037)}) {
    Tensor row({2048}), gain({2048});
    std::fill(row.values.begin(), row.values.end(), x);
    std::fill(gain.values.begin(), gain.values.end(), 1.0);
    EXPECT_NEAR(rmsNorm(row, gain, 1e-6, Precision::Double).values[7], expected,
                1e-6);
  }
}

TEST(NumericsTest, SoftmaxOfARowWithNothingVisibleIsZero) {
  Tensor scores({3, 4});
  for (int j = 0; j < 4; ++j)
    scores.values[j] = -kInfinity;
  scores.values[10] = -kInfinity;
  Tensor weights = softmax(scores, Precision::Double);
  Tensor values({4, 1}, {1, 2, 3, 4});
  expectNear(matmul(weights, values, false, Precision::Double),
             {0, 2.5, 7.0 / 3}, 1e-12);
}

// Query heads 0 and 1 read KV head 0, heads 2 and 3 KV head 1, whatever the
// head dimension.
TEST(NumericsTest, SdpaReadsTheKvHeadOfTheGroup) {
  for (int64_t dim : {5, 6, 7, 64, 80}) {
    Tensor query = counting({3, 4, dim}), key = counting({1, 2, dim});
    Tensor value({1, 2, dim});
    for (int64_t i = 0; i < 2 * dim; ++i)
      value.values[i] = static_cast<double>(10 * (i / dim) + i % dim + 1);
    Tensor y = sdpa(query, key, value, {}, Precision::Double);
    for (int64_t i = 0; i < 3 * 4 * dim; ++i)
      EXPECT_EQ(y.values[i], 10 * (i / dim % 4 / 2) + i % dim + 1);
  }
}

TEST(NumericsTest, SdpaHidesLaterKeys) {
  Tensor query({2, 1, 2}), key({4, 1, 2}), value = counting({4, 1, 2});
  // Row t of position 1 sees keys 0 … 1 + t; all scores are equal.
  SdpaParameters parameters;
  parameters.causal = true;
  parameters.position = 1;
  expectNear(sdpa(query, key, value, parameters, Precision::Double),
             {2, 3, 3, 4}, 1e-12);
  // Of which a window of 1 leaves the last.
  parameters.window = 1;
  expectNear(sdpa(query, key, value, parameters, Precision::Double),
             {3, 4, 5, 6}, 1e-12);
}

// Sequences of one and three rows behind one another, and a row of neither.
TEST(NumericsTest, SdpaSeesTheRangeOfItsRow) {
  Tensor query({5, 1, 1}), key({4, 1, 1}), value = counting({4, 1, 1});
  Tensor ranges({5, 2}, {0, 1, 1, 4, 1, 4, 1, 4, 4, 4});
  SdpaParameters parameters;
  parameters.ranges = &ranges;
  expectNear(sdpa(query, key, value, parameters, Precision::Double),
             {1, 3, 3, 3, 0}, 1e-12);
}

// A mask that hides all keys, none, all but the third.
TEST(NumericsTest, SdpaAddsTheBias) {
  Tensor query({3, 1, 4}), key = counting({4, 1, 4}), value({4, 1, 4});
  for (size_t i = 0; i < value.values.size(); ++i)
    value.values[i] = static_cast<double>(i / 4 + 1);
  Tensor bias({3, 1, 4}, {-kInfinity, -kInfinity, -kInfinity, -kInfinity, 0, 0,
                          0, 0, -kInfinity, -kInfinity, 0, -kInfinity});
  SdpaParameters parameters;
  parameters.bias = &bias;
  Tensor y = sdpa(query, key, value, parameters, Precision::Double);
  expectNear(y, {0, 0, 0, 0, 2.5, 2.5, 2.5, 2.5, 3, 3, 3, 3}, 1e-12);
}

// Scores 0 and 100 capped to 2 tanh(50) = 2.
TEST(NumericsTest, SdpaCapsScores) {
  Tensor query({1, 1, 1}, {10}), key({2, 1, 1}, {0, 10});
  Tensor value({2, 1, 1}, {0, 1});
  SdpaParameters parameters;
  parameters.softCap = 2;
  double weight = std::exp(2.0) / (1 + std::exp(2.0));
  expectNear(sdpa(query, key, value, parameters, Precision::Double), {weight},
             1e-12);
}

TEST(NumericsTest, SdpaOfLargeScores) {
  Tensor query({1, 1, 128}), key({5, 1, 128}), value({5, 1, 128});
  std::fill(query.values.begin(), query.values.end(), 30.0);
  std::fill(key.values.begin(), key.values.end(), 30.0);
  for (size_t i = 0; i < value.values.size(); ++i)
    value.values[i] = static_cast<double>(i / 128);
  SdpaParameters parameters;
  parameters.scale = 1 / std::sqrt(128.0);
  Tensor y = sdpa(query, key, value, parameters, Precision::Single);
  EXPECT_NEAR(y.values[0], 2.0, 1e-6);
}

TEST(NumericsTest, CausalMaskCountsFromThePosition) {
  Tensor y = causalMask(counting({1, 2, 3}), 1, 0);
  EXPECT_THAT(y.values, ElementsAre(1, 2, -kInfinity, 4, 5, 6));
  y = causalMask(counting({1, 2, 3}), 1, 2);
  EXPECT_THAT(y.values, ElementsAre(1, 2, -kInfinity, -kInfinity, 5, 6));
}

TEST(NumericsTest, MatmulBroadcastsLeadingDimensions) {
  Tensor lhs = counting({2, 2, 1, 2}); // (1 2) (3 4) (5 6) (7 8)
  Tensor rhs({2, 1, 2, 1}, {1, 10, 2, 20});
  EXPECT_THAT(matmul(lhs, rhs, false, Precision::Double).values,
              ElementsAre(21, 43, 130, 174));
  rhs.shape = {2, 1, 1, 2};
  EXPECT_THAT(matmul(lhs, rhs, true, Precision::Double).values,
              ElementsAre(21, 43, 130, 174));
}

// K = 4096, x = 8, w = 8 then -8 then 0: partial sums of 131072 leave 64.
TEST(NumericsTest, LinearAddsUpInFullPrecision) {
  Tensor x({1, 4096});
  std::fill(x.values.begin(), x.values.end(), 8.0);
  auto row = [](int64_t, float *weights) {
    for (int k = 0; k < 4096; ++k)
      weights[k] = k < 2048 ? 8.0f : k < 4095 ? -8.0f : 0.0f;
  };
  for (Precision precision : {Precision::Double, Precision::Single})
    EXPECT_EQ(linear(x, 1, row, precision).values[0], 64);
}

TEST(NumericsTest, BroadcastRepeatsMissingAndUnitDimensions) {
  auto plus = [](double x, double y) { return x + y; };
  EXPECT_THAT(broadcast(counting({2, 2}), Tensor({2}, {10, 20}), plus).values,
              ElementsAre(11, 22, 13, 24));
  EXPECT_THAT(
      broadcast(counting({2, 2}), Tensor({2, 1}, {10, 20}), plus).values,
      ElementsAre(11, 12, 23, 24));
}

TEST(NumericsTest, ViewsMoveElements) {
  Tensor y = transpose(counting({2, 3}), {1, 0});
  EXPECT_THAT(y.values, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(slice(counting({2, 4}), 1, 1, 2).values, ElementsAre(2, 3, 6, 7));
}

// Values of the definitions to seven digits.
TEST(NumericsTest, Activations) {
  EXPECT_NEAR(silu(1), 0.7310586, 1e-7);
  EXPECT_NEAR(silu(-2), -0.2384058, 1e-7);
  EXPECT_EQ(silu(-1000), 0);
  EXPECT_NEAR(gelu(1), 0.8413447, 1e-7);
  EXPECT_NEAR(geluTanh(1), 0.8411920, 1e-7);
}

} // namespace
