// SPDX-License-Identifier: Apache-2.0
//
// Rows of packed sources. Expected numbers are put into words here, nibble by
// nibble, as the formats' own tools do it.

#include "dialects/Graph/Packing.h"
#include "dialects/Graph/RowEncoder.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace {

using llmc::graph::canUnpack;
using llmc::graph::dequantizeRow;
using llmc::graph::encodedRow;
using llmc::graph::encodedSizeInBytes;
using llmc::graph::Encoding;
using llmc::graph::floatToHalf;
using llmc::graph::packedSizes;
using llmc::graph::Packing;
using llmc::graph::PackingForm;
using llmc::graph::packingFormOfName;
using llmc::graph::RowSource;

constexpr int64_t kRows = 16, kColumns = 128;

/// A 4-bit matrix and the bytes of its packed parts.
struct Matrix {
  int64_t group = 64;
  bool hasZeros = true;

  static int64_t code(int64_t n, int64_t k) { return (7 * n + 3 * k) % 16; }
  int64_t zero(int64_t n, int64_t g) const {
    return hasZeros ? 1 + (n + 5 * g) % 15 : 8;
  }
  /// Exact as half and as bfloat16.
  static float scale(int64_t n, int64_t g) {
    return static_cast<float>(1 + (n + g) % 4) / 64.0f;
  }
  float value(int64_t n, int64_t k) const {
    int64_t g = k / group;
    return scale(n, g) * static_cast<float>(code(n, k) - zero(n, g));
  }
  int64_t numGroups() const { return kColumns / group; }
};

/// Words of eight nibbles; every one is set once.
class Words {
public:
  explicit Words(int64_t count) : words(count) {}
  void set(int64_t word, int64_t nibble, int64_t value) {
    words[word] |= static_cast<uint32_t>(value) << 4 * nibble;
  }
  const uint8_t *bytes() const {
    return reinterpret_cast<const uint8_t *>(words.data());
  }

private:
  std::vector<uint32_t> words;
};

struct PackedMatrix {
  Words codes{kRows * kColumns / 8};
  Words zeros{64};
  std::vector<uint16_t> scales; // halves
};

/// Position of column c within an AWQ word.
int64_t awqNibble(int64_t c) {
  constexpr std::array<int64_t, 8> kOrder = {0, 2, 4, 6, 1, 3, 5, 7};
  return std::find(kOrder.begin(), kOrder.end(), c % 8) - kOrder.begin();
}

PackedMatrix pack(const Matrix &matrix, PackingForm form) {
  PackedMatrix result;
  int64_t numGroups = matrix.numGroups();
  bool isRowMajor =
      form == PackingForm::Compressed || form == PackingForm::NBits;
  result.scales.resize(kRows * numGroups);
  for (int64_t n = 0; n < kRows; ++n)
    for (int64_t k = 0; k < kColumns; ++k) {
      int64_t code = Matrix::code(n, k);
      if (isRowMajor)
        result.codes.set((n * kColumns + k) / 8, k % 8, code);
      else if (form == PackingForm::Awq)
        result.codes.set(k * kRows / 8 + n / 8, awqNibble(n), code);
      else
        result.codes.set(k / 8 * kRows + n, k % 8, code);
    }
  for (int64_t n = 0; n < kRows; ++n)
    for (int64_t g = 0; g < numGroups; ++g) {
      int64_t zero = matrix.zero(n, g);
      result.scales[isRowMajor ? n * numGroups + g : g * kRows + n] =
          floatToHalf(Matrix::scale(n, g));
      if (form == PackingForm::Gptq)
        result.zeros.set((g * kRows + n) / 8, n % 8, zero - 1);
      else if (form == PackingForm::GptqV2)
        result.zeros.set((g * kRows + n) / 8, n % 8, zero);
      else if (form == PackingForm::Awq)
        result.zeros.set((g * kRows + n) / 8, awqNibble(n), zero);
      else if (form == PackingForm::Compressed)
        result.zeros.set(n / 8 * numGroups + g, n % 8, zero);
      else // bytes of two groups, a whole number a row
        result.zeros.set((n * ((numGroups + 1) / 2 * 2) + g) / 8,
                         (n * ((numGroups + 1) / 2 * 2) + g) % 8, zero);
    }
  return result;
}

void expectValues(const Matrix &matrix, PackingForm form, Encoding target) {
  ASSERT_TRUE(canUnpack(form, Encoding::F16, matrix.group, matrix.hasZeros,
                        kColumns, target));
  PackedMatrix packed = pack(matrix, form);
  RowSource source;
  source.bytes = packed.codes.bytes();
  source.rows = kRows;
  source.packing =
      Packing{form, Encoding::F16, matrix.group,
              reinterpret_cast<const uint8_t *>(packed.scales.data()),
              matrix.hasZeros ? packed.zeros.bytes() : nullptr};
  std::vector<uint8_t> scratch(*encodedSizeInBytes(target, 1, kColumns));
  std::vector<float> values(kColumns);
  for (int64_t n = 0; n < kRows; ++n) {
    std::optional<std::string> problem;
    const uint8_t *row =
        encodedRow(source, target, kColumns, n, scratch.data(), problem);
    ASSERT_FALSE(problem);
    dequantizeRow(target, row, kColumns, values.data());
    for (int64_t k = 0; k < kColumns; ++k)
      ASSERT_EQ(values[k], matrix.value(n, k)) << n << ", " << k;
  }
}

constexpr PackingForm kForms[] = {PackingForm::Gptq, PackingForm::GptqV2,
                                  PackingForm::Awq, PackingForm::Compressed,
                                  PackingForm::NBits};

TEST(Packing, EveryFormGivesTheFormulasNumbers_B22) {
  for (PackingForm form : kForms) {
    SCOPED_TRACE(static_cast<int>(form));
    expectValues({64, true}, form, Encoding::I4_G64_ASYM);
    expectValues({64, false}, form, Encoding::I4_G64);
    expectValues({32, true}, form, Encoding::I4_G32_ASYM);
    expectValues({128, true}, form, Encoding::I4_CHANNEL_ASYM);
    expectValues({128, false}, form, Encoding::I4_CHANNEL);
  }
}

TEST(Packing, GroupsAreDividedWhereTheEncodingHasSmallerOnes_B21) {
  for (PackingForm form : kForms) {
    expectValues({128, true}, form, Encoding::I4_G32_ASYM);
    expectValues({64, false}, form, Encoding::I4_G32);
  }
}

TEST(Packing, ZeroPointsOfGptqReachSixteen) {
  // Nibble 15 stands for 16.
  uint32_t code = 0, zero = 0xf;
  std::vector<uint32_t> codes(32 / 8 * 8, code), zeros(1, zero);
  std::vector<uint16_t> scales(8, floatToHalf(0.5f));
  RowSource source;
  source.bytes = reinterpret_cast<const uint8_t *>(codes.data());
  source.rows = 8;
  source.packing = Packing{PackingForm::Gptq, Encoding::F16, 32,
                           reinterpret_cast<const uint8_t *>(scales.data()),
                           reinterpret_cast<const uint8_t *>(zeros.data())};
  std::vector<uint8_t> row(*encodedSizeInBytes(Encoding::I4_G32_ASYM, 1, 32));
  float values[32];
  std::optional<std::string> problem;
  encodedRow(source, Encoding::I4_G32_ASYM, 32, 0, row.data(), problem);
  EXPECT_FALSE(problem);
  dequantizeRow(Encoding::I4_G32_ASYM, row.data(), 32, values);
  EXPECT_EQ(values[0], -8.0f);
}

TEST(Packing, OnlyFittingEncodingsCanBeRead) {
  auto can = [](PackingForm form, int64_t group, bool hasZeros,
                Encoding target) {
    return canUnpack(form, Encoding::F16, group, hasZeros, kColumns, target);
  };
  EXPECT_TRUE(can(PackingForm::Transposed, 0, false, Encoding::F16));
  EXPECT_FALSE(can(PackingForm::Transposed, 0, false, Encoding::Q4_K));
  EXPECT_TRUE(can(PackingForm::Rows, 0, false, Encoding::I4_CHANNEL));
  EXPECT_FALSE(can(PackingForm::Awq, 32, true, Encoding::I4_G64_ASYM));
  EXPECT_FALSE(can(PackingForm::Awq, 32, true, Encoding::I4_G32));
  EXPECT_FALSE(can(PackingForm::Awq, 32, false, Encoding::I4_G32_ASYM));
  EXPECT_FALSE(can(PackingForm::Awq, 32, false, Encoding::Q4_0));
  EXPECT_FALSE(can(PackingForm::Awq, 64, false, Encoding::I4_CHANNEL));
}

TEST(Packing, SizesAreThoseOfTheParts) {
  auto sizes = packedSizes(PackingForm::Gptq, Encoding::F16, 32, 24, 64);
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->codes, 24 * 64 / 2);
  EXPECT_EQ(sizes->scales, 24 * 2 * 2);
  EXPECT_EQ(sizes->zeros, 24 * 2 / 2);
  EXPECT_EQ(
      packedSizes(PackingForm::Compressed, Encoding::BF16, 32, 20, 64)->zeros,
      3 * 2 * 4);
  EXPECT_EQ(packedSizes(PackingForm::NBits, Encoding::F32, 16, 5, 48)->zeros,
            5 * 2);
  EXPECT_EQ(
      packedSizes(PackingForm::Transposed, Encoding::BF16, 0, 3, 5)->codes, 30);
  // Rows that are no whole words, columns that are no whole groups, odd groups.
  EXPECT_FALSE(packedSizes(PackingForm::Awq, Encoding::F16, 32, 12, 64));
  EXPECT_FALSE(packedSizes(PackingForm::Gptq, Encoding::F16, 32, 16, 48));
  EXPECT_FALSE(packedSizes(PackingForm::NBits, Encoding::F16, 3, 16, 48));
  EXPECT_FALSE(packedSizes(PackingForm::Gptq, Encoding::Q4_0, 32, 16, 64));
  EXPECT_FALSE(
      packedSizes(PackingForm::Gptq, Encoding::F16, 32, INT64_MAX / 8, 1024));
}

TEST(Packing, FormsHaveNames) {
  EXPECT_EQ(packingFormOfName("awq"), PackingForm::Awq);
  EXPECT_EQ(packingFormOfName("nbits"), PackingForm::NBits);
  EXPECT_FALSE(packingFormOfName("AWQ"));
}

} // namespace
