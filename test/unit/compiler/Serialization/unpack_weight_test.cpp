// SPDX-License-Identifier: Apache-2.0
//
// Unpacked rows are the bytes that were packed.

#include "compiler/Serialization/UnpackWeight.h"

#include "codegen/Lowering/WeightType.h"
#include "compiler/Serialization/PackWeight.h"
#include "dialects/Graph/RowEncoder.h"

#include <gtest/gtest.h>

#include <random>

using llmc::graph::Encoding;
using llmc::serialization::canUnpackRows;
using llmc::serialization::unpackRow;
using llmc::serialization::WeightPacker;

namespace {

constexpr int64_t kRows = 37, kColumns = 256;

TEST(UnpackWeight, EveryEncodingThatNumbersAreQuantizedTo) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.1f, 1.0f);
  std::vector<float> numbers(kRows * kColumns);
  for (float &number : numbers)
    number = normal(random);
  int numEncodings = 0;
  for (const llmc::graph::EncodingFacts &facts : llmc::graph::allEncodings()) {
    const Encoding encoding = facts.encoding;
    if (!canUnpackRows(encoding))
      continue;
    ++numEncodings;
    const auto rowBytes = static_cast<size_t>(
        *llmc::graph::encodedSizeInBytes(encoding, 1, kColumns));
    std::vector<uint8_t> rows(kRows * rowBytes), found(rowBytes);
    for (int64_t row = 0; row < kRows; ++row)
      ASSERT_FALSE(llmc::graph::encodeRow(encoding, &numbers[row * kColumns],
                                          kColumns, &rows[row * rowBytes]));
    const auto layout = *llmc::codegen::tiledLayout(
        llmc::codegen::weightFormat(encoding), kRows, kColumns);
    std::vector<uint8_t> packed(layout.bytes);
    WeightPacker packer(encoding, layout, {{rows.data(), kRows}});
    ASSERT_FALSE(packer.packTiles(0, packer.numTiles(), packed.data()));
    for (int64_t row = 0; row < kRows; ++row) {
      unpackRow(encoding, layout, packed.data(), row, found.data());
      EXPECT_TRUE(
          std::equal(found.begin(), found.end(), rows.begin() + row * rowBytes))
          << facts.name << ", row " << row;
    }
  }
  EXPECT_EQ(numEncodings, 10);
}

} // namespace
