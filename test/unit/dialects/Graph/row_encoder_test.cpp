// SPDX-License-Identifier: Apache-2.0
//
// Quantized rows against the usual scale of the maximum, and against a brute
// force over scales.

#include "dialects/Graph/RowEncoder.h"

#include "dialects/Graph/Encoding.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using llmc::graph::encodeRow;
using llmc::graph::Encoding;
using llmc::graph::floatToHalf;
using llmc::graph::halfToFloat;
using llmc::graph::weightedError;

std::vector<float> roundTrip(Encoding encoding, const std::vector<float> &x) {
  auto count = static_cast<int64_t>(x.size());
  std::vector<uint8_t> bytes(*llmc::graph::encodedSizeInBytes(encoding, count));
  auto problem = encodeRow(encoding, x.data(), count, bytes.data());
  EXPECT_FALSE(problem) << *problem;
  std::vector<float> decoded(x.size());
  llmc::graph::dequantizeRow(encoding, bytes.data(), count, decoded.data());
  return decoded;
}

/// Numbers as weights of a layer are: a bell, some outliers.
std::vector<float> bell(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.04f);
  std::vector<float> x(count);
  for (float &value : x)
    value = normal(random) * (random() % 50 == 0 ? 4 : 1);
  return x;
}

std::vector<Encoding> quantized() {
  std::vector<Encoding> all;
  for (const auto &facts : llmc::graph::allEncodings())
    if (facts.ggmlType == llmc::graph::kNoGgmlType)
      all.push_back(facts.encoding);
  return all;
}

int64_t groupOf(Encoding encoding, size_t rowSize) {
  const auto &facts = llmc::graph::encodingFacts(encoding);
  return facts.isRow() ? static_cast<int64_t>(rowSize) : facts.blockElements;
}

/// Round to nearest with the scale of the maximum (and minimum), as tools do
/// that search nothing; numbers stored as the encoding stores them.
std::vector<float> roundByMaximum(Encoding encoding,
                                  const std::vector<float> &x) {
  const auto &facts = llmc::graph::encodingFacts(encoding);
  const bool isByte = facts.rowCodeBits == 8;
  auto stored = [&](double value) {
    return facts.isRow() ? static_cast<float>(value)
                         : halfToFloat(floatToHalf(static_cast<float>(value)));
  };
  std::vector<float> decoded(x.size());
  int64_t group = groupOf(encoding, x.size());
  for (size_t first = 0; first < x.size(); first += group) {
    double low = 0, high = 0;
    for (int64_t i = 0; i < group; ++i) {
      low = std::min<double>(low, x[first + i]);
      high = std::max<double>(high, x[first + i]);
    }
    float d, z = isByte ? 0 : 8;
    float least = isByte ? -128 : 0, most = isByte ? 127 : 15;
    if (llmc::graph::isAsymmetric(encoding)) {
      d = stored((high - low) / (most - least));
      z = static_cast<float>(std::nearbyint(least - low / d));
    } else {
      d = stored(std::max(-low, high) / (isByte ? 127 : 7));
    }
    for (int64_t i = 0; i < group; ++i) {
      auto q = static_cast<float>(std::nearbyint(double(x[first + i]) / d + z));
      decoded[first + i] = d * (std::clamp(q, least, most) - z);
    }
  }
  return decoded;
}

class RowEncoderTest : public testing::TestWithParam<Encoding> {};

TEST_P(RowEncoderTest, NeverWorseThanTheScaleOfTheMaximum) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<float> x = bell(256, seed);
    if (seed % 4 == 1) // all of one sign
      for (float &value : x)
        value = std::abs(value) + 0.01f;
    int64_t group = groupOf(GetParam(), x.size());
    std::vector<float> searched = roundTrip(GetParam(), x),
                       usual = roundByMaximum(GetParam(), x);
    for (size_t first = 0; first < x.size(); first += group)
      EXPECT_LE(weightedError(GetParam(), &x[first], &searched[first], group),
                weightedError(GetParam(), &x[first], &usual[first], group) *
                    (1 + 1e-5))
          << seed << " " << first;
  }
}

INSTANTIATE_TEST_SUITE_P(Quantized, RowEncoderTest,
                         testing::ValuesIn(quantized()), [](const auto &info) {
                           return std::string(
                               llmc::graph::encodingFacts(info.param).name);
                         });

/// The least error of 4000 scales, codes rounded to the nearest for each.
double bruteForce(const std::vector<float> &x) {
  float largest = 0;
  for (float value : x)
    largest = std::max(largest, std::abs(value));
  double least = INFINITY;
  std::vector<float> decoded(x.size());
  for (int sign : {-1, 1})
    for (int step = 1; step <= 2000; ++step) {
      float d = halfToFloat(floatToHalf(static_cast<float>(sign) * largest *
                                        static_cast<float>(step) / 8000));
      if (d == 0)
        continue;
      for (size_t i = 0; i < x.size(); ++i)
        decoded[i] = d * (std::clamp(std::nearbyint(x[i] / d), -8.0f, 7.0f));
      least = std::min(least,
                       weightedError(Encoding::I4_G32, x.data(), decoded.data(),
                                     static_cast<int64_t>(x.size())));
    }
  return least;
}

TEST(RowEncoder, CloseToABruteForceOverScales) {
  double best = 0, found = 0, usual = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::vector<float> x = bell(32, 100 + seed);
    double ofGroup = weightedError(Encoding::I4_G32, x.data(),
                                   roundTrip(Encoding::I4_G32, x).data(), 32);
    double least = bruteForce(x);
    EXPECT_LE(ofGroup, 1.25 * least) << seed;
    best += least;
    found += ofGroup;
    usual += weightedError(Encoding::I4_G32, x.data(),
                           roundByMaximum(Encoding::I4_G32, x).data(), 32);
  }
  EXPECT_LE(found, 1.05 * best);
  EXPECT_LE(found, 0.85 * usual); // the search is worth it
}

TEST(RowEncoder, NumbersOfTheGridAreExact) {
  std::vector<float> x;
  for (int i = 0; i < 64; ++i)
    x.push_back(0.25f * static_cast<float>(i % 16 - 8));
  EXPECT_EQ(roundTrip(Encoding::I4_G32, x), x);
  EXPECT_EQ(roundTrip(Encoding::I4_CHANNEL, x), x);
  for (float &value : x)
    value += 3;
  EXPECT_EQ(roundTrip(Encoding::I4_G64_ASYM, x), x);
  EXPECT_EQ(roundTrip(Encoding::I4_CHANNEL_ASYM, x), x);
}

TEST(RowEncoder, ZerosConstantsAndTinyNumbers) {
  for (Encoding encoding : quantized()) {
    SCOPED_TRACE(llmc::graph::encodingFacts(encoding).name);
    EXPECT_EQ(roundTrip(encoding, std::vector<float>(128, 0.0f)),
              std::vector<float>(128, 0.0f));
    for (float constant : {0.5f, -0.5f, 3e-7f, 1e-30f})
      for (float value : roundTrip(encoding, std::vector<float>(128, constant)))
        EXPECT_NEAR(value, constant, 0.08 * std::abs(constant) + 1e-7);
  }
}

TEST(RowEncoder, WhatCannotBeHeldIsSaid) {
  std::vector<uint8_t> bytes(1024);
  auto problem = [&](Encoding encoding, float value) {
    std::vector<float> x(128, 1.0f);
    x[5] = value;
    return encodeRow(encoding, x.data(), 128, bytes.data());
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (Encoding encoding : quantized()) {
    EXPECT_TRUE(problem(encoding, NAN));
    EXPECT_TRUE(problem(encoding, -kInfinity));
    EXPECT_FALSE(problem(encoding, 60000));
  }
  EXPECT_NE(problem(Encoding::F16, 70000)->find("number 5 is 70000"),
            std::string::npos);
  EXPECT_TRUE(problem(Encoding::I4_G32, 1e6f));
  EXPECT_FALSE(problem(Encoding::F32, 1e30f));
}

TEST(RowEncoder, HalvesAreRoundedToTheNearestEven) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float value = halfToFloat(half), next = halfToFloat(half + 1);
    EXPECT_EQ(floatToHalf(value), half);
    EXPECT_EQ(floatToHalf(-value), half | 0x8000);
    if (half == 0x7bff)
      continue;
    float middle = (value + next) / 2;
    EXPECT_EQ(floatToHalf(middle), bits % 2 == 0 ? half : half + 1);
    EXPECT_EQ(floatToHalf(std::nextafter(middle, 0.0f)), half);
    EXPECT_EQ(floatToHalf(std::nextafter(middle, 1e9f)), half + 1);
  }
  EXPECT_EQ(floatToHalf(65519.9f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520), 0x7c00);
  EXPECT_EQ(floatToHalf(NAN) & 0x7c00, 0x7c00);
}

} // namespace
