// SPDX-License-Identifier: Apache-2.0
//
// Weight encodings against numbers computed from the formats' definitions by an
// independent numpy implementation.

#include "dialects/Graph/Encoding.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace {

using llmc::graph::Encoding;

std::vector<float> decode(Encoding encoding, const std::vector<uint8_t> &bytes,
                          int64_t numElements) {
  std::vector<float> values(numElements);
  llmc::graph::dequantizeRow(encoding, bytes.data(), numElements,
                             values.data());
  return values;
}

/// A block of pseudo-random bytes: x = (1103515245 x + 12345) mod 2^31, byte
/// x / 65536 mod 256; seed 1000 + the GGUF type number.
std::vector<uint8_t> randomBlock(const llmc::graph::EncodingFacts &facts) {
  std::vector<uint8_t> block;
  uint32_t x = 1000 + facts.ggmlType;
  for (int64_t i = 0; i < facts.blockBytes; ++i) {
    x = (x * 1103515245u + 12345u) & 0x7fffffff;
    block.push_back(x >> 16 & 255);
  }
  return block;
}

void storeHalf(std::vector<uint8_t> &block, size_t offset, uint16_t bits) {
  block[offset] = bits & 255;
  block[offset + 1] = bits >> 8;
}

constexpr uint16_t kHalf1 = 0x3c00, kHalf0p5 = 0x3800, kHalf0p25 = 0x3400;

/// Some values of randomBlock with d = 0.5 and dmin = 0.25: y[0], y[n/2 + 1],
/// y[n-1], the sum of (i + 1) y[i] and the sum of squares; all are exact.
struct Expected {
  Encoding encoding;
  std::vector<size_t> halves; // offsets of d and dmin
  double first, middle, last, weightedSum, sumOfSquares;
};

const Expected kExpected[] = {
    {Encoding::Q8_0, {0}, 13.5, -62.0, -46.0, 32.5, 44185.25},
    {Encoding::Q4_0, {0}, 0.0, 2.5, 0.0, -405.0, 180.5},
    {Encoding::Q4_K, {0, 2}, -7.5, -7.0, 30.5, 2386014.0, 7289342.5},
    {Encoding::Q5_K, {0, 2}, 284.0, 185.0, 49.75, 6527504.0, 18701662.0},
    {Encoding::Q6_K, {208}, -1254, -1512, 696, 1439786.5, 152759178.25},
    {Encoding::Q2_K, {80, 82}, -1.0, 11.5, 16.75, 154039.5, 16647.0},
    {Encoding::Q3_K, {108}, -12.0, 39.0, -10.0, -49346.5, 120776.0},
    {Encoding::IQ2_XXS, {0}, 7.5, 2.6875, 3.5, 21548.1875, 61250.81640625},
};

TEST(EncodingTest, RandomBlocksDecodeToIndependentNumbers) {
  for (const Expected &expected : kExpected) {
    const auto &facts = llmc::graph::encodingFacts(expected.encoding);
    SCOPED_TRACE(facts.name);
    std::vector<uint8_t> block = randomBlock(facts);
    storeHalf(block, expected.halves[0], kHalf0p5);
    if (expected.halves.size() > 1)
      storeHalf(block, expected.halves[1], kHalf0p25);
    std::vector<float> y =
        decode(expected.encoding, block, facts.blockElements);
    double weightedSum = 0, sumOfSquares = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      weightedSum += double(i + 1) * y[i];
      sumOfSquares += double(y[i]) * y[i];
    }
    EXPECT_EQ(y.front(), expected.first);
    EXPECT_EQ(y[y.size() / 2 + 1], expected.middle);
    EXPECT_EQ(y.back(), expected.last);
    EXPECT_EQ(weightedSum, expected.weightedSum);
    EXPECT_EQ(sumOfSquares, expected.sumOfSquares);
  }
}

TEST(EncodingTest, Q40HoldsElementJLowAndElementJPlus16High) {
  std::vector<uint8_t> block(18);
  storeHalf(block, 0, kHalf1);
  for (int j = 0; j < 16; ++j)
    block[2 + j] = static_cast<uint8_t>(j | (15 - j) << 4);
  std::vector<float> y = decode(Encoding::Q4_0, block, 32);
  float dot = 0;
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(y[i], i < 16 ? i - 8 : 23 - i) << i;
    dot += static_cast<float>(i) * y[i];
  }
  EXPECT_EQ(dot, -248);
}

TEST(EncodingTest, Q4KUnpacksSixBitScales) {
  std::vector<uint8_t> block = {0x00, 0x3c, 0x00, 0x3c, 0x41, 0x82, 0xc3, 0xc4,
                                0x45, 0x86, 0xc7, 0xc8, 0x41, 0x82, 0xc3, 0xff};
  block.resize(144, 0x21);
  uint8_t scales[8], minimums[8];
  llmc::graph::unpackKScales(block.data() + 4, scales, minimums);
  EXPECT_EQ(std::vector<int>(scales, scales + 8),
            (std::vector<int>{1, 2, 3, 4, 17, 34, 51, 63}));
  EXPECT_EQ(std::vector<int>(minimums, minimums + 8),
            (std::vector<int>{5, 6, 7, 8, 20, 40, 60, 63}));
  std::vector<float> y = decode(Encoding::Q4_K, block, 256);
  const float expected[8] = {-4, -2, -4, 0, -3, 28, -9, 63};
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(y[i], expected[i / 32]) << i;
  EXPECT_EQ(std::accumulate(y.begin(), y.end(), 0.0f), 2208);
}

TEST(EncodingTest, HalvesOfEveryKind) {
  EXPECT_EQ(llmc::graph::halfToFloat(0x0001), 0x1p-24f); // least subnormal
  EXPECT_EQ(llmc::graph::halfToFloat(0x83ff), -1023 * 0x1p-24f);
  EXPECT_EQ(llmc::graph::halfToFloat(0x0400), 0x1p-14f); // least normal
  EXPECT_EQ(llmc::graph::halfToFloat(0x7bff), 65504.0f);
  EXPECT_EQ(llmc::graph::halfToFloat(0xfc00),
            -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(llmc::graph::halfToFloat(0x7e00)));
  EXPECT_TRUE(std::signbit(llmc::graph::halfToFloat(0x8000)));
}

TEST(EncodingTest, SubnormalScalesKeepTheirValue) {
  std::vector<uint8_t> block(34, 3);
  storeHalf(block, 0, 0x0001);
  EXPECT_EQ(decode(Encoding::Q8_0, block, 32)[31], 3 * 0x1p-24f);
}

TEST(EncodingTest, PlainNumbers) {
  EXPECT_EQ(decode(Encoding::F32, {0, 0, 0xc0, 0x3f}, 1)[0], 1.5f);
  EXPECT_EQ(decode(Encoding::F16, {0x00, 0x3e, 0x01, 0x00}, 2)[1], 0x1p-24f);
  EXPECT_EQ(decode(Encoding::BF16, {0xc0, 0x3f, 0x40, 0xc0}, 2)[1], -3.0f);
}

TEST(EncodingTest, SizesAreCheckedNotWrapped) {
  using llmc::graph::encodedSizeInBytes;
  EXPECT_EQ(encodedSizeInBytes(Encoding::Q4_K, 512), 288);
  EXPECT_EQ(encodedSizeInBytes(Encoding::Q4_0, 33), std::nullopt);
  EXPECT_EQ(encodedSizeInBytes(Encoding::F32, -4), std::nullopt);
  EXPECT_EQ(encodedSizeInBytes(Encoding::F32, int64_t(1) << 62), std::nullopt);
}

TEST(EncodingTest, TypeNumbersAndNames) {
  using llmc::graph::ggmlTypeName;
  for (const auto &facts : llmc::graph::allEncodings()) {
    EXPECT_EQ(llmc::graph::encodingOfGgmlType(facts.ggmlType), facts.encoding);
    EXPECT_EQ(llmc::graph::encodingFacts(facts.encoding).name, facts.name);
    EXPECT_EQ(ggmlTypeName(facts.ggmlType), facts.name);
  }
  EXPECT_EQ(llmc::graph::encodingOfGgmlType(39), std::nullopt);
  EXPECT_EQ(ggmlTypeName(39), "MXFP4");
  EXPECT_EQ(ggmlTypeName(20), "IQ4_NL");
  EXPECT_EQ(ggmlTypeName(4), "Q4_2, removed");
  EXPECT_EQ(ggmlTypeName(200), "unknown");
}

} // namespace
