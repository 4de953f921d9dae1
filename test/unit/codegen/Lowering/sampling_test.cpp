// SPDX-License-Identifier: Apache-2.0
//
// How logits are shared among the invocations that look for the likeliest.

#include "codegen/Lowering/SamplingKernels.h"

#include "gtest/gtest.h"

namespace llmc::codegen {
namespace {

TEST(SamplingShares, FewComputeUnitsHaveAWorkgroupEachAlready) {
  EXPECT_EQ(samplingLogitsPerLane(151936, 256, 12), 16); // 38 workgroups
  EXPECT_EQ(samplingLogitsPerLane(151936, 256, 38), 16);
  EXPECT_EQ(samplingLogitsPerLane(32000, 256, 4), 16); // 8 workgroups
}

TEST(SamplingShares, ManyComputeUnitsHaveSmallerOnes) {
  EXPECT_EQ(samplingLogitsPerLane(151936, 256, 39), 8); // 75 workgroups
  EXPECT_EQ(samplingLogitsPerLane(151936, 256, 75), 8);
  EXPECT_EQ(samplingLogitsPerLane(151936, 256, 132), 4); // 149
  EXPECT_EQ(samplingLogitsPerLane(151936, 256, 1000), 4);
  EXPECT_EQ(samplingLogitsPerLane(32000, 256, 12), 8); // 16
}

TEST(SamplingShares, NoMoreWorkgroupsThanInvocations) {
  EXPECT_EQ(samplingLogitsPerLane(262144, 256, 200), 4);  // 256 workgroups
  EXPECT_EQ(samplingLogitsPerLane(262145, 256, 200), 8);  // would be 257
  EXPECT_EQ(samplingLogitsPerLane(600000, 256, 200), 16); // 147, would be 293
  EXPECT_EQ(samplingLogitsPerLane(5000, 8, 100), 16); // 40, too many as it is
}

} // namespace
} // namespace llmc::codegen
