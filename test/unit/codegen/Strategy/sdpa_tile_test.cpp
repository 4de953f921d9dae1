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
            EXPECT_LE(tile->workgroupBytes(), device.workgroupMemoryBytes);
            EXPECT_LE(tile->registers, device.registersMax);
            EXPECT_EQ(tile->accumulators, headDim / tile->lanes);
            EXPECT_GE(tile->splits, 1);
          }
}

// On Mali 16 lanes a query at head dimension 128 is what keeps two threads; on
// Adreno 8 still have all 16 waves.
TEST(SdpaTile, lanesFollowTheRegisters) {
  SdpaProblem prefill = {128, 32, 8, 128, 4096, false};
  EXPECT_EQ(selectSdpaTile(prefill, kMali)->lanes, 16);
  EXPECT_EQ(selectSdpaTile(prefill, kAdreno)->lanes, 8);
  EXPECT_LE(selectSdpaTile(prefill, kMali)->registers,
            kMali.registersFullOccupancy);
  EXPECT_LE(selectSdpaTile(prefill, kAdreno)->registers,
            kAdreno.registersFullOccupancy);
}

TEST(SdpaTile, decodeFillsTheWorkgroupWithTheHeadsOfAGroup) {
  std::optional<SdpaTile> tile =
      selectSdpaTile({1, 32, 8, 128, 4096, false}, kMali);
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
