// SPDX-License-Identifier: Apache-2.0
//
// The ranking of tiles, by hand.

#include "compiler/Tuning/CostModel.h"

#include <gtest/gtest.h>

#include <google/protobuf/text_format.h>

namespace llmc::tuner {
namespace {

/// 10 GB/s of which 80 % are reached, 100 G instructions a second.
description::Target device() {
  description::Target device;
  bool isParsed = google::protobuf::TextFormat::ParseFromString(R"pb(
    name: "test" family: VALHALL
    registers { steps { registers: 32 occupancy_percent: 100 }
                steps { registers: 64 occupancy_percent: 50 }
                steps { registers: 128 occupancy_percent: 25 } }
    performance { compute_units: 4 bandwidth_gb_per_s: 10 f32_gflops: 200 }
  )pb",
                                                                &device);
  EXPECT_TRUE(isParsed);
  return device;
}

/// 1024 x 1024 weights of half a byte.
CostProblem problem(int64_t rows) {
  CostProblem problem = {};
  problem.shape.format = codegen::WeightFormat::Q4_0;
  problem.shape.rows = rows;
  problem.shape.N = problem.shape.K = 1024;
  problem.shape.numLinears = 1;
  problem.weightBytes = 1024 * 1024 / 2;
  problem.encoding = "Q4_0";
  problem.arithmetic = "f32";
  return problem;
}

Candidate candidate(bool isGemv, int64_t rows, int64_t lanesY,
                    int64_t registers, double instructions) {
  Candidate candidate = {};
  candidate.tile.isGemv = isGemv;
  candidate.tile.workgroup[0] = 16;
  candidate.tile.workgroup[1] = lanesY;
  candidate.tile.workgroup[2] = 1;
  candidate.tile.rows = rows;
  candidate.tile.columns = 4;
  candidate.tile.registers = registers;
  KernelFigures figures;
  figures.registers = registers;
  figures.occupancyPercent = registers <= 32 ? 100 : registers <= 64 ? 50 : 25;
  figures.instructionsPerMultiplyAdd = instructions;
  figures.bytesPerLoad = 16;
  candidate.figures = figures;
  return candidate;
}

// 524288 bytes at 8000 a microsecond; 2^20 multiply-adds at 100000 instructions
// a microsecond.
constexpr double kMemory = 524288.0 / 8000, kPerInstruction = 10.48576;

TEST(Cost, IsTheLargerTimeAndAQuarterOfTheSmaller) {
  EXPECT_DOUBLE_EQ(
      costMicroseconds(problem(1), candidate(true, 1, 1, 32, 2), device()),
      kMemory + 0.25 * 2 * kPerInstruction);
  EXPECT_DOUBLE_EQ(
      costMicroseconds(problem(1), candidate(true, 1, 1, 32, 8), device()),
      8 * kPerInstruction + 0.25 * kMemory);
}

TEST(Cost, CountsPaddingAndPassesOverTheWeights) {
  // Three rows in tiles of two: two passes, four rows computed.
  EXPECT_DOUBLE_EQ(
      costMicroseconds(problem(3), candidate(true, 2, 1, 32, 1), device()),
      2 * kMemory + 0.25 * 4 * kPerInstruction);
  // A GEMM of 4 x 4 rows a workgroup computes 16 of 9, and reads once.
  EXPECT_DOUBLE_EQ(
      costMicroseconds(problem(9), candidate(false, 4, 4, 32, 1), device()),
      16 * kPerInstruction + 0.25 * kMemory);
}

TEST(Cost, TwoTilesOfALinearAreOneWorkgroup) {
  CostProblem odd = problem(1);
  odd.shape.N = 1008; // 63 tiles, of which the last is computed twice
  Candidate pair = candidate(true, 1, 1, 32, 8);
  pair.tile.columns = 8;
  EXPECT_DOUBLE_EQ(costMicroseconds(odd, pair, device()),
                   8 * kPerInstruction + 0.25 * kMemory);
}

TEST(Cost, NarrowLoadsTakeLonger) {
  Candidate narrow = candidate(true, 1, 1, 32, 2);
  narrow.figures->bytesPerLoad = 4;
  EXPECT_DOUBLE_EQ(costMicroseconds(problem(1), narrow, device()),
                   4 * kMemory + 0.25 * 2 * kPerInstruction);
}

TEST(Cost, LanesWithoutAnInvocationIdle) {
  description::Target wide = device();
  wide.mutable_subgroup()->set_size(64); // of which workgroups have 16
  EXPECT_DOUBLE_EQ(
      costMicroseconds(problem(1), candidate(true, 1, 1, 32, 8), wide),
      4 * 8 * kPerInstruction + 0.25 * kMemory);
}

TEST(Cost, BelowHalfOccupancyInstructionsTakeLonger) {
  EXPECT_DOUBLE_EQ(
      costMicroseconds(problem(1), candidate(true, 1, 1, 100, 8), device()),
      2 * 8 * kPerInstruction + 0.25 * kMemory);
}

TEST(Selection, KeepsStrategysChoiceUnlessAnotherIsClearlyBetter) {
  Candidate chosen = candidate(false, 4, 4, 32, 1.0);
  EXPECT_EQ(selectCandidate(problem(512),
                            {chosen, candidate(false, 4, 4, 32, 0.99)},
                            device()),
            0u);
  EXPECT_EQ(selectCandidate(problem(512),
                            {chosen, candidate(false, 4, 4, 32, 0.9),
                             candidate(false, 4, 4, 32, 0.85)},
                            device()),
            2u);
}

TEST(Selection, DiscardsWhatSpills) {
  Candidate spilling = candidate(false, 4, 4, 64, 0.1);
  spilling.figures->spills = 1;
  Candidate local = candidate(false, 4, 4, 64, 0.1);
  local.figures->threadLocalBytes = 16;
  Candidate dear = candidate(false, 4, 4, 32, 5);
  EXPECT_EQ(selectCandidate(problem(512), {dear, spilling, local}, device()),
            0u);
  EXPECT_EQ(selectCandidate(problem(512), {spilling, local, dear}, device()),
            2u);
}

TEST(Selection, GivesUpNoOccupancyThatHidesLoads) {
  // Fewer instructions do not make up for half of the invocations of a GEMV …
  EXPECT_EQ(selectCandidate(
                problem(1),
                {candidate(true, 1, 1, 32, 20), candidate(true, 1, 1, 64, 2)},
                device()),
            0u);
  // … but for those of a GEMM, of which half suffice, and no fewer.
  EXPECT_EQ(selectCandidate(problem(512),
                            {candidate(false, 4, 4, 32, 20),
                             candidate(false, 4, 4, 64, 2),
                             candidate(false, 4, 4, 100, 0.1)},
                            device()),
            1u);
}

TEST(Selection, ComparesOnlyMeasuredOnesWhereThereAreAny) {
  Candidate unknown = candidate(false, 8, 4, 32, 0.1);
  unknown.figures.reset();
  EXPECT_EQ(selectCandidate(problem(512),
                            {candidate(false, 4, 4, 32, 5), unknown}, device()),
            0u);
}

TEST(Selection, TakesTheModelWhereNothingIsMeasured) {
  // Eight rows share a decoded weight instead of one.
  Candidate one = candidate(false, 1, 4, 32, 0),
            eight = candidate(false, 8, 4, 32, 0);
  one.figures.reset();
  eight.figures.reset();
  EXPECT_EQ(selectCandidate(problem(512), {one, eight}, device()), 1u);
}

} // namespace
} // namespace llmc::tuner
