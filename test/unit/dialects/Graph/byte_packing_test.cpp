// SPDX-License-Identifier: Apache-2.0
//
// Weights of bytes beside scales and zero points: every form gives the numbers
// scale * (code - zero point).

#include "dialects/Graph/BytePacking.h"

#include "gtest/gtest.h"

#include <cstring>

namespace llmc::graph {
namespace {

constexpr int64_t kRows = 3, kColumns = 4;

/// The numbers of every row of a source in one of the forms.
std::vector<float> decode(const std::string &name, bool hasZeros,
                          const uint8_t *codes, const float *scales,
                          const uint8_t *zeros) {
  PackingForm form = packingFormOfName(name).value();
  RowSource source;
  source.bytes = codes;
  source.rows = kRows;
  source.packing = Packing{form, Encoding::F32, kColumns,
                           reinterpret_cast<const uint8_t *>(scales),
                           hasZeros ? zeros : nullptr};
  Encoding target = byteEncoding(*byteForm(form), hasZeros);
  EXPECT_TRUE(
      canUnpack(form, Encoding::F32, kColumns, hasZeros, kColumns, target));
  std::vector<float> result(kRows * kColumns);
  std::vector<uint8_t> scratch(*encodedSizeInBytes(target, 1, kColumns));
  std::optional<std::string> problem;
  for (int64_t row = 0; row != kRows; ++row)
    dequantizeRow(
        target,
        encodedRow(source, target, kColumns, row, scratch.data(), problem),
        kColumns, &result[row * kColumns]);
  EXPECT_FALSE(problem);
  return result;
}

TEST(BytePacking, EveryFormIsScaleTimesCodeMinusZero) {
  uint8_t codes[kRows * kColumns];
  for (size_t i = 0; i != std::size(codes); ++i)
    codes[i] = static_cast<uint8_t>(i * 53 + 120); // both sides of 128
  const float scales[] = {0.5f, 0.25f, 2.0f};
  const uint8_t zeros[] = {3, 250, 128};
  for (bool isUnsigned : {false, true})
    for (bool isTransposed : {false, true})
      for (bool hasOneScale : {false, true})
        for (bool hasZeros : {false, true}) {
          std::string name = isUnsigned ? "uint8" : "int8";
          name += isTransposed ? ".transposed" : "";
          name += hasOneScale ? ".tensor" : "";
          SCOPED_TRACE(name + (hasZeros ? " with zeros" : ""));
          auto value = [&](uint8_t byte) {
            return isUnsigned ? int(byte) : int(static_cast<int8_t>(byte));
          };
          std::vector<float> expected;
          for (int64_t n = 0; n != kRows; ++n)
            for (int64_t k = 0; k != kColumns; ++k) {
              int64_t at = isTransposed ? k * kRows + n : n * kColumns + k;
              int64_t g = hasOneScale ? 0 : n;
              int zero = hasZeros ? value(zeros[g]) : 0;
              expected.push_back(scales[g] *
                                 static_cast<float>(value(codes[at]) - zero));
            }
          EXPECT_EQ(decode(name, hasZeros, codes, scales, zeros), expected);
        }
}

TEST(BytePacking, SizesCountScalesAndZeros) {
  auto sizes =
      packedSizes(PackingForm::Int8, Encoding::F16, kColumns, kRows, kColumns);
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->codes, 12);
  EXPECT_EQ(sizes->scales, 6);
  EXPECT_EQ(sizes->zeros, 3);
  sizes = packedSizes(PackingForm::UInt8TransposedTensor, Encoding::F32,
                      kColumns, kRows, kColumns);
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->scales, 4);
  EXPECT_EQ(sizes->zeros, 1);
}

TEST(BytePacking, OtherEncodingsAreRefused) {
  auto can = [](PackingForm form, bool hasZeros, Encoding target) {
    return canUnpack(form, Encoding::F32, kColumns, hasZeros, kColumns, target);
  };
  EXPECT_FALSE(can(PackingForm::Int8, true, Encoding::I8_CHANNEL));
  EXPECT_FALSE(can(PackingForm::UInt8, false, Encoding::I8_CHANNEL));
  EXPECT_FALSE(can(PackingForm::Int8, false, Encoding::F32));
}

} // namespace
} // namespace llmc::graph
