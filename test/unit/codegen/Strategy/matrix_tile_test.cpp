// SPDX-License-Identifier: Apache-2.0
//
// Tiles of matrix units: within the device's limits, and as large as leaves no
// compute unit idle.

#include "codegen/Strategy/MatrixTile.h"

#include <gtest/gtest.h>

namespace llmc::codegen {
namespace {

DeviceLimits device() { return {32, 255, 32, 1024, 49152, 128, 132}; }

LinearShape shape(int64_t rows, int64_t N, int64_t K, int64_t numLinears = 1) {
  return {WeightFormat::Q4_0, rows, N, K, numLinears, false};
}

TEST(MatrixTile, LargeResultsTakeLargeTiles) {
  auto tile = selectMatrixTile(shape(512, 4096, 1024), device());
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->rows, 128);
  EXPECT_EQ(tile->columns, 128);
  EXPECT_EQ(tile->invocations, 256);
  EXPECT_EQ(tile->accumulators, 64);
}

/// Workgroups of a linear.
int64_t groupsOf(const LinearShape &shape, const MatrixTile &tile) {
  return ceilDiv(shape.rows, tile.rows) * ceilDiv(shape.N, tile.columns) *
         tile.splits;
}

TEST(MatrixTile, OthersAreProposedThatFit) {
  LinearShape wanted = shape(64, 2048, 11008);
  MatrixTile chosen = *selectMatrixTile(wanted, device());
  std::vector<MatrixTile> tiles =
      enumerateMatrixTiles(wanted, chosen, device(), 100);
  EXPECT_TRUE(isSameTile(tiles.front(), chosen));
  bool hasOtherSplits = false, hasOtherShape = false;
  for (size_t i = 1; i < tiles.size(); ++i) {
    EXPECT_EQ(checkMatrixTile(wanted, tiles[i], device()), "");
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(isSameTile(tiles[i], tiles[j]));
    MatrixTile otherwise = tiles[i];
    otherwise.splits = chosen.splits;
    hasOtherSplits |= isSameTile(otherwise, chosen);
    hasOtherShape |= !isSameTile(otherwise, chosen);
  }
  EXPECT_TRUE(hasOtherSplits);
  EXPECT_TRUE(hasOtherShape);
  EXPECT_EQ(enumerateMatrixTiles(wanted, chosen, device(), 4).size(), 4u);
}

TEST(MatrixTile, SmallResultsFillTheDevice) {
  for (int64_t rows : {16, 64, 128, 512})
    for (int64_t N : {1024, 2048, 2560, 22016})
      for (int64_t K : {2048, 11008}) {
        LinearShape wanted = shape(rows, N, K);
        auto tile = selectMatrixTile(wanted, device());
        ASSERT_TRUE(tile);
        EXPECT_GE(groupsOf(wanted, *tile), device().computeUnits * 3 / 4)
            << rows << " rows, " << N << "x" << K;
      }
}

TEST(MatrixTile, FewRowsTakeLowTilesAndShareK) {
  for (int64_t rows : {16, 32, 64}) {
    auto tile = selectMatrixTile(shape(rows, 2048, 11008), device());
    ASSERT_TRUE(tile);
    EXPECT_LE(tile->rows, std::max<int64_t>(rows, 32));
    EXPECT_GT(tile->splits, 1);
  }
  // Nothing to share where the result alone fills the device.
  auto wide = selectMatrixTile(shape(512, 151936, 2048), device());
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->splits, 1);
}

TEST(MatrixTile, APairSharesTheColumns) {
  auto one = selectMatrixTile(shape(512, 4096, 1024), device()),
       two = selectMatrixTile(shape(512, 2048, 1024, 2), device());
  ASSERT_TRUE(one && two);
  EXPECT_EQ(two->columns * 2, one->columns);
  EXPECT_EQ(two->subgroupColumns * 2, one->subgroupColumns);
  EXPECT_EQ(two->invocations, one->invocations);
}

TEST(MatrixTile, StaysWithinLimits) {
  for (int64_t bytes : {16384, 24576, 49152})
    for (int64_t invocations : {128, 256})
      for (int64_t numLinears : {1, 2}) {
        DeviceLimits limits = device();
        limits.workgroupMemoryBytes = bytes;
        limits.maxInvocations = invocations;
        LinearShape wanted = shape(512, 4096, 1024, numLinears);
        auto tile = selectMatrixTile(wanted, limits);
        if (!tile)
          continue;
        EXPECT_LE(matrixWorkgroupBytes(wanted, *tile), bytes);
        EXPECT_LE(tile->invocations, invocations);
        EXPECT_LE(tile->registers, limits.registersMax);
      }
}

MatrixTile tileOf(const LinearShape &shape, llvm::ArrayRef<int64_t> sizes,
                  int64_t splits = 1) {
  MatrixTile tile{};
  tile.setSizes(sizes);
  tile.splits = splits;
  return withEstimate(shape, tile, device());
}

TEST(MatrixTile, SaysWhatDoesNotFit) {
  LinearShape wanted = shape(512, 4096, 1024);
  auto check = [&](llvm::ArrayRef<int64_t> sizes, int64_t splits = 1) {
    return checkMatrixTile(wanted, tileOf(wanted, sizes, splits), device());
  };
  EXPECT_EQ(check({128, 128, 64, 64, 32, 1}), "");
  EXPECT_EQ(check({128, 128, 64, 64, 32, 1}, 16), "");
  EXPECT_EQ(check({128, 128, 64, 48, 32, 1}),
            "tile's rows is 128, allowed are multiples of 48");
  EXPECT_EQ(check({128, 128, 64, 64, 24, 1}),
            "tile's columns is 128, allowed are multiples of 24");
  EXPECT_EQ(check({128, 128, 64, 64, 0, 1}),
            "tile's columns is 128, allowed are multiples of 0");
  EXPECT_EQ(check({128, 64, 64, 32, 32, 1}), ""); // half of them have weights
  EXPECT_EQ(check({128, 16, 32, 16, 16, 1}),
            "tile's vectors of weights is 16, allowed are multiples of the "
            "workgroup's 256 invocations");
  EXPECT_EQ(check({128, 128, 64, 64, 32, 3}),
            "tile's buffers is 3, allowed are 1 and 2");
  EXPECT_EQ(check({128, 128, 64, 64, 32, 1}, 15),
            "splits is 15, allowed are those that share 16 steps with none "
            "empty");
  EXPECT_EQ(check({128, 128, 64, 64, 64, 1}),
            "estimate of registers is 280, allowed are 255");
  EXPECT_EQ(check({128, 128, 64, 64, 32, 2}),
            "workgroup memory is 74272, allowed are 49152 bytes");
}

TEST(MatrixTile, NothingForOtherLinears) {
  EXPECT_TRUE(selectMatrixTile(shape(512, 4096, 96), device()));
  EXPECT_FALSE(selectMatrixTile(shape(512, 4096, 80), device()));
  EXPECT_FALSE(selectMatrixTile(shape(512, 4096, 1024, 3), device()));
  LinearShape norm = shape(512, 4096, 1024);
  norm.hasNorm = true;
  EXPECT_FALSE(selectMatrixTile(norm, device()));
  LinearShape int8 = shape(512, 4096, 1024);
  int8.isInt8 = true;
  EXPECT_FALSE(selectMatrixTile(int8, device()));
  DeviceLimits tiny = device();
  tiny.workgroupMemoryBytes = 4096;
  EXPECT_FALSE(selectMatrixTile(shape(512, 4096, 1024), tiny));
}

} // namespace
} // namespace llmc::codegen
