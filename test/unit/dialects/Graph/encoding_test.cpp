// SPDX-License-Identifier: Apache-2.0
//
// Weight encodings against numbers computed from the formats' definitions by an
// independent numpy implementation; those of the IQ, MXFP4 and TQ formats come
// from ggml's own dequantize_row functions.

#include "dialects/Graph/Encoding.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
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

/// Makes the scale of a randomBlock that has it in another form 0.5 or 0.25.
void setOddScale(Encoding encoding, std::vector<uint8_t> &block) {
  if (encoding == Encoding::MXFP4)
    block[0] = 126; // 2^(126 - 128), for codes that are halves
  if (encoding == Encoding::IQ1_M)
    for (int word = 0; word < 4; ++word) { // a nibble of 0x3800 each
      uint8_t nibble = kHalf0p5 >> 4 * word & 15;
      uint8_t &top = block[48 + 2 * word + 1];
      top = static_cast<uint8_t>((top & 15) | nibble << 4);
    }
}

/// Some values of randomBlock with d = 0.5 and dmin or m = 0.25: y[0],
/// y[n/2 + 1], y[n-1], the sum of (i + 1) y[i] and the sum of squares; all are
/// exact.
struct Expected {
  Encoding encoding;
  std::vector<size_t> halves; // offsets of d and dmin (or m)
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
    {Encoding::Q4_1, {0, 2}, 0.25, 3.25, 1.25, 2011.0, 625.5},
    {Encoding::Q5_0, {0}, 4.5, -8.0, -8.0, -1047.5, 739.5},
    {Encoding::Q5_1, {0, 2}, 13.75, 11.75, 9.75, 5010.5, 3255.5},
    {Encoding::IQ2_XS, {0}, -15.5, -11.5, -1.5625, -90832.625, 170430.85546875},
    {Encoding::IQ2_S, {0}, -9.5, -1.5, 2.5, 31567.3125, 229009.42578125},
    {Encoding::IQ3_XXS, {0}, -31.5, -115.5, 1.5, 24267.25, 1190726.3125},
    {Encoding::IQ3_S, {0}, 22.5, -10.5, -37.5, 1934.0, 978136.0},
    {Encoding::IQ1_S, {0}, 7.3125, 0.9375, -3.9375, -12509.5, 5628.3125},
    {Encoding::IQ1_M, {}, -6.1875, 0.9375, 5.0625, -2162.0, 3625.9375},
    {Encoding::IQ4_NL, {0}, -63.5, -24.5, -5.0, -7343.0, 41661.25},
    {Encoding::IQ4_XS, {0}, -159.0, 138.0, -2.5, -563945.5, 19606335.75},
    {Encoding::MXFP4, {}, -1.0, 1.5, 0.0, -171.75, 64.875},
    {Encoding::TQ1_0, {52}, 0.5, -0.5, 0.5, -1208.5, 42.5},
    {Encoding::TQ2_0, {64}, 1.0, 0.5, 1.0, 5247.0, 88.0},
};

TEST(EncodingTest, RandomBlocksDecodeToIndependentNumbers) {
  for (const Expected &expected : kExpected) {
    const auto &facts = llmc::graph::encodingFacts(expected.encoding);
    SCOPED_TRACE(facts.name);
    std::vector<uint8_t> block = randomBlock(facts);
    setOddScale(expected.encoding, block);
    if (!expected.halves.empty())
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

/// A row of an own encoding: its numbers of two or four bytes, then codes.
std::vector<uint8_t> ownRow(bool isChannel, const std::vector<float> &numbers,
                            const std::vector<uint16_t> &halves,
                            const std::vector<uint8_t> &codes) {
  std::vector<uint8_t> row;
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint32_t bits;
    std::memcpy(&bits, &numbers[i], 4);
    if (!isChannel)
      bits = halves[i];
    for (int byte = 0; byte < (isChannel ? 4 : 2); ++byte)
      row.push_back(static_cast<uint8_t>(bits >> 8 * byte));
  }
  row.insert(row.end(), codes.begin(), codes.end());
  return row;
}

// Element 2i is the low nibble of byte i. d = 0.5, z = 3.5.
TEST(EncodingTest, OwnFourBitEncodings) {
  for (const auto &facts : llmc::graph::allEncodings()) {
    if (facts.ggmlType != llmc::graph::kNoGgmlType || facts.rowCodeBits == 8)
      continue;
    SCOPED_TRACE(facts.name);
    int64_t count = facts.isRow() ? 96 : facts.blockElements;
    bool isAsymmetric = llmc::graph::isAsymmetric(facts.encoding);
    std::vector<float> numbers = {0.5f};
    if (isAsymmetric)
      numbers.push_back(3.5f);
    std::vector<uint8_t> codes;
    for (int64_t i = 0; i < count / 2; ++i)
      codes.push_back(static_cast<uint8_t>(i % 16 | (15 - i % 16) << 4));
    std::vector<uint8_t> row =
        ownRow(facts.isRow(), numbers, {kHalf0p5, 0x4300}, codes);
    ASSERT_EQ(llmc::graph::encodedSizeInBytes(facts.encoding, count),
              static_cast<int64_t>(row.size()));
    std::vector<float> y = decode(facts.encoding, row, count);
    for (int64_t i = 0; i < count; ++i) {
      int64_t byte = i / 2 % 16, q = i % 2 ? 15 - byte : byte;
      EXPECT_EQ(y[i], 0.5 * (q - (isAsymmetric ? 3.5 : 8))) << i;
    }
  }
}

TEST(EncodingTest, OwnEightBitChannels) {
  std::vector<uint8_t> codes;
  for (int i = -128; i < 128; ++i)
    codes.push_back(static_cast<uint8_t>(i));
  const float d = 0.3f; // no half
  std::vector<float> plain =
      decode(Encoding::I8_CHANNEL, ownRow(true, {d}, {}, codes), 256);
  std::vector<float> shifted =
      decode(Encoding::I8_CHANNEL_ASYM, ownRow(true, {d, -3}, {}, codes), 256);
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(plain[i], static_cast<float>(double(d) * (i - 128)));
    EXPECT_EQ(shifted[i], static_cast<float>(double(d) * (i - 125)));
  }
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
  EXPECT_EQ(encodedSizeInBytes(Encoding::I4_CHANNEL, 3, 64), 3 * 36);
  EXPECT_EQ(encodedSizeInBytes(Encoding::I8_CHANNEL_ASYM, 3, 64), 3 * 72);
  EXPECT_EQ(encodedSizeInBytes(Encoding::I4_CHANNEL, 3, 63), std::nullopt);
  EXPECT_EQ(encodedSizeInBytes(Encoding::I4_G64, 3, 96), std::nullopt);
  EXPECT_EQ(encodedSizeInBytes(Encoding::I8_CHANNEL, 1, INT64_MAX / 2),
            std::nullopt);
  EXPECT_EQ(encodedSizeInBytes(Encoding::F32, INT64_MAX / 4, 2), std::nullopt);
  EXPECT_EQ(encodedSizeInBytes(Encoding::Q8_0, -1, 32), std::nullopt);
}

TEST(EncodingTest, TypeNumbersAndNames) {
  using llmc::graph::ggmlTypeName;
  for (const auto &facts : llmc::graph::allEncodings()) {
    if (facts.ggmlType == llmc::graph::kNoGgmlType)
      continue;
    EXPECT_EQ(llmc::graph::encodingOfGgmlType(facts.ggmlType), facts.encoding);
    EXPECT_EQ(llmc::graph::encodingFacts(facts.encoding).name, facts.name);
    EXPECT_EQ(ggmlTypeName(facts.ggmlType), facts.name);
  }
  EXPECT_EQ(llmc::graph::encodingOfGgmlType(4), std::nullopt);
  EXPECT_EQ(llmc::graph::encodingOfGgmlType(~0u), std::nullopt);
  EXPECT_EQ(ggmlTypeName(39), "MXFP4");
  EXPECT_EQ(ggmlTypeName(20), "IQ4_NL");
  EXPECT_EQ(llmc::graph::encodingOfName("i4_g64_asym"), Encoding::I4_G64_ASYM);
  EXPECT_EQ(llmc::graph::encodingOfName("q4"), std::nullopt);
  EXPECT_EQ(ggmlTypeName(4), "Q4_2, removed");
  EXPECT_EQ(ggmlTypeName(200), "unknown");
}

} // namespace
