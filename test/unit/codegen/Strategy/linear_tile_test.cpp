// SPDX-License-Identifier: Apache-2.0
//
// Tiles of linears follow the device's limits, whatever device they describe.

#include "test/unit/codegen/Strategy/LinearCase.h"

#include <gtest/gtest.h>

namespace llmc::codegen {
namespace {

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

/// The gain of a norm meets the input once for both.
TEST(LinearTile, tilesOfOneLinearShareANormsProducts) {
  FamilyStrategy strategy;
  strategy.gemv.normTiles = 2;
  auto columnsOf = [&](const LinearShape &linear) {
    auto tile = selectLinearTile(linear, device(64, 192), strategy);
    return tile ? tile->columns : 0;
  };
  LinearShape linear = shape(WeightFormat::Q8_0, 1);
  EXPECT_EQ(columnsOf(linear), 4);
  linear.hasNorm = true;
  EXPECT_EQ(columnsOf(linear), 8);
  linear.N = 2 * 32; // a workgroup for each second of four compute units
  EXPECT_EQ(columnsOf(linear), 8);
  linear.N -= 16;
  EXPECT_EQ(columnsOf(linear), 4);
  linear = shape(WeightFormat::Q8_0, 8);
  linear.hasNorm = true;
  EXPECT_EQ(columnsOf(linear), 4);
  linear = shape(WeightFormat::Q6_K, 1);
  linear.hasNorm = true;
  EXPECT_EQ(columnsOf(linear), 4);
}

/// Eight sums of f16 weights take 2 instructions per multiply-add, 16 1.6, 32
/// 1.4 (LinearTile's own model; the driver's compiler agrees).
TEST(LinearTile, fillingTheDeviceMayCostSomeEfficiency) {
  FamilyStrategy strategy;
  DeviceLimits limits = device(128, 256);
  limits.computeUnits = 12;
  auto sumsOf = [&](int64_t columns) {
    LinearShape linear = shape(WeightFormat::F16, 32);
    linear.N = columns;
    auto tile = selectLinearTile(linear, limits, strategy);
    return tile ? tile->accumulators : 0;
  };
  EXPECT_EQ(sumsOf(256), 8);
  strategy.gemm.leastEfficiencyPercent = 80;
  EXPECT_EQ(sumsOf(1024), 32); // 16 workgroups
  EXPECT_EQ(sumsOf(512), 16);
  EXPECT_EQ(sumsOf(256), 32);
}

/// All of a small weight is in flight: lanes of whole subgroups have one share
/// each where a workgroup may be as large, and there are workgroups for most
/// compute units.
TEST(LinearTile, smallWeightsAreDealtToManyInvocations) {
  FamilyStrategy strategy;
  strategy.gemv.reduction = "subgroup";
  strategy.gemv.maxLanes = 256;
  DeviceLimits limits = {64, 255, 32, 1024, 49152, 128, 132};
  auto tileOf = [&](WeightFormat format, int64_t rows, int64_t columns) {
    LinearShape linear = {format, 1, rows, columns, 1, false};
    return *selectLinearTile(linear, limits, strategy);
  };
  LinearTile before = tileOf(WeightFormat::Q4_0, 1024, 3072);
  EXPECT_EQ(before.splits, 1);
  EXPECT_EQ(before.kStep, 32);
  strategy.gemv.dealsTiles = true;
  for (WeightFormat format :
       {WeightFormat::F16, WeightFormat::Q8_0, WeightFormat::Q4_0,
        WeightFormat::Q4_K, WeightFormat::Q6_K})
    for (int64_t rows : {256, 1024, 2048, 4096})
      for (int64_t columns : {1024, 2048, 3072, 11008}) {
        LinearTile tile = tileOf(format, rows, columns);
        int64_t lanes = tile.workgroup[0], quads = 4 / tile.splits,
                atOnce = lanes / quads * tile.kStep;
        SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(columns) +
                     ": " + std::to_string(lanes) + " lanes");
        EXPECT_EQ(lanes % 32, 0);
        EXPECT_LE(lanes, 1024);
        EXPECT_EQ(columns % tile.kStep, 0);
        if (columns * quads <= 4096)
          EXPECT_GE(atOnce, columns);
        EXPECT_GE(lanes, 256);
        EXPECT_EQ(tile.splits, rows < 132 * 3 / 2 * 16 ? 2 : 1);
      }
  // Of a vocabulary with high bits, workgroups take many tiles; their lanes
  // have all columns.
  for (int64_t columns : {1024, 2048}) {
    LinearTile tile = tileOf(WeightFormat::Q6_K, 151936, columns);
    EXPECT_EQ(tile.tileWorkgroups, 16 * 132);
    EXPECT_EQ(tile.workgroup[0] / 4 * tile.kStep, columns);
  }
  EXPECT_EQ(tileOf(WeightFormat::Q6_K, 151936, 1536).tileWorkgroups, 0);
  EXPECT_EQ(tileOf(WeightFormat::Q6_K, 32000, 1024).tileWorkgroups, 0);
  // A large weight keeps the memory busy by itself.
  EXPECT_EQ(tileOf(WeightFormat::Q4_0, 151936, 1024).kStep, 32);
  EXPECT_EQ(tileOf(WeightFormat::Q4_0, 151936, 1024).splits, 1);
}

/// Two groups in the body cost panvk's compiler the second thread there.
TEST(LinearTile, oneGroupAtOnceWhereInputIsStagedInPartsOrRowsAreShort) {
  FamilyStrategy strategy;
  strategy.gemv.maxStep = 64;
  strategy.gemv.staging = Staging::Always;
  auto stepOf = [&](WeightFormat format, int64_t columns) {
    LinearShape linear = shape(format, 1);
    linear.K = columns;
    auto tile = selectLinearTile(linear, device(64, 192), strategy);
    return tile ? tile->kStep : 0;
  };
  for (WeightFormat format : {WeightFormat::Q4_0, WeightFormat::Q4_K}) {
    EXPECT_EQ(stepOf(format, 1024), 64);
    EXPECT_EQ(stepOf(format, 16384), 32); // 4096 floats are staged at most
  }
  EXPECT_EQ(stepOf(WeightFormat::Q4_0, 512), 32);
  EXPECT_EQ(stepOf(WeightFormat::Q4_K, 512), 64);
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

/// A row of the input is staged whole, or else as much as the strategy and half
/// of the workgroup memory allow.
TEST(LinearTile, inputsAreStaged) {
  FamilyStrategy strategy;
  GemvStrategy &gemv = strategy.gemv;
  gemv.maxRows = 1;
  gemv.linearsInTurn = true;
  DeviceLimits limits = device(32, 64);
  auto staged = [&](LinearShape linear) {
    LinearTile tile = *selectLinearTile(linear, limits, strategy);
    EXPECT_LE(gemvWorkgroupBytes(linear, tile, limits, gemv),
              limits.workgroupMemoryBytes);
    return gemvStagedColumns(linear, tile, limits, gemv);
  };
  LinearShape plain = shape(WeightFormat::Q4_0, 1, 2), normed = plain,
              wide = plain;
  normed.hasNorm = true;
  wide.K = 5632;
  EXPECT_EQ(staged(normed), 0);
  gemv.staging = Staging::Changed;
  EXPECT_EQ(staged(plain), 0);
  EXPECT_EQ(staged(normed), 2048);
  gemv.arithmetic = "f16";
  EXPECT_EQ(staged(plain), 2048);
  EXPECT_EQ(staged(shape(WeightFormat::Q8_0, 1)), 0);
  EXPECT_EQ(staged(wide), 5632);
  gemv.staging = Staging::Always;
  gemv.arithmetic = "f32";
  EXPECT_EQ(staged(shape(WeightFormat::Q8_0, 1)), 2048);
  EXPECT_EQ(staged(wide), 4096);
  limits.workgroupMemoryBytes = 16384;
  EXPECT_EQ(staged(wide), 2048);
  gemv.maxRows = 8;
  EXPECT_EQ(staged(shape(WeightFormat::Q8_0, 8)), 0);
}

/// Lanes of whole subgroups hand each other what a group of columns has for all
/// of a share's lanes: four vectors of four columns for four lanes at least.
TEST(LinearTile, inputsAreExchanged) {
  FamilyStrategy strategy;
  GemvStrategy &gemv = strategy.gemv;
  gemv.staging = Staging::Lanes;
  gemv.reduction = "subgroup";
  gemv.maxLanes = 8;
  DeviceLimits limits = device(32, 160);
  limits.subgroupSize = 8;
  auto exchanged = [&](WeightFormat format, int64_t rows, int64_t columns) {
    LinearShape linear = shape(format, rows);
    linear.K = columns;
    LinearTile tile = *selectLinearTile(linear, limits, strategy);
    EXPECT_EQ(gemvStagedColumns(linear, tile, limits, gemv), 0);
    return gemvExchangedColumns(linear, tile, limits, gemv);
  };
  EXPECT_EQ(exchanged(WeightFormat::Q4_0, 1, 1024), 32);
  EXPECT_EQ(exchanged(WeightFormat::Q4_0, 8, 1024), 32);
  EXPECT_EQ(exchanged(WeightFormat::Q6_K, 1, 1024), 32);
  EXPECT_EQ(exchanged(WeightFormat::F16, 1, 1024), 16);
  EXPECT_EQ(exchanged(WeightFormat::F16, 1, 1032), 0); // eight columns a share
  limits.subgroupSize = 16;
  EXPECT_EQ(exchanged(WeightFormat::Q4_0, 1, 1024), 0);
  limits.subgroupSize = 8;
  gemv.staging = Staging::Never;
  EXPECT_EQ(exchanged(WeightFormat::Q4_0, 1, 1024), 0);
}

/// As many tiles side by side as leave a workgroup for half of the compute
/// units, of one linear and one row.
TEST(LinearTile, tilesSideBySide) {
  FamilyStrategy strategy;
  strategy.gemv.rowTiles = 4;
  DeviceLimits limits = device(64, 192);
  limits.computeUnits = 4;
  auto columnsOf = [&](int64_t outputs, int64_t rows, int64_t linears) {
    LinearShape linear = shape(WeightFormat::Q6_K, rows, linears);
    linear.N = outputs;
    return selectLinearTile(linear, limits, strategy)->columns;
  };
  EXPECT_EQ(columnsOf(1024, 1, 1), 16);
  EXPECT_EQ(columnsOf(128, 1, 1), 16);
  EXPECT_EQ(columnsOf(64, 1, 1), 8);
  EXPECT_EQ(columnsOf(16, 1, 1), 4);
  EXPECT_EQ(columnsOf(1024, 2, 1), 4);
  EXPECT_EQ(columnsOf(1024, 1, 2), 8);
}

/// Half precision takes codes of 4 to 6 bits and staged input.
TEST(LinearTile, halfPrecisionTakesStagedNibbles) {
  FamilyStrategy strategy;
  strategy.gemv.arithmetic = "f16";
  DeviceLimits limits = device(32, 64);
  auto takes = [&](WeightFormat format) {
    LinearShape linear = shape(format, 1);
    return takesArithmetic(linear, *selectLinearTile(linear, limits, strategy),
                           limits, strategy.gemv);
  };
  EXPECT_FALSE(takes(WeightFormat::Q4_0));
  strategy.gemv.staging = Staging::Changed;
  EXPECT_TRUE(takes(WeightFormat::Q4_0));
  EXPECT_TRUE(takes(WeightFormat::Q6_K));
  EXPECT_FALSE(takes(WeightFormat::Q8_0));
  EXPECT_FALSE(takes(WeightFormat::F16));
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
  linear.format = WeightFormat::Q6_K; // 16 k share a scale
  tile = selectLinearTile(linear, device(64, 192), strategy);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->kStep, 16);
}

/// 32 sums of a pair leave 4 waves on an Adreno 840 (turnip, Mesa 26.1.6), 16
/// leave 8.
TEST(LinearTile, int8PairsHaveFewerSums) {
  FamilyStrategy strategy;
  strategy.gemm.maxInt8PairSums = 16;
  for (int64_t linears : {1, 2})
    for (bool isInt8 : {false, true}) {
      LinearShape linear = shape(WeightFormat::Q4_0, 512, linears);
      linear.isInt8 = isInt8;
      auto tile = selectLinearTile(linear, device(64, 192), strategy);
      ASSERT_TRUE(tile);
      EXPECT_EQ(tile->accumulators, linears == 2 && isInt8 ? 16 : 32)
          << linears << " linears, int8 " << isInt8;
    }
}

/// Sums of a first linear wait in workgroup memory.
TEST(LinearTile, waitingSumsFitWorkgroupMemory) {
  DeviceLimits limits = device(128, 256);
  limits.workgroupMemoryBytes = 4096;
  auto tile = selectLinearTile(shape(WeightFormat::Q8_0, 512, 2), limits, {});
  ASSERT_TRUE(tile);
  EXPECT_LE((tile->accumulators * 4 + 8) * tile->workgroup[0] *
                tile->workgroup[1],
            4096);
}

/// Two linears take the tile of one, since nothing of the first is in registers
/// while the second is computed.
TEST(LinearTile, pairsTakeTheTileOfOne) {
  FamilyStrategy strategy;
  strategy.gemm.decode = "bytes";
  strategy.gemm.maxSums = 16;
  strategy.gemm.spareRegisters = 2;
  for (WeightFormat format :
       {WeightFormat::Q4_K, WeightFormat::Q6_K, WeightFormat::Q8_0}) {
    auto one = selectLinearTile(shape(format, 512), device(32, 64), strategy),
         two =
             selectLinearTile(shape(format, 512, 2), device(32, 64), strategy);
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->rows, 4);
    EXPECT_EQ(two->rows, 4);
  }
}

/// Linears of which one is computed after the other share the memory of sums.
TEST(LinearTile, linearsInTurnShareWorkgroupMemory) {
  LinearTile tile{true, {64, 1, 1}, 4, 4, 32, 16, 0};
  LinearShape linear{};
  linear.format = WeightFormat::Q4_0;
  linear.rows = 4;
  linear.N = linear.K = 1024;
  linear.numLinears = 2;
  auto bytes = [&] {
    return gemvWorkgroupBytes(linear, tile, device(64, 192), {});
  };
  EXPECT_EQ(bytes(), 64 * 4 * (16 + 4));
  tile.columns = 8;
  EXPECT_EQ(bytes(), 64 * 4 * (32 + 4));
}

} // namespace
} // namespace llmc::codegen
