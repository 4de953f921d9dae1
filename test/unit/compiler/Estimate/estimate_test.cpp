// SPDX-License-Identifier: Apache-2.0
//
// The roofline and the sums over a step, by hand.

#include "test/unit/compiler/Estimate/TinyProgram.h"

#include "compiler/Estimate/Estimate.h"

namespace llmc::estimate {
namespace {

/// Everything that is described is reached.
Assumptions ideal() {
  Assumptions assumptions;
  assumptions.bandwidthShare = 1;
  return assumptions;
}

DispatchWork linear(double bytes, double multiplyAdds) {
  DispatchWork work;
  work.kind = "gemv";
  work.encoding = "Q4_0";
  work.weightBytes = bytes;
  work.multiplyAdds = multiplyAdds;
  work.workgroups = 4;
  work.isDependent = true;
  work.kernel.add_tile(1);
  work.kernel.add_tile(4);
  work.kernel.set_registers(32);
  return work;
}

// 1 multiply-add, 2 to decode, 2 instructions a load: one of codes for 32, one
// of x for 16 multiply-adds.
constexpr double kPerMultiplyAdd = 1 + 2 + 2 * (1.0 / 32 + 1.0 / 16);

TEST(InstructionsPerMultiplyAdd, AreThoseOfTheBestDecodeKernels) {
  // Measured with Mesa 26.2.6: 2.98 on Adreno 840, 3.23 on Mali-G76.
  DispatchWork work = linear(1, 1);
  EXPECT_NEAR(instructionsPerMultiplyAdd(work, description::ADRENO), 2.98,
              0.25);
  EXPECT_NEAR(instructionsPerMultiplyAdd(work, description::BIFROST), 3.23,
              0.25);
  // And 1.85 with f16 on Mali-G610.
  work.kernel.set_arithmetic("f16");
  EXPECT_NEAR(instructionsPerMultiplyAdd(work, description::VALHALL), 1.85,
              0.25);
}

TEST(InstructionsPerMultiplyAdd, FallWithRowsThatShareADecodedWeight) {
  DispatchWork work = linear(1, 1);
  work.kind = "gemm";
  work.kernel.set_tile(0, 8);
  EXPECT_DOUBLE_EQ(instructionsPerMultiplyAdd(work, description::ADRENO),
                   1 + 2.0 / 8 + 2 * (1.0 / 256 + 1.0 / 16));
}

TEST(Occupancy, FollowsTheSteps) {
  description::Registers registers = tinyDevice().registers();
  EXPECT_DOUBLE_EQ(occupancyOf(registers, 32), 1);
  EXPECT_DOUBLE_EQ(occupancyOf(registers, 33), 0.4);
  EXPECT_DOUBLE_EQ(occupancyOf(registers, 90), 0.4);
  EXPECT_DOUBLE_EQ(occupancyOf(registers, 0), 1);
}

TEST(Dispatch, IsAsLongAsTheSlowerOfMemoryAndArithmetic) {
  // 1 MB at 10 GB/s: 100 us. 1 M multiply-adds at 100 G instructions/s.
  Time time = estimateDispatch(linear(1e6, 1e6), tinyDevice(), ideal());
  EXPECT_DOUBLE_EQ(time.memoryMicroseconds, 100);
  EXPECT_DOUBLE_EQ(time.arithmeticMicroseconds, 10 * kPerMultiplyAdd);
  EXPECT_DOUBLE_EQ(time.totalMicroseconds, 102);
  time = estimateDispatch(linear(1e5, 1e6), tinyDevice(), ideal());
  EXPECT_DOUBLE_EQ(time.totalMicroseconds, 10 * kPerMultiplyAdd + 2);
}

TEST(Dispatch, LosesWhatItCannotFill) {
  DispatchWork work = linear(1e6, 1e6);
  work.workgroups = 1; // of 4 compute units
  Time time = estimateDispatch(work, tinyDevice(), ideal());
  EXPECT_DOUBLE_EQ(time.memoryMicroseconds, 400);
  EXPECT_DOUBLE_EQ(time.arithmeticMicroseconds, 40 * kPerMultiplyAdd);
}

TEST(Dispatch, IssuesLessBelowSufficientOccupancy) {
  DispatchWork work = linear(1e6, 1e6);
  work.kernel.set_registers(33); // 40 % resident, where 50 % suffice
  Time time = estimateDispatch(work, tinyDevice(), ideal());
  EXPECT_DOUBLE_EQ(time.arithmeticMicroseconds, 10 * kPerMultiplyAdd / 0.8);
  EXPECT_DOUBLE_EQ(time.memoryMicroseconds, 100);
}

TEST(Dispatch, ThatWaitsForNothingStartsSooner) {
  DispatchWork work = linear(1e6, 1e6);
  work.isDependent = false;
  Time time = estimateDispatch(work, tinyDevice(), ideal());
  EXPECT_DOUBLE_EQ(time.launchMicroseconds, 0.2);
}

TEST(Dispatch, TakesTheAssumedLaunchWhereNoneIsDescribed) {
  description::Target device = tinyDevice();
  device.mutable_performance()->clear_dispatch_microseconds();
  Time time = estimateDispatch(linear(1, 1), device, ideal());
  EXPECT_DOUBLE_EQ(time.launchMicroseconds, ideal().dispatchMicroseconds);
}

struct WholeModel : testing::Test {
  format::Manifest manifest = tinyManifest();
  description::Target device = tinyDevice();

  StatusOr<Estimator> create() {
    return Estimator::create(manifest, manifest.variants(0), device, ideal());
  }
};

TEST_F(WholeModel, DecodeIsForwardAndLogits) {
  auto estimator = create();
  ASSERT_TRUE(estimator.ok()) << estimator.status().message();
  DecodeEstimate decode = estimator->estimateDecode(99);
  // Embedding, linear, attention with a tenth of the cache, output.
  double bytes =
      (200 + 464) + (576000 + 8096) + (40000 + 64 + 2048) + (576000 + 8096);
  EXPECT_DOUBLE_EQ(decode.bytes, bytes);
  // Embedding has one workgroup, attention two; both are short of four units.
  EXPECT_NEAR(decode.time.memoryMicroseconds,
              1e-4 * (4 * 664 + 584096 + 2 * 42112 + 584096), 1e-9);
  EXPECT_DOUBLE_EQ(decode.time.launchMicroseconds, 2 + 2 + 0.2 + 2);
  EXPECT_DOUBLE_EQ(decode.tokensPerSecond(),
                   1e6 / decode.time.totalMicroseconds);
}

TEST_F(WholeModel, APromptIsItsStepsAndOneRowOfLogits) {
  auto estimator = create();
  ASSERT_TRUE(estimator.ok());
  PromptEstimate one = estimator->estimatePrompt({{1, 1}});
  PromptEstimate two = estimator->estimatePrompt({{1, 1}, {1, 1}});
  EXPECT_EQ(two.tokens, 2);
  EXPECT_DOUBLE_EQ(one.time.launchMicroseconds, 4.2 + 2);
  EXPECT_DOUBLE_EQ(two.time.launchMicroseconds, 2 * 4.2 + 2);
}

TEST_F(WholeModel, MemoryIsTheBuffers) {
  auto estimator = create();
  ASSERT_TRUE(estimator.ok());
  MemoryEstimate memory = estimator->estimateMemory();
  EXPECT_EQ(memory.weights, 596000u);
  EXPECT_EQ(memory.state, 400000u);
  EXPECT_EQ(memory.scratch, 8192u);
  EXPECT_EQ(memory.total(), 596000u + 400000u + 8192u + 4128u);
}

TEST_F(WholeModel, NeedsFactsOfTheDevice) {
  device.mutable_performance()->clear_bandwidth_gb_per_s();
  EXPECT_EQ(create().status().message(),
            "the description of 'test' has no performance.bandwidth_gb_per_s, "
            "without which nothing can be estimated");
}

TEST_F(WholeModel, NeedsALanguageModel) {
  manifest.mutable_variants(0)->mutable_entries()->RemoveLast();
  EXPECT_EQ(create().status().code(), StatusCode::Unsupported);
}

} // namespace
} // namespace llmc::estimate
