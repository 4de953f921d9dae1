// SPDX-License-Identifier: Apache-2.0
//
// Tiles of attention: they obey every limit, and are what the mobile targets'
// compilers did best with.

#include "codegen/Strategy/SdpaTile.h"

#include <gtest/gtest.h>

#include <string>

namespace llmc::codegen {
namespace {

constexpr SdpaDevice kMali = {32, 64, 16, 512, 32768, 4, false, true};
constexpr SdpaDevice kAdreno = {64, 192, 64, 1024, 32768, 12, true};
constexpr SdpaDevice kNvidia = {64, 255, 32, 1024, 49152, 132};

std::string describe(const SdpaProblem &problem, const SdpaTile &tile) {
  return "head dimension " + std::to_string(problem.headDim) + ", rows " +
         std::to_string(problem.rows) + ", group " +
         std::to_string(problem.group()) + ": " + std::to_string(tile.queries) +
         " queries by " + std::to_string(tile.perInvocation) + ", " +
         std::to_string(tile.lanes) + " lanes, " + std::to_string(tile.keys) +
         " keys, " + std::to_string(tile.valueLanes) + " value lanes, " +
         std::to_string(tile.registers) + " registers";
}

TEST(SdpaTile, obeysTheLimitsOfEveryDevice) {
  for (const SdpaDevice &device : {kMali, kAdreno, kNvidia})
    for (int64_t headDim : {4, 12, 20, 64, 80, 96, 128, 256})
      for (int64_t group : {1, 2, 4, 7, 8})
        for (int64_t rows : {1, 8, 128})
          for (int64_t bits : {32, 16, 8}) {
            SdpaProblem problem = {rows, 8 * group, 8, headDim, 4096, bits};
            std::optional<SdpaTile> tile = selectSdpaTile(problem, device);
            ASSERT_TRUE(tile) << headDim;
            SCOPED_TRACE(describe(problem, *tile));
            EXPECT_EQ(headDim / 4 % tile->valueLanes, 0);
            EXPECT_EQ(tile->lanes % tile->valueLanes, 0);
            EXPECT_EQ(tile->queries % tile->perInvocation, 0);
            EXPECT_TRUE(group % tile->perInvocation == 0 || group == 1);
            EXPECT_EQ(tile->keys % tile->lanes, 0);
            EXPECT_GE(tile->queries, 1);
            EXPECT_LE(tile->queries, rows * group);
            EXPECT_LE(tile->workgroup(), device.maxInvocations);
            EXPECT_LE(tile->workgroupBytes(problem),
                      device.workgroupMemoryBytes);
            EXPECT_LE(tile->registers, device.registersMax);
            EXPECT_EQ(tile->accumulators,
                      tile->perInvocation * headDim / tile->valueLanes);
            EXPECT_GE(tile->splits, 1);
          }
}

// Many rows: two queries or more share keys and values; on Mali that is worth
// half the occupancy, and stays clear of spills at 64 registers.
TEST(SdpaTile, queriesOfManyRowsShareKeys) {
  for (int64_t headDim : {64, 80, 96, 128, 256})
    for (int64_t group : {1, 4})
      for (const SdpaDevice &device : {kMali, kAdreno}) {
        SdpaProblem problem = {128, 8 * group, 8, headDim, 4096, 16};
        SdpaTile tile = *selectSdpaTile(problem, device);
        SCOPED_TRACE(describe(problem, tile));
        EXPECT_GE(tile.perInvocation, 2);
        if (device.tradesOccupancy)
          EXPECT_LE(tile.registers, 57);
        else
          EXPECT_LE(tile.registers, device.registersFullOccupancy);
      }
}

TEST(SdpaTile, fewRowsKeepFullOccupancy) {
  for (int64_t headDim : {64, 80, 96, 128, 256})
    for (int64_t group : {1, 4, 8})
      for (int64_t rows : {1, 8})
        for (const SdpaDevice &device : {kMali, kAdreno}) {
          SdpaProblem problem = {rows, 8 * group, 8, headDim, 4096, 16};
          SdpaTile tile = *selectSdpaTile(problem, device);
          SCOPED_TRACE(describe(problem, tile));
          EXPECT_LE(tile.registers, device.registersFullOccupancy);
        }
}

// Registers of Mali-G610 and Adreno 840 with f16 caches (Mesa 26.2.6).
TEST(SdpaTile, registersAreThoseOfTheCompilers) {
  struct Measured {
    const SdpaDevice &device;
    int64_t headDim, perInvocation, lanes, keys, valueLanes, registers;
  };
  for (const Measured &measured : {Measured{kMali, 128, 1, 32, 32, 32, 30},
                                   {kMali, 128, 1, 16, 16, 16, 42},
                                   {kMali, 128, 1, 16, 32, 16, 49},
                                   {kMali, 128, 2, 16, 16, 16, 56},
                                   {kMali, 128, 2, 16, 32, 16, 62},
                                   {kMali, 128, 1, 32, 64, 16, 48},
                                   {kAdreno, 128, 2, 16, 32, 16, 64},
                                   {kAdreno, 128, 2, 16, 64, 16, 84},
                                   {kAdreno, 128, 2, 16, 16, 16, 64},
                                   {kAdreno, 128, 1, 8, 32, 8, 84},
                                   {kAdreno, 64, 2, 8, 16, 8, 64},
                                   {kAdreno, 64, 2, 8, 32, 8, 84},
                                   {kAdreno, 64, 1, 8, 32, 8, 72},
                                   {kAdreno, 128, 4, 16, 16, 16, 100}}) {
    SdpaTile tile = {};
    tile.queries = tile.perInvocation = measured.perInvocation;
    tile.lanes = measured.lanes;
    tile.keys = measured.keys;
    tile.valueLanes = measured.valueLanes;
    SdpaProblem problem = {128, 32, 8, measured.headDim, 4096, 16};
    EXPECT_NEAR(double(sdpaRegisters(problem, tile, measured.device)),
                double(measured.registers), 0.2 * double(measured.registers))
        << describe(problem, tile);
  }
}

// Instructions per multiply-add of Adreno's loops (Mesa 26.2.6).
TEST(SdpaTile, costIsThatOfTheCompiledLoops) {
  struct Measured {
    int64_t perInvocation, lanes, keys, valueLanes;
    double cost;
  };
  for (const Measured &measured : {Measured{1, 8, 32, 8, 3.17},
                                   {2, 16, 32, 16, 2.41},
                                   {2, 16, 64, 16, 2.26},
                                   {2, 16, 16, 16, 2.67},
                                   {4, 16, 16, 16, 2.12}}) {
    SdpaTile tile = {};
    tile.queries = tile.perInvocation = measured.perInvocation;
    tile.lanes = measured.lanes;
    tile.keys = measured.keys;
    tile.valueLanes = measured.valueLanes;
    SdpaProblem problem = {128, 32, 8, 128, 4096, 16};
    EXPECT_NEAR(sdpaCost(problem, tile), measured.cost, 0.15 * measured.cost)
        << describe(problem, tile);
  }
}

TEST(SdpaTile, decodeFillsTheWorkgroupWithTheHeadsOfAGroup) {
  for (const SdpaDevice &device : {kMali, kAdreno}) {
    SdpaTile tile = *selectSdpaTile({1, 32, 8, 64, 4096, 16}, device);
    EXPECT_EQ(tile.queries, 4);
    EXPECT_EQ(tile.workgroup(), 64);
  }
}

TEST(SdpaTile, aWorkgroupHasAllQueriesOfTheHeadsThatItPrepares) {
  for (const SdpaDevice &device : {kAdreno, kNvidia})
    for (int64_t group : {1, 2, 3, 4, 8, 16})
      for (int64_t headDim : {16, 64, 128, 256}) {
        SdpaProblem problem = {1, 2 * group, 2, headDim, 4096, 16};
        problem.preparesHeads = true;
        std::optional<SdpaTile> tile = selectSdpaTile(problem, device);
        ASSERT_TRUE(tile) << group << " of " << headDim;
        EXPECT_GE(tile->queries, group);
        EXPECT_GE(tile->headsAtOnce(problem), 1);
        EXPECT_LE(tile->workgroup(), device.maxInvocations);
        EXPECT_LE(tile->workgroupBytes(problem), device.workgroupMemoryBytes);
      }
}

TEST(SdpaTile, keysAreSplitWhereHeadsLeaveTheDeviceIdle) {
  EXPECT_EQ(selectSdpaTile({1, 32, 8, 128, 8192, 16}, kNvidia)->splits, 16);
  EXPECT_EQ(selectSdpaTile({1, 32, 8, 128, 8192, 16}, kAdreno)->splits, 3);
  EXPECT_EQ(selectSdpaTile({1, 32, 8, 128, 8192, 16}, kMali)->splits, 1);
}

TEST(SdpaTile, neitherManyRowsNorShortContextsAreSplit) {
  EXPECT_EQ(selectSdpaTile({128, 32, 8, 128, 8192, 16}, kNvidia)->splits, 1);
  EXPECT_EQ(selectSdpaTile({1, 32, 8, 128, 128, 16}, kNvidia)->splits, 1);
}

TEST(SdpaTile, loadsInFlightTakeRegisters) {
  SdpaDevice device = kNvidia;
  const SdpaProblem problem = {1, 32, 8, 128, 8192, 16};
  const SdpaTile before = *selectSdpaTile(problem, device);
  device.loadsAtOnce = 8;
  SdpaTile tile = before;
  EXPECT_GT(sdpaRegisters(problem, tile, device), before.registers);
  EXPECT_EQ(selectSdpaTile(problem, device)->loadsAtOnce, 8);
}

TEST(SdpaTile, nothingFitsADeviceWithoutRegistersOrMemory) {
  EXPECT_FALSE(
      selectSdpaTile({1, 8, 8, 64, 128, 32}, {8, 16, 16, 512, 32768, 4}));
  EXPECT_FALSE(
      selectSdpaTile({1, 8, 8, 64, 128, 32}, {32, 64, 16, 512, 16, 4}));
}

} // namespace
} // namespace llmc::codegen
