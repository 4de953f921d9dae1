// SPDX-License-Identifier: Apache-2.0
//
// Tiles of attention: they obey every limit, and are what the mobile targets'
// compilers did best with.

#include "codegen/Strategy/SdpaTile.h"

#include <gtest/gtest.h>

#include <string>

namespace llmc::codegen {
namespace {

constexpr SdpaDevice kMali = {32, 64, 16, 512, 32768, 4};
constexpr SdpaDevice kAdreno = {64, 192, 64, 1024, 32768, 12};
constexpr SdpaDevice kNvidia = {64, 255, 32, 1024, 49152, 132};

std::string describe(const SdpaProblem &problem, const SdpaTile &tile) {
  return "head dimension " + std::to_string(problem.headDim) + ", rows " +
         std::to_string(problem.rows) + ": " + std::to_string(tile.queries) +
         " queries, " + std::to_string(tile.lanes) + " lanes, " +
         std::to_string(tile.keys) + " keys, " +
         std::to_string(tile.registers) + " registers";
}

TEST(SdpaTile, obeysTheLimitsOfEveryDevice) {
  for (const SdpaDevice &device : {kMali, kAdreno, kNvidia})
    for (int64_t headDim : {4, 12, 20, 64, 80, 96, 128, 256})
      for (int64_t group : {1, 2, 4, 7, 8})
        for (int64_t rows : {1, 8, 128})
          for (bool isHalf : {false, true}) {
            SdpaProblem problem = {rows, 8 * group, 8, headDim, 4096, isHalf};
            std::optional<SdpaTile> tile = selectSdpaTile(problem, device);
            ASSERT_TRUE(tile) << headDim;
            SCOPED_TRACE(describe(problem, *tile));
            EXPECT_EQ(headDim / 4 % tile->lanes, 0);
            EXPECT_EQ(tile->keys % tile->lanes, 0);
            EXPECT_GE(tile->queries, 1);
            EXPECT_LE(tile->queries, rows * group);
            EXPECT_LE(tile->workgroup(), device.maxInvocations);
            EXPECT_LE(tile->workgroupBytes(problem),
                      device.workgroupMemoryBytes);
            EXPECT_LE(tile->registers, device.registersMax);
            EXPECT_EQ(tile->accumulators, headDim / tile->lanes);
            EXPECT_GE(tile->splits, 1);
          }
}

// What Mesa's compilers for the targets gave full occupancy to, and how many
// registers they took (Mali-G610).
TEST(SdpaTile, lanesAndKeysFollowTheRegisters) {
  auto expectTile = [](const SdpaDevice &device, int64_t headDim, int64_t lanes,
                       int64_t keys) {
    SdpaProblem problem = {128, 32, 8, headDim, 4096, true};
    SdpaTile tile = *selectSdpaTile(problem, device);
    SCOPED_TRACE(describe(problem, tile));
    EXPECT_EQ(tile.lanes, lanes);
    EXPECT_EQ(tile.keys, keys);
    EXPECT_LE(tile.registers, device.registersFullOccupancy);
  };
  expectTile(kMali, 64, 16, 16);
  expectTile(kMali, 128, 32, 32);
  expectTile(kAdreno, 64, 4, 16);
  expectTile(kAdreno, 128, 8, 32);
}

TEST(SdpaTile, registersAreThoseOfTheCompiler) {
  struct Measured {
    int64_t headDim, lanes, keys, registers;
  };
  for (Measured measured : {Measured{64, 16, 16, 30},
                            {64, 16, 32, 38},
                            {64, 8, 8, 39},
                            {64, 8, 16, 46},
                            {64, 8, 32, 54},
                            {128, 16, 16, 40},
                            {128, 16, 32, 47},
                            {128, 32, 32, 30},
                            {128, 8, 8, 47},
                            {128, 8, 32, 60}}) {
    SdpaTile tile = {
        64 / measured.lanes, measured.lanes, measured.keys, 1, 0, 0};
    EXPECT_NEAR(sdpaRegisters({128, 32, 8, measured.headDim, 4096, true}, tile),
                measured.registers, 3)
        << measured.headDim << ", " << measured.lanes << ", " << measured.keys;
  }
}

TEST(SdpaTile, decodeFillsTheWorkgroupWithTheHeadsOfAGroup) {
  std::optional<SdpaTile> tile =
      selectSdpaTile({1, 32, 8, 64, 4096, true}, kMali);
  EXPECT_EQ(tile->queries, 4);
  EXPECT_EQ(tile->lanes, 16);
}

TEST(SdpaTile, keysAreSplitWhereHeadsLeaveTheDeviceIdle) {
  EXPECT_EQ(selectSdpaTile({1, 32, 8, 128, 8192, true}, kNvidia)->splits, 16);
  EXPECT_EQ(selectSdpaTile({1, 32, 8, 128, 8192, true}, kAdreno)->splits, 3);
  EXPECT_EQ(selectSdpaTile({1, 32, 8, 128, 8192, true}, kMali)->splits, 1);
}

TEST(SdpaTile, neitherManyRowsNorShortContextsAreSplit) {
  EXPECT_EQ(selectSdpaTile({128, 32, 8, 128, 8192, true}, kNvidia)->splits, 1);
  EXPECT_EQ(selectSdpaTile({1, 32, 8, 128, 128, true}, kNvidia)->splits, 1);
}

TEST(SdpaTile, nothingFitsADeviceWithoutRegistersOrMemory) {
  EXPECT_FALSE(
      selectSdpaTile({1, 8, 8, 64, 128, false}, {8, 16, 16, 512, 32768, 4}));
  EXPECT_FALSE(
      selectSdpaTile({1, 8, 8, 64, 128, false}, {32, 64, 16, 512, 16, 4}));
}

} // namespace
} // namespace llmc::codegen
