// SPDX-License-Identifier: Apache-2.0
//
// Sizes and places of planes, computed by hand from docs/layouts.md.

#include "codegen/Lowering/WeightLayout.h"

#include <gtest/gtest.h>

namespace llmc::codegen {
namespace {

/// Bytes of all planes by the table's bits per weight, for a weight that needs
/// no padding.
void expectBits(WeightFormat format, double bitsPerWeight) {
  auto layout = tiledLayout(format, 64, 1024);
  ASSERT_TRUE(layout);
  int64_t bytes = 0;
  for (const Plane &plane : layout->planes) {
    EXPECT_EQ(plane.offset % kPlaneAlignment, 0);
    EXPECT_GE(plane.offset, bytes);
    bytes += plane.bytes;
  }
  EXPECT_DOUBLE_EQ(static_cast<double>(bytes) * 8 / (64 * 1024), bitsPerWeight);
  EXPECT_EQ(layout->bytes % kPlaneAlignment, 0);
}

TEST(WeightLayout, bitsPerWeight) {
  expectBits(WeightFormat::F32, 32);
  expectBits(WeightFormat::F16, 16);
  expectBits(WeightFormat::BF16, 16);
  expectBits(WeightFormat::Q8_0, 8.5);
  expectBits(WeightFormat::Q4_0, 4.5);
  expectBits(WeightFormat::Q4_K, 4.5);
  expectBits(WeightFormat::Q5_K, 5.5);
  expectBits(WeightFormat::Q6_K, 6.5625);
  expectBits(WeightFormat::I8G16Offset, 12);
  expectBits(WeightFormat::I8G16, 10);
  expectBits(WeightFormat::I8G32, 9);
  expectBits(WeightFormat::I8G32Offset, 10);
  expectBits(WeightFormat::Q4_1, 5);
  expectBits(WeightFormat::IQ4_NL, 4.5);
  expectBits(WeightFormat::IQ4_XS, 5);
  expectBits(WeightFormat::MXFP4, 4.25);
  expectBits(WeightFormat::I4G64, 4.25);
  expectBits(WeightFormat::I4G128, 4.125);
  expectBits(WeightFormat::I4G32Zero, 5);
  expectBits(WeightFormat::I4G64Zero, 4.5);
  expectBits(WeightFormat::I4G128Zero, 4.25);
}

TEST(WeightLayout, planesFollowEachOther) {
  auto layout = tiledLayout(WeightFormat::Q8_0, 16, 32);
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout->planes.size(), 2U);
  EXPECT_EQ(layout->plane(PlaneKind::Codes).offset, 0);
  EXPECT_EQ(layout->plane(PlaneKind::Codes).bytes, 512); // 8 units x 4 quads
  EXPECT_EQ(layout->plane(PlaneKind::Scales).offset, 512);
  EXPECT_EQ(layout->plane(PlaneKind::Scales).bytes, 32); // 4 quads x 8
  EXPECT_EQ(layout->bytes, 768);
  EXPECT_EQ(layout->planeIndex(PlaneKind::Scales), 1U);
  EXPECT_EQ(layout->elementsPerTile(PlaneKind::Codes), 32);
  EXPECT_EQ(layout->elementsPerTile(PlaneKind::Scales), 4);
}

TEST(WeightLayout, rowsAndColumnsArePadded) {
  auto layout = tiledLayout(WeightFormat::F16, 17, 30);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->paddedRows, 32);
  EXPECT_EQ(layout->paddedColumns, 32);
  EXPECT_EQ(layout->numQuads(), 8);
  EXPECT_EQ(layout->planes[0].bytes, 32 * 32 * 2);
}

TEST(WeightLayout, columnsMustFillBlocks) {
  EXPECT_FALSE(tiledLayout(WeightFormat::Q8_0, 16, 48));
  EXPECT_FALSE(tiledLayout(WeightFormat::Q6_K, 16, 128));
  EXPECT_FALSE(tiledLayout(WeightFormat::F32, 0, 4));
  EXPECT_FALSE(tiledLayout(WeightFormat::F32, 4, -4));
  EXPECT_FALSE(tiledLayout(WeightFormat::F32, int64_t{1} << 40, 2));
}

TEST(WeightLayout, vectorsAreFloats) {
  auto layout = vectorLayout(6);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->name, "vector");
  EXPECT_EQ(layout->planes[0].bytes, 32);
  EXPECT_EQ(layout->bytes, 256);
  EXPECT_FALSE(vectorLayout(0));
}

} // namespace
} // namespace llmc::codegen
