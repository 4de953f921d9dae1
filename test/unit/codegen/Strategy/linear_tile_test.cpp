// SPDX-License-Identifier: Apache-2.0
//
// Tiles of linears follow the device's limits, whatever device they describe.

#include "codegen/Strategy/LinearTile.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace llmc::codegen {
namespace {

DeviceLimits device(int64_t fullOccupancy, int64_t most) {
  return {fullOccupancy, most, 16, 512, 32768, 128, 4};
}

LinearShape shape(WeightFormat format, int64_t rows, int64_t numLinears = 1) {
  return {format, rows, 2048, 2048, numLinears, false};
}

TEST(LinearTile, fewRowsAreGemv) {
  for (int64_t rows : {1, 2, 5, 8}) {
    auto tile =
        selectLinearTile(shape(WeightFormat::Q4_0, rows), device(64, 192), {});
    ASSERT_TRUE(tile);
    EXPECT_TRUE(tile->isGemv);
    EXPECT_GE(tile->rows, rows);
    EXPECT_EQ(tile->columns, 4);
  }
  auto tile =
      selectLinearTile(shape(WeightFormat::Q4_0, 9), device(64, 192), {});
  ASSERT_TRUE(tile);
  EXPECT_FALSE(tile->isGemv);
}

TEST(LinearTile, staysBelowTheRegisterCap) {
  for (int64_t most : {32, 64, 96, 128, 192, 256})
    for (int64_t rows : {1, 8, 32, 512})
      for (int64_t numLinears : {1, 2})
        for (WeightFormat format : {WeightFormat::F32, WeightFormat::Q8_0,
                                    WeightFormat::Q4_K, WeightFormat::Q6_K}) {
          auto tile = selectLinearTile(shape(format, rows, numLinears),
                                       device(most / 2, most), {});
          ASSERT_TRUE(tile);
          EXPECT_EQ(tile->accumulators, tile->rows * tile->columns);
          // The smallest tile is taken when none fits.
          if (tile->rows * tile->columns > (tile->isGemv ? 4 * numLinears : 4))
            EXPECT_LE(tile->registers, most)
                << rows << " rows, " << most << " registers";
        }
}

TEST(LinearTile, moreRegistersGiveLargerTiles) {
  auto small =
      selectLinearTile(shape(WeightFormat::Q8_0, 512), device(32, 64), {});
  auto large =
      selectLinearTile(shape(WeightFormat::Q8_0, 512), device(128, 256), {});
  ASSERT_TRUE(small && large);
  EXPECT_GT(large->accumulators, small->accumulators);
}

/// Many compute units get more workgroups of smaller tiles.
TEST(LinearTile, enoughWorkgroupsForTheDevice) {
  DeviceLimits few = device(128, 256), many = few;
  many.computeUnits = 64;
  auto large = selectLinearTile(shape(WeightFormat::Q8_0, 32), few, {});
  auto small = selectLinearTile(shape(WeightFormat::Q8_0, 32), many, {});
  ASSERT_TRUE(large && small);
  int64_t groups = 2048 / (small->workgroup[0] * small->columns) * 32 /
                   (small->workgroup[1] * small->rows);
  EXPECT_GE(groups, 64);
  EXPECT_LT(small->accumulators, large->accumulators);
}

/// Near-square groups of 64 give wrong results on a driver.
TEST(LinearTile, workgroupsAreNeverSquare) {
  for (int64_t subgroup : {4, 8, 16, 64})
    for (int64_t invocations : {32, 64, 128, 1024}) {
      DeviceLimits limits{32, 64, subgroup, invocations, 32768, 32, 4};
      auto tile = selectLinearTile(shape(WeightFormat::F32, 1500), limits, {});
      ASSERT_TRUE(tile);
      EXPECT_LE(tile->workgroup[0] * tile->workgroup[1], invocations);
      EXPECT_FALSE(tile->workgroup[0] == 8 && tile->workgroup[1] == 8);
      EXPECT_FALSE(tile->workgroup[0] == 4 && tile->workgroup[1] == 16);
    }
}

TEST(LinearTile, sharesAreOneOrTwoGroups) {
  LinearShape odd = shape(WeightFormat::F32, 1);
  odd.K = 172;
  auto tile = selectLinearTile(odd, device(64, 192), {});
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->kStep, 4); // the largest power of two that divides 172
  for (int64_t maxUnroll : {4, 8, 16, 32, 64}) {
    DeviceLimits limits = device(64, 192);
    limits.maxUnroll = maxUnroll;
    tile = selectLinearTile(shape(WeightFormat::Q6_K, 1), limits, {});
    ASSERT_TRUE(tile);
    EXPECT_EQ(tile->kStep, maxUnroll < 32 ? 16 : 32); // 16 k share a scale
    tile = selectLinearTile(shape(WeightFormat::Q4_0, 1), limits, {});
    ASSERT_TRUE(tile);
    EXPECT_EQ(tile->kStep, 32); // 32 do
  }
}

TEST(LinearTile, linearsInTurnTakeTheRegistersOfOne) {
  FamilyStrategy strategy;
  auto together =
      selectLinearTile(shape(WeightFormat::Q4_0, 1, 2), device(64, 192), {});
  strategy.gemv.linearsInTurn = true;
  auto inTurn = selectLinearTile(shape(WeightFormat::Q4_0, 1, 2),
                                 device(64, 192), strategy);
  auto one =
      selectLinearTile(shape(WeightFormat::Q4_0, 1), device(64, 192), strategy);
  ASSERT_TRUE(together && inTurn && one);
  EXPECT_EQ(together->columns, 8);
  EXPECT_EQ(inTurn->columns, 4);
  EXPECT_EQ(inTurn->registers, one->registers);
  EXPECT_LT(inTurn->registers, together->registers);
}

TEST(LinearTile, reductionFitsWorkgroupMemory) {
  DeviceLimits limits = device(64, 192);
  limits.workgroupMemoryBytes = 4096;
  auto tile = selectLinearTile(shape(WeightFormat::Q8_0, 8, 2), limits, {});
  ASSERT_TRUE(tile);
  EXPECT_LE(tile->workgroup[0] * tile->rows * (16 * 2 + 4), 4096);
}

TEST(LinearTile, tooFewInvocations) {
  DeviceLimits limits = device(64, 192);
  limits.maxInvocations = 8;
  EXPECT_FALSE(selectLinearTile(shape(WeightFormat::Q8_0, 1), limits, {}));
}

/// Quantized activations come in tiles of four rows, whatever the number of
/// rows.
TEST(LinearTile, quantizedActivationsAreGemm) {
  for (int64_t rows : {4, 9, 512})
    for (int64_t numLinears : {1, 2}) {
      LinearShape quantized = shape(WeightFormat::Q4_0, rows, numLinears);
      quantized.isInt8 = true;
      auto tile = selectLinearTile(quantized, device(32, 64), {});
      ASSERT_TRUE(tile);
      EXPECT_FALSE(tile->isGemv);
      EXPECT_EQ(tile->rows % 4, 0);
      EXPECT_LE(tile->registers, 64);
    }
}

/// A strategy's limits hold.
TEST(LinearTile, gemmStrategy) {
  FamilyStrategy strategy;
  strategy.gemm.maxSums = 16;
  strategy.gemm.int8Step = 32;
  LinearShape linear = shape(WeightFormat::Q4_0, 512);
  auto tile = selectLinearTile(linear, device(64, 192), strategy);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->accumulators, 16);
  EXPECT_EQ(tile->kStep, 8);
  linear.isInt8 = true;
  tile = selectLinearTile(linear, device(64, 192), strategy);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->kStep, 32);
}

/// Sums of a first linear wait in workgroup memory.
TEST(LinearTile, waitingSumsFitWorkgroupMemory) {
  DeviceLimits limits = device(128, 256);
  limits.workgroupMemoryBytes = 4096;
  auto tile = selectLinearTile(shape(WeightFormat::Q8_0, 512, 2), limits, {});
  ASSERT_TRUE(tile);
  EXPECT_LE(tile->accumulators * 4 * tile->workgroup[0] * tile->workgroup[1],
            4096);
}

} // namespace
} // namespace llmc::codegen
