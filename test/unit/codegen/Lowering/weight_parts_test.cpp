// SPDX-License-Identifier: Apache-2.0
//
// Weights cut by rows so that every plane's share can be bound.

#include "codegen/Lowering/WeightParts.h"

#include "gtest/gtest.h"

#include <algorithm>

namespace llmc::codegen {
namespace {

TEST(WeightParts, AWeightThatFitsIsWhole) {
  auto layout = *tiledLayout(WeightFormat::Q8_0, 151936, 1024);
  auto parts = *splitRows(layout, 155582464, 256);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].first, 0);
  EXPECT_EQ(parts[0].rows, 151936);
}

// 16 rows of 1024 8-bit codes are 16 KiB, so 128 MiB hold 8192 such tiles,
// 131072 rows.
TEST(WeightParts, AHeadOf151936RowsTakesTwoRangesOf128MiB) {
  auto layout = *tiledLayout(WeightFormat::Q8_0, 151936, 1024);
  auto parts = *splitRows(layout, 134217728, 256);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].rows, 131072);
  EXPECT_EQ(parts[1].first, 131072);
  EXPECT_EQ(parts[1].rows, 20864);
}

TEST(WeightParts, EveryFormatIsCutIntoAlignedShares) {
  for (WeightFormat format :
       {WeightFormat::F32, WeightFormat::F16, WeightFormat::Q8_0,
        WeightFormat::Q4_0, WeightFormat::Q4_K, WeightFormat::Q5_K,
        WeightFormat::Q6_K, WeightFormat::I8G16Offset})
    for (int64_t columns : {256, 768, 2816}) {
      auto layout = *tiledLayout(format, 1003, columns);
      constexpr int64_t kMaxBytes = 900000, kAlignment = 256;
      auto parts = splitRows(layout, kMaxBytes, kAlignment);
      ASSERT_TRUE(parts.has_value());
      int64_t next = 0;
      for (RowRange part : *parts) {
        EXPECT_EQ(part.first, next);
        EXPECT_EQ(part.first % 64, 0);
        next += part.rows;
        auto share = *tiledLayout(format, part.rows, columns);
        for (const Plane &plane : layout.planes) {
          EXPECT_EQ(part.first / 16 * planeBytesPerTile(layout, plane) %
                        kAlignment,
                    0);
          EXPECT_LE(share.plane(plane.kind).bytes, kMaxBytes);
          EXPECT_EQ(share.elementsPerTile(plane.kind),
                    layout.elementsPerTile(plane.kind));
        }
      }
      EXPECT_EQ(next, 1003);
    }
}

TEST(WeightParts, RowsThatFitNoRangeAndVectorsHaveNone) {
  // 64 rows of 8192 f32 take 2 MiB.
  auto wide = *tiledLayout(WeightFormat::F32, 1024, 8192);
  EXPECT_TRUE(splitRows(wide, 2 << 20, 256).has_value());
  EXPECT_FALSE(splitRows(wide, (2 << 20) - 1, 256).has_value());
  EXPECT_FALSE(splitRows(*vectorLayout(1000), 1024, 256).has_value());
}

} // namespace
} // namespace llmc::codegen
