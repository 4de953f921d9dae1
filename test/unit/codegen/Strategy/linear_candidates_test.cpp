// SPDX-License-Identifier: Apache-2.0
//
// Which tiles a linear may have, and why others are refused.

#include "codegen/Strategy/LinearCandidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace llmc::codegen {
namespace {

LinearShape shapeOf(int64_t rows) {
  LinearShape shape = {};
  shape.format = WeightFormat::Q4_0;
  shape.rows = rows;
  shape.N = 2048;
  shape.K = 1024;
  shape.numLinears = 1;
  return shape;
}

DeviceLimits device() {
  DeviceLimits limits = {};
  limits.registersFullOccupancy = 64;
  limits.registersMax = 128;
  limits.subgroupSize = 16;
  limits.maxInvocations = 256;
  limits.workgroupMemoryBytes = 16384;
  limits.maxUnroll = 32;
  limits.computeUnits = 4;
  return limits;
}

LinearTile tileOf(bool isGemv, int64_t x, int64_t y, int64_t rows,
                  int64_t columns, int64_t kStep) {
  LinearTile tile = {};
  tile.isGemv = isGemv;
  tile.workgroup[0] = x;
  tile.workgroup[1] = y;
  tile.workgroup[2] = 1;
  tile.rows = rows;
  tile.columns = columns;
  tile.kStep = kStep;
  return tile;
}

LinearProblem problemOf(int64_t rows) { return {shapeOf(rows), device(), {}}; }

std::string check(int64_t rows, const LinearTile &tile) {
  LinearProblem problem = problemOf(rows);
  return checkLinearTile(problem, withEstimate(problem, tile));
}

TEST(LinearTiles, ThatFitArePassed) {
  EXPECT_EQ(check(1, tileOf(true, 64, 1, 1, 4, 32)), "");
  EXPECT_EQ(check(8, tileOf(true, 16, 1, 8, 4, 32)), "");
  EXPECT_EQ(check(1, tileOf(true, 64, 1, 1, 8, 32)), ""); // two tiles
  EXPECT_EQ(check(32, tileOf(false, 16, 4, 4, 8, 8)), "");
}

TEST(LinearTiles, OfSubgroupsMayDealATile) {
  LinearProblem problem = problemOf(1);
  auto check = [&](LinearTile tile, int64_t splits) {
    tile.splits = splits;
    return checkLinearTile(problem, withEstimate(problem, tile));
  };
  EXPECT_EQ(check(tileOf(true, 64, 1, 1, 4, 32), 2),
            "splits is 2, allowed is 1");
  EXPECT_NE(check(tileOf(true, 64, 1, 1, 4, 8), 1), "");
  problem.strategy.gemv.reduction = "subgroup";
  EXPECT_EQ(check(tileOf(true, 48, 1, 1, 4, 8), 2), "");
  EXPECT_EQ(check(tileOf(true, 48, 1, 1, 4, 8), 3),
            "splits is 3, allowed are 1, and 2 and 4 for one tile");
  EXPECT_EQ(check(tileOf(true, 64, 1, 1, 8, 32), 2),
            "splits is 2, allowed are 1, and 2 and 4 for one tile");
  EXPECT_EQ(check(tileOf(true, 40, 1, 1, 4, 8), 1),
            "workgroup must be subgroups of 16 along x, with y and z 1");
}

TEST(LinearTiles, ThatFitNothingAreRefusedByName) {
  EXPECT_EQ(check(9, tileOf(true, 64, 1, 8, 4, 32)),
            "rows of a gemv is 9, allowed are up to 8");
  EXPECT_EQ(check(1, tileOf(true, 64, 1, 1, 4, 128)),
            "tile's k is 128, allowed are powers of two from 32 to 64");
  EXPECT_EQ(check(1, tileOf(true, 64, 1, 1, 4, 16)),
            "tile's k is 16, allowed are powers of two from 32 to 64");
  EXPECT_EQ(check(1, tileOf(true, 64, 1, 2, 4, 32)),
            "tile's rows is 2, allowed are powers of two up to 8 that the 1 "
            "rows need");
  EXPECT_EQ(check(32, tileOf(false, 16, 4, 3, 4, 8)),
            "tile's rows is 3, allowed are powers of two up to 8 that the 32 "
            "rows need");
  EXPECT_EQ(check(1, tileOf(true, 64, 1, 1, 16, 32)),
            "tile's columns is 16, allowed are 4 and 8");
  EXPECT_EQ(check(1, tileOf(true, 8, 1, 1, 4, 32)),
            "workgroup's x is 8, allowed are 16 or more, with y 1");
  EXPECT_EQ(check(32, tileOf(false, 8, 8, 4, 4, 8)),
            "workgroup's x is 8, allowed is more than y, 8");
  EXPECT_EQ(check(32, tileOf(false, 128, 4, 4, 4, 8)),
            "workgroup's number of invocations is 512, allowed are 256");
  EXPECT_EQ(check(8, tileOf(true, 256, 1, 8, 4, 32)),
            "workgroup memory is 40960, allowed are 16384 bytes");
}

TEST(LinearTiles, WithMoreRegistersThanThereAreAreRefused) {
  LinearProblem problem = problemOf(32);
  LinearTile tile = withEstimate(problem, tileOf(false, 16, 4, 8, 8, 8));
  problem.limits.registersMax = tile.registers - 1;
  EXPECT_EQ(checkLinearTile(problem, tile),
            "estimate of registers is " + std::to_string(tile.registers) +
                ", allowed are " + std::to_string(tile.registers - 1));
}

TEST(LinearTiles, OfANormAreGemv) {
  LinearProblem problem = problemOf(8);
  problem.shape.hasNorm = true;
  LinearTile tile = withEstimate(problem, tileOf(false, 16, 4, 4, 4, 8));
  EXPECT_EQ(checkLinearTile(problem, tile),
            "kind is gemm, which computes no norm of its input");
}

TEST(LinearTiles, AreEnumeratedFromTheChosenOne) {
  for (int64_t rows : {1, 8, 32, 512}) {
    LinearProblem problem = problemOf(rows);
    LinearTile chosen = *selectLinearTile(problem.shape, problem.limits, {});
    std::vector<LinearTile> tiles = enumerateLinearTiles(problem, chosen);
    ASSERT_GE(tiles.size(), 3u) << rows;
    EXPECT_TRUE(isSameTile(tiles[0], chosen));
    for (size_t i = 1; i < tiles.size(); ++i) {
      EXPECT_EQ(tiles[i].isGemv, chosen.isGemv);
      EXPECT_EQ(checkLinearTile(problem, tiles[i]), "");
      EXPECT_EQ(tiles[i].workgroup[0] * tiles[i].workgroup[1] % 16, 0);
      EXPECT_EQ(tiles[i].registers, withEstimate(problem, tiles[i]).registers);
    }
    EXPECT_TRUE(std::any_of(tiles.begin(), tiles.end(), [&](auto &tile) {
      return tile.workgroup[0] == 2 * chosen.workgroup[0];
    }));
  }
}

// As lowering has it: 32 columns have a scale, and a share of 4 has an eighth.
TEST(LinearTiles, SharesOfPartsMakeUpGroups) {
  LinearProblem problem = problemOf(1);
  problem.limits.subgroupSize = 8;
  problem.strategy.gemv.reduction = "subgroup";
  auto check = [&](int64_t x, int64_t splits, int64_t kStep) {
    LinearTile tile = tileOf(true, x, 1, 1, 4, kStep);
    tile.splits = splits;
    return checkLinearTile(problem, withEstimate(problem, tile));
  };
  EXPECT_EQ(check(8, 2, 8), "");
  EXPECT_EQ(check(8, 1, 8), "workgroup's number of shares is 2, allowed are "
                            "multiples of the 4 that a group of scales has");
  EXPECT_EQ(check(16, 1, 8), "");
  EXPECT_EQ(check(24, 1, 8), "workgroup's number of shares is 6, allowed are "
                             "multiples of the 4 that a group of scales has");
  problem.strategy.gemv.staging = Staging::Lanes;
  EXPECT_EQ(check(16, 1, 32), "");
  EXPECT_EQ(check(16, 1, 8), "tile's k is 8, allowed are 32 and more where "
                             "lanes hand on the input");
  EXPECT_EQ(check(16, 2, 32),
            "splits is 2, allowed is 1 where lanes hand on the input");
}

TEST(LinearTiles, OfSubgroupsAreProposedWithSplits) {
  LinearProblem problem = problemOf(1);
  auto splitsOf = [&](int64_t x) {
    std::set<int64_t> splits;
    LinearTile chosen = withEstimate(problem, tileOf(true, x, 1, 1, 4, 32));
    for (const LinearTile &tile : enumerateLinearTiles(problem, chosen))
      splits.insert(tile.splits);
    return splits;
  };
  EXPECT_EQ(splitsOf(64), std::set<int64_t>{1});
  problem.strategy.gemv.reduction = "subgroup";
  EXPECT_EQ(splitsOf(64), (std::set<int64_t>{1, 2, 4}));
}

} // namespace
} // namespace llmc::codegen
