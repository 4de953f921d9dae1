// SPDX-License-Identifier: Apache-2.0
//
// Packed weights, read back by an unpacker written from docs/layouts.md alone,
// are the numbers that the file's bytes encode.

#include "compiler/Serialization/PackWeight.h"

#include "codegen/Lowering/WeightType.h"
#include "dialects/Graph/RowEncoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using llmc::codegen::WeightLayout;
using llmc::graph::Encoding;
using llmc::graph::halfToFloat;
using llmc::serialization::WeightPacker;

namespace {

/// docs/layouts.md in words: where planes lie and what their bits mean. It
/// shares no code with the packer or with WeightLayout.
class Unpacker {
public:
  Unpacker(Encoding encoding, int64_t rows, int64_t columns,
           const std::vector<uint8_t> &bytes)
      : encoding(encoding), bytes(bytes), tiles((rows + 15) / 16),
        columns((columns + 3) / 4 * 4) {}

  float value(int64_t n, int64_t k) const {
    switch (encoding) {
    case Encoding::F32: {
      float result;
      uint32_t word = unitWord(n, k, 1, n % 4);
      std::memcpy(&result, &word, 4);
      return result;
    }
    case Encoding::F16:
      return halfToFloat(code16(n, k));
    case Encoding::BF16: {
      uint32_t word = static_cast<uint32_t>(code16(n, k)) << 16;
      float result;
      std::memcpy(&result, &word, 4);
      return result;
    }
    case Encoding::Q8_0:
      return half(1, 8, 32, n, k) * code8(n, k);
    case Encoding::Q4_0:
      return half(1, 8, 32, n, k) * (code4(n, k) - 8);
    case Encoding::Q4_K:
      return kValue(n, k, code4(n, k));
    case Encoding::Q5_K: {
      uint32_t word = rowWord(2, 16, 32, n, k);
      int64_t o = k % 32 / 8, h = k % 8 / 4, b = k % 4;
      return kValue(n, k, code4(n, k) + 16 * (word >> (8 * b + 2 * o + h) & 1));
    }
    case Encoding::Q6_K: {
      uint32_t word = rowWord(1, 16, 16, n, k);
      int64_t o = k % 16 / 8, h = k % 8 / 4, b = k % 4;
      int q = code4(n, k) + 16 * (word >> (8 * b + 2 * (2 * o + h)) & 3);
      auto scale = static_cast<int8_t>(element(2, 4, 16, n, k)[n % 4]);
      return half(3, 8, 256, n, k) * scale * (q - 32);
    }
    case Encoding::Q2_K:
      return real(1, 16, n, k) * code8(n, k) + real(2, 16, n, k);
    case Encoding::Q3_K:
    case Encoding::IQ2_XS:
    case Encoding::IQ2_S:
    case Encoding::IQ1_M:
      return real(1, 16, n, k) * code8(n, k);
    case Encoding::IQ2_XXS:
    case Encoding::Q5_0:
    case Encoding::IQ3_XXS:
    case Encoding::IQ3_S:
    case Encoding::IQ1_S:
    case Encoding::TQ1_0:
    case Encoding::TQ2_0:
      return real(1, 32, n, k) * code8(n, k);
    case Encoding::Q5_1:
      return real(1, 32, n, k) * code8(n, k) + real(2, 32, n, k);
    case Encoding::Q4_1:
      return half(1, 8, 32, n, k) * code4(n, k) + half(2, 8, 32, n, k);
    case Encoding::IQ4_NL:
      return half(1, 8, 32, n, k) * kIq4[code4(n, k)];
    case Encoding::IQ4_XS:
      return real(1, 32, n, k) * kIq4[code4(n, k)];
    case Encoding::MXFP4:
      return std::ldexp(kE2M1[code4(n, k)],
                        element(1, 4, 32, n, k)[n % 4] - 127);
    case Encoding::I4_G32:
    case Encoding::I4_G64:
    case Encoding::I4_G128:
    case Encoding::I4_CHANNEL:
      return own(n, k, code4(n, k), 8);
    case Encoding::I4_G32_ASYM:
    case Encoding::I4_G64_ASYM:
    case Encoding::I4_G128_ASYM:
    case Encoding::I4_CHANNEL_ASYM:
      return own(n, k, code4(n, k), ownNumber(2, n, k));
    case Encoding::I8_CHANNEL:
      return own(n, k, code8(n, k), 0);
    case Encoding::I8_CHANNEL_ASYM:
      return own(n, k, code8(n, k), ownNumber(2, n, k));
    }
    return 0;
  }

  /// Bytes of all planes.
  int64_t size() const { return planeOffset(4); }

private:
  /// Bits that a quad of four rows needs for one column, in each plane.
  std::vector<double> planeBytesPerColumn() const {
    switch (encoding) {
    case Encoding::F32:
      return {16.0};
    case Encoding::F16:
    case Encoding::BF16:
      return {8.0};
    case Encoding::Q8_0:
      return {4.0, 8.0 / 32};
    case Encoding::Q4_0:
      return {2.0, 8.0 / 32};
    case Encoding::Q4_K:
      return {2.0, 64.0 / 256};
    case Encoding::Q5_K:
      return {2.0, 64.0 / 256, 16.0 / 32};
    case Encoding::Q6_K:
      return {2.0, 16.0 / 16, 4.0 / 16, 8.0 / 256};
    case Encoding::Q2_K:
      return {4.0, 16.0 / 16, 16.0 / 16};
    case Encoding::Q3_K:
    case Encoding::IQ2_XS:
    case Encoding::IQ2_S:
    case Encoding::IQ1_M:
      return {4.0, 16.0 / 16};
    case Encoding::IQ2_XXS:
    case Encoding::Q5_0:
    case Encoding::IQ3_XXS:
    case Encoding::IQ3_S:
    case Encoding::IQ1_S:
    case Encoding::TQ1_0:
    case Encoding::TQ2_0:
      return {4.0, 16.0 / 32};
    case Encoding::Q5_1:
      return {4.0, 16.0 / 32, 16.0 / 32};
    case Encoding::Q4_1:
      return {2.0, 8.0 / 32, 8.0 / 32};
    case Encoding::IQ4_NL:
      return {2.0, 8.0 / 32};
    case Encoding::IQ4_XS:
      return {2.0, 16.0 / 32};
    case Encoding::MXFP4:
      return {2.0, 4.0 / 32};
    default:
      return ownPlaneBytes();
    }
  }

  /// Columns of a scale of llmc's own encodings; 0 of others.
  int64_t ownGroup() const {
    switch (encoding) {
    case Encoding::I4_G32:
    case Encoding::I4_G32_ASYM:
      return 32;
    case Encoding::I4_G64:
    case Encoding::I4_G64_ASYM:
      return 64;
    case Encoding::I4_G128:
    case Encoding::I4_G128_ASYM:
      return 128;
    case Encoding::I4_CHANNEL:
    case Encoding::I4_CHANNEL_ASYM:
    case Encoding::I8_CHANNEL:
    case Encoding::I8_CHANNEL_ASYM:
      return columns;
    default:
      return 0;
    }
  }
  bool isOwnChannel() const {
    return std::string(llmc::graph::encodingFacts(encoding).name)
               .find("CHANNEL") != std::string::npos;
  }
  std::vector<double> ownPlaneBytes() const {
    bool isByte = encoding == Encoding::I8_CHANNEL ||
                  encoding == Encoding::I8_CHANNEL_ASYM;
    double numbers =
        (isOwnChannel() ? 16.0 : 8.0) / static_cast<double>(ownGroup());
    std::vector<double> planes = {isByte ? 4.0 : 2.0, numbers};
    if (llmc::graph::isAsymmetric(encoding))
      planes.push_back(numbers);
    return planes;
  }
  float ownNumber(size_t plane, int64_t n, int64_t k) const {
    return isOwnChannel() ? real(plane, columns, n, k)
                          : half(plane, 8, ownGroup(), n, k);
  }
  float own(int64_t n, int64_t k, int q, double zero) const {
    return static_cast<float>(ownNumber(1, n, k) * (q - zero));
  }

  static constexpr float kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
  static constexpr float kE2M1[16] = {0,  0.5F,  1,  1.5F,  2,  3,  4,  6,
                                      -0, -0.5F, -1, -1.5F, -2, -3, -4, -6};

  /// Where a plane begins; past the last one: the end.
  int64_t planeOffset(size_t plane) const {
    std::vector<double> planes = planeBytesPerColumn();
    int64_t offset = 0;
    for (size_t i = 0; i < std::min(plane, planes.size()); ++i) {
      auto size = static_cast<int64_t>(planes[i] * 4 * tiles * columns);
      offset += (size + 255) / 256 * 256;
    }
    return offset;
  }

  /// [N/16][K/columnsPerElement][4 quads] elements of `elementBytes`.
  const uint8_t *element(size_t plane, int64_t elementBytes,
                         int64_t columnsPerElement, int64_t n,
                         int64_t k) const {
    int64_t groups = columns / columnsPerElement;
    int64_t index =
        ((n / 16) * groups + k / columnsPerElement) * 4 + n % 16 / 4;
    return &bytes.at(planeOffset(plane) + index * elementBytes);
  }

  static uint32_t loadWord(const uint8_t *from) {
    return from[0] | from[1] << 8 | from[2] << 16 |
           static_cast<uint32_t>(from[3]) << 24;
  }

  uint32_t rowWord(size_t plane, int64_t elementBytes,
                   int64_t columnsPerElement, int64_t n, int64_t k) const {
    return loadWord(element(plane, elementBytes, columnsPerElement, n, k) +
                    4 * (n % 4));
  }

  uint32_t unitWord(int64_t n, int64_t k, int64_t columnsPerUnit,
                    int64_t word) const {
    return loadWord(element(0, 16, columnsPerUnit, n, k) + 4 * word);
  }

  float half(size_t plane, int64_t elementBytes, int64_t columnsPerElement,
             int64_t n, int64_t k) const {
    const uint8_t *at =
        element(plane, elementBytes, columnsPerElement, n, k) + 2 * (n % 4);
    return halfToFloat(static_cast<uint16_t>(at[0] | at[1] << 8));
  }

  float real(size_t plane, int64_t columnsPerElement, int64_t n,
             int64_t k) const {
    uint32_t word = rowWord(plane, 16, columnsPerElement, n, k);
    float result;
    std::memcpy(&result, &word, 4);
    return result;
  }

  int code4(int64_t n, int64_t k) const {
    uint32_t word = unitWord(n, k, 8, n % 4);
    int64_t byte = k % 4, isHigh = k % 8 / 4;
    return word >> (8 * byte + 4 * isHigh) & 15;
  }

  int code8(int64_t n, int64_t k) const {
    return static_cast<int8_t>(unitWord(n, k, 4, n % 4) >> (8 * (k % 4)));
  }

  uint16_t code16(int64_t n, int64_t k) const {
    uint32_t word = unitWord(n, k, 2, 2 * (k % 2) + n % 4 / 2);
    return static_cast<uint16_t>(word >> (16 * (n % 2)));
  }

  /// d·sc·q − dmin·m with the header of Q4_K and Q5_K.
  float kValue(int64_t n, int64_t k, int q) const {
    const uint8_t *header = element(1, 64, 256, n, k);
    int64_t r = n % 4, j = k % 256 / 32;
    uint32_t halves = loadWord(header + 4 * r);
    float d = halfToFloat(static_cast<uint16_t>(halves));
    float dmin = halfToFloat(static_cast<uint16_t>(halves >> 16));
    int64_t pair = j / 2, bit = 8 * r + 4 * (j % 2);
    uint32_t scales = loadWord(header + 4 * (4 + 2 * pair)) >> bit;
    uint32_t minimums = loadWord(header + 4 * (5 + 2 * pair)) >> bit;
    uint32_t high = loadWord(header + 4 * (12 + pair)) >> bit;
    uint32_t sc = (scales & 15) | (high & 3) << 4;
    uint32_t m = (minimums & 15) | (high >> 2 & 3) << 4;
    return d * static_cast<float>(sc) * static_cast<float>(q) -
           dmin * static_cast<float>(m);
  }

  Encoding encoding;
  const std::vector<uint8_t> &bytes;
  int64_t tiles;
  int64_t columns;
};

std::vector<uint8_t> pack(Encoding encoding, const WeightLayout &layout,
                          const std::vector<llmc::graph::RowSource> &sources) {
  std::vector<uint8_t> packed(layout.bytes, 0);
  WeightPacker packer(encoding, layout, sources);
  EXPECT_EQ(packer.packTiles(0, packer.numTiles(), packed.data()),
            std::nullopt);
  return packed;
}

/// Random bytes whose halves are finite and not huge.
std::vector<uint8_t> randomRows(Encoding encoding, int64_t rows,
                                int64_t columns) {
  const auto &facts = llmc::graph::encodingFacts(encoding);
  std::mt19937 random(static_cast<unsigned>(encoding) + 1);
  std::vector<uint8_t> bytes(
      *llmc::graph::encodedSizeInBytes(encoding, rows, columns));
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(random());
  // Offsets of the upper bytes of floating-point numbers within a block.
  std::vector<int64_t> exponents;
  switch (encoding) {
  case Encoding::F32:
    exponents = {3};
    break;
  case Encoding::F16:
  case Encoding::BF16:
  case Encoding::Q8_0:
  case Encoding::Q4_0:
  case Encoding::Q5_0:
  case Encoding::IQ4_NL:
  case Encoding::IQ4_XS:
  case Encoding::IQ1_S:
  case Encoding::IQ2_XXS:
  case Encoding::IQ2_XS:
  case Encoding::IQ2_S:
  case Encoding::IQ3_XXS:
  case Encoding::IQ3_S:
  case Encoding::I4_G32:
  case Encoding::I4_G64:
  case Encoding::I4_G128:
    exponents = {1};
    break;
  case Encoding::Q4_K:
  case Encoding::Q5_K:
  case Encoding::Q4_1:
  case Encoding::Q5_1:
  case Encoding::I4_G32_ASYM:
  case Encoding::I4_G64_ASYM:
  case Encoding::I4_G128_ASYM:
    exponents = {1, 3};
    break;
  case Encoding::I4_CHANNEL:
  case Encoding::I8_CHANNEL:
    exponents = {3};
    break;
  case Encoding::I4_CHANNEL_ASYM:
  case Encoding::I8_CHANNEL_ASYM:
    exponents = {3, 7};
    break;
  case Encoding::IQ1_M: // the top nibble of d
    exponents = {55};
    break;
  case Encoding::MXFP4: // a power of two is the whole scale
    break;
  case Encoding::TQ1_0:
    exponents = {53};
    break;
  case Encoding::TQ2_0:
    exponents = {65};
    break;
  case Encoding::Q6_K:
    exponents = {209};
    break;
  case Encoding::Q2_K:
    exponents = {81, 83};
    break;
  case Encoding::Q3_K:
    exponents = {109};
    break;
  }
  size_t step = facts.isRow() ? bytes.size() / rows : facts.blockBytes;
  for (size_t block = 0; block < bytes.size(); block += step)
    for (int64_t at : exponents)
      bytes[block + at] = (bytes[block + at] & 0x87) | 0x38;
  return bytes;
}

class PackEncodingTest : public testing::TestWithParam<Encoding> {};

TEST_P(PackEncodingTest, UnpacksToWhatTheFileEncodes) {
  const Encoding encoding = GetParam();
  const auto &facts = llmc::graph::encodingFacts(encoding);
  // 21 rows leave a ragged tile; 6 columns of plain numbers a ragged unit.
  const int64_t rows = 21, firstRows = 5;
  const int64_t columns = facts.isRow()              ? 96
                          : facts.blockElements == 1 ? 6
                                                     : 3 * facts.blockElements;
  std::vector<uint8_t> file = randomRows(encoding, rows, columns);
  int64_t rowBytes = *llmc::graph::encodedSizeInBytes(encoding, columns);

  auto layout = llmc::codegen::tiledLayout(
      llmc::codegen::weightFormat(encoding), rows, columns);
  ASSERT_TRUE(layout);
  std::vector<uint8_t> packed =
      pack(encoding, *layout,
           {{file.data(), firstRows},
            {file.data() + firstRows * rowBytes, rows - firstRows}});

  Unpacker unpacker(encoding, rows, columns, packed);
  EXPECT_EQ(unpacker.size(), layout->bytes);
  std::vector<float> expected(columns);
  for (int64_t n = 0; n < 32; ++n) {
    if (n < rows)
      llmc::graph::dequantizeRow(encoding, file.data() + n * rowBytes, columns,
                                 expected.data());
    else
      std::fill(expected.begin(), expected.end(), 0.0f);
    for (int64_t k = 0; k < columns; ++k)
      ASSERT_EQ(unpacker.value(n, k), expected[k]) << n << ", " << k;
    for (int64_t k = columns; k < (columns + 3) / 4 * 4; ++k)
      ASSERT_EQ(unpacker.value(n, k), 0.0f) << n << ", " << k;
  }
}

TEST_P(PackEncodingTest, VectorIsPlainFloats) {
  const Encoding encoding = GetParam();
  if (llmc::graph::encodingFacts(encoding).isRow())
    GTEST_SKIP() << "the encoding is one of matrices";
  // Two pieces, as of biases that were joined.
  const int64_t block = llmc::graph::encodingFacts(encoding).blockElements;
  const int64_t firstCount = 2 * block, count = 5 * block;
  std::vector<uint8_t> file = randomRows(encoding, 1, count);
  auto layout = llmc::codegen::vectorLayout(count);
  ASSERT_TRUE(layout);
  std::vector<uint8_t> packed =
      pack(encoding, *layout,
           {{file.data(), firstCount},
            {file.data() + file.size() * 2 / 5, count - firstCount}});
  std::vector<float> expected(count);
  llmc::graph::dequantizeRow(encoding, file.data(), count, expected.data());
  EXPECT_EQ(std::memcmp(packed.data(), expected.data(), count * 4), 0);
}

INSTANTIATE_TEST_SUITE_P(AllEncodings, PackEncodingTest, testing::ValuesIn([] {
                           std::vector<Encoding> all;
                           for (const auto &facts : llmc::graph::allEncodings())
                             all.push_back(facts.encoding);
                           return all;
                         }()),
                         [](const testing::TestParamInfo<Encoding> &info) {
                           return std::string(
                               llmc::graph::encodingFacts(info.param).name);
                         });

// Element j of a Q4_0 block is the low nibble of byte j, element j + 16 the
// high one. Codes 0 … 15 then 15 … 0 with d = 1 are −8 … 7 then 7 … −8.
TEST(PackWeightTest, Q4_0NibbleOrder) {
  std::vector<uint8_t> block = {0x00, 0x3c}; // 1.0
  for (int j = 0; j < 16; ++j)
    block.push_back(static_cast<uint8_t>(j | (15 - j) << 4));
  auto layout =
      llmc::codegen::tiledLayout(llmc::codegen::WeightFormat::Q4_0, 1, 32);
  ASSERT_TRUE(layout);
  std::vector<uint8_t> packed =
      pack(Encoding::Q4_0, *layout, {{block.data(), 1}});
  Unpacker unpacker(Encoding::Q4_0, 1, 32, packed);
  float dot = 0;
  for (int k = 0; k < 32; ++k) {
    EXPECT_EQ(unpacker.value(0, k), k < 16 ? k - 8 : 23 - k);
    dot += unpacker.value(0, k) * static_cast<float>(k);
  }
  EXPECT_EQ(dot, -248);
}

// The twelve scale bytes of a Q4_K block hold six-bit numbers in two ways.
TEST(PackWeightTest, Q4_KSixBitScales) {
  std::vector<uint8_t> block = {0x00, 0x3c, 0x00, 0x3c}; // d = dmin = 1.0
  for (int byte :
       {0x41, 0x82, 0xc3, 0xc4, 0x45, 0x86, 0xc7, 0xc8, 0x41, 0x82, 0xc3, 0xff})
    block.push_back(static_cast<uint8_t>(byte));
  block.resize(144, 0x21);
  auto layout =
      llmc::codegen::tiledLayout(llmc::codegen::WeightFormat::Q4_K, 1, 256);
  ASSERT_TRUE(layout);
  std::vector<uint8_t> packed =
      pack(Encoding::Q4_K, *layout, {{block.data(), 1}});
  Unpacker unpacker(Encoding::Q4_K, 1, 256, packed);
  const float expected[8] = {-4, -2, -4, 0, -3, 28, -9, 63};
  float dot = 0;
  for (int k = 0; k < 256; ++k) {
    EXPECT_EQ(unpacker.value(0, k), expected[k / 32]) << k;
    dot += unpacker.value(0, k);
  }
  EXPECT_EQ(dot, 2208);
}

/// 20 rows of 64 numbers, and the same as the file would hold them turned.
struct Quantized {
  static constexpr int64_t kRows = 20, kColumns = 64;
  Quantized() : rows(kRows * kColumns), turned(kRows * kColumns) {
    std::mt19937 random(7);
    for (int64_t n = 0; n < kRows; ++n)
      for (int64_t k = 0; k < kColumns; ++k)
        rows[n * kColumns + k] = turned[k * kRows + n] =
            std::uniform_real_distribution<float>(-1, 1)(random);
  }
  static llmc::graph::RowSource source(const std::vector<float> &numbers,
                                       llmc::graph::PackingForm form) {
    return {reinterpret_cast<const uint8_t *>(numbers.data()), kRows, 0,
            llmc::graph::Packing{form, Encoding::F32, kColumns}};
  }
  std::vector<float> rows, turned;
};

TEST(PackWeightTest, RowsAreQuantizedToTheWeightsEncoding) {
  Quantized numbers;
  for (Encoding target : {Encoding::I4_G32, Encoding::I8_CHANNEL,
                          Encoding::I4_CHANNEL_ASYM, Encoding::F16}) {
    SCOPED_TRACE(llmc::graph::encodingFacts(target).name);
    int64_t rowBytes =
        *llmc::graph::encodedSizeInBytes(target, Quantized::kColumns);
    std::vector<uint8_t> encoded(Quantized::kRows * rowBytes);
    for (int64_t n = 0; n < Quantized::kRows; ++n)
      ASSERT_FALSE(
          llmc::graph::encodeRow(target, &numbers.rows[n * Quantized::kColumns],
                                 Quantized::kColumns, &encoded[n * rowBytes]));
    auto layout =
        llmc::codegen::tiledLayout(llmc::codegen::weightFormat(target),
                                   Quantized::kRows, Quantized::kColumns);
    std::vector<uint8_t> expected =
        pack(target, *layout, {{encoded.data(), Quantized::kRows}});
    using llmc::graph::PackingForm;
    EXPECT_EQ(pack(target, *layout,
                   {Quantized::source(numbers.rows, PackingForm::Rows)}),
              expected);
    EXPECT_EQ(
        pack(target, *layout,
             {Quantized::source(numbers.turned, PackingForm::Transposed)}),
        expected);
  }
}

TEST(PackWeightTest, WhatCannotBeQuantizedIsNamed) {
  Quantized numbers;
  numbers.rows[17 * Quantized::kColumns + 5] = NAN;
  auto layout =
      llmc::codegen::tiledLayout(llmc::codegen::weightFormat(Encoding::I4_G64),
                                 Quantized::kRows, Quantized::kColumns);
  std::vector<uint8_t> packed(layout->bytes, 0);
  WeightPacker packer(
      Encoding::I4_G64, *layout,
      {Quantized::source(numbers.rows, llmc::graph::PackingForm::Rows)});
  auto problem = packer.packTiles(0, packer.numTiles(), packed.data());
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->substr(0, 23), "row 17: number 5 is nan") << *problem;
}

} // namespace
