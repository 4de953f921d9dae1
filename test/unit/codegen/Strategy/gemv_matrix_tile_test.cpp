// SPDX-License-Identifier: Apache-2.0
//
// Which linears of one row an H200 multiplies in matrix units, and how: those
// that were measured to be faster so (docs/performance.md). Which other tiles
// there are, and what is refused by name.

#include "codegen/Strategy/GemvMatrixTile.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace llmc::codegen {
namespace {

const DeviceLimits kH200 = {32, 255, 32, 1024, 49152, 128, 132};

GemvStrategy withFragments() {
  GemvStrategy strategy;
  strategy.matrixFragments = true;
  return strategy;
}

std::optional<GemvMatrixSizes> select(WeightFormat format, int64_t N, int64_t K,
                                      int64_t numLinears = 1,
                                      bool hasNorm = false) {
  return selectGemvMatrixTile({format, 1, N, K, numLinears, hasNorm}, kH200,
                              withFragments());
}

// Gate/up and QKV of a 3B model, whose subgroups have two chunks, and of a 0.6B
// model.
TEST(GemvMatrixTile, pairsAndNormsHaveRowsByTheirChunks) {
  const GemvMatrixSizes ofTwo = {8 * 32, 1, 16, 128, 0},
                        ofOne = {8 * 32, 1, 32, 128, 0};
  EXPECT_EQ(select(WeightFormat::Q4_K, 11008, 2048, 2), ofTwo);
  EXPECT_EQ(select(WeightFormat::Q4_K, 11008, 2048, 2, true), ofTwo);
  EXPECT_EQ(select(WeightFormat::Q4_K, 2304, 2048, 1, true), ofTwo);
  EXPECT_EQ(select(WeightFormat::Q4_K, 3072, 1024, 2, true), ofOne);
  EXPECT_EQ(select(WeightFormat::Q4_K, 4096, 1024, 1, true), ofOne);
  EXPECT_EQ(select(WeightFormat::Q4_K, 4096, 512, 1, true),
            (GemvMatrixSizes{4 * 32, 1, 32, 128, 0}));
  EXPECT_FALSE(select(WeightFormat::Q4_K, 1024, 1024, 1, true)); // few rows
  EXPECT_FALSE(select(WeightFormat::Q6_K, 4096, 1024, 1, true));
  EXPECT_FALSE(select(WeightFormat::Q4_K, 4096, 1024)); // no norm
  EXPECT_TRUE(select(WeightFormat::Q4_K, 11008, 8192, 2));
  EXPECT_FALSE(select(WeightFormat::Q4_K, 11008, 8448, 2)); // more than 8 turns
}

TEST(GemvMatrixTile, subgroupsGoOverTheTilesOfVocabularies) {
  const GemvMatrixSizes inTurn = {8 * 32, 1, 32, 64, 8 * 132};
  EXPECT_EQ(select(WeightFormat::Q6_K, 151936, 1024), inTurn);
  EXPECT_EQ(select(WeightFormat::Q6_K, 151936, 2048), inTurn);
  EXPECT_FALSE(select(WeightFormat::Q6_K, 151936, 4096)); // long rows
}

// 64 workgroups of 32 rows are half of the multiprocessors. A 3B model's down,
// and its output, whose subgroups have a chunk each.
TEST(GemvMatrixTile, fewRowsAreSixteenAWorkgroup) {
  EXPECT_EQ(select(WeightFormat::Q4_K, 2048, 11008),
            (GemvMatrixSizes{24 * 32, 1, 16, 128, 0}));
  EXPECT_EQ(select(WeightFormat::Q6_K, 2048, 11008),
            (GemvMatrixSizes{24 * 32, 1, 16, 64, 0}));
  EXPECT_EQ(select(WeightFormat::Q4_K, 2048, 2048),
            (GemvMatrixSizes{16 * 32, 1, 16, 128, 0}));
  EXPECT_FALSE(select(WeightFormat::Q4_K, 1024, 11008)); // half are idle still
  EXPECT_FALSE(select(WeightFormat::Q4_K, 2560, 11008)); // two rounds
  EXPECT_FALSE(select(WeightFormat::Q4_K, 2048, 1024));  // few columns
  EXPECT_FALSE(select(WeightFormat::Q4_K, 2048, 11008, 1, true));
}

TEST(GemvMatrixTile, othersAreEnumerated) {
  LinearShape shape = {WeightFormat::Q4_K, 1, 2560, 2048, 1, true};
  auto enumerate = [&](std::optional<GemvMatrixSizes> chosen,
                       const GemvStrategy &strategy) {
    return enumerateGemvMatrixTiles(shape, chosen, kH200, strategy);
  };
  std::vector<GemvMatrixSizes> all = enumerate(std::nullopt, withFragments());
  ASSERT_EQ(all.size(), 7U); // 32, 16 and 8 subgroups, and tiles in turn
  EXPECT_EQ(all.front(), (GemvMatrixSizes{32 * 32, 1, 16, 128, 0}));
  EXPECT_EQ(all.back(), (GemvMatrixSizes{8 * 32, 1, 32, 128, 8 * 132}));
  for (const GemvMatrixSizes &tile : all)
    EXPECT_EQ(checkGemvMatrixTile(shape, tile, kH200, withFragments()), "");
  std::vector<GemvMatrixSizes> others = enumerate(all[3], withFragments());
  EXPECT_EQ(others.size(), 6U);
  EXPECT_EQ(std::find(others.begin(), others.end(), all[3]), others.end());
  EXPECT_TRUE(enumerate(std::nullopt, {}).empty());
  shape.format = WeightFormat::Q8_0;
  EXPECT_TRUE(enumerate(std::nullopt, withFragments()).empty());
}

TEST(GemvMatrixTile, whatDoesNotFitIsRefusedByName) {
  const LinearShape down = {WeightFormat::Q4_K, 1, 2048, 11008, 1, false};
  const GemvMatrixSizes good = {32 * 32, 1, 16, 128, 0};
  auto check = [&](auto change) {
    LinearShape shape = down;
    GemvMatrixSizes tile = good;
    DeviceLimits device = kH200;
    change(shape, tile, device);
    return checkGemvMatrixTile(shape, tile, device, withFragments());
  };
  using Shape = LinearShape;
  using Sizes = GemvMatrixSizes;
  using Limits = DeviceLimits;
  EXPECT_EQ(check([](Shape &, Sizes &, Limits &) {}), "");
  EXPECT_EQ(checkGemvMatrixTile(down, good, kH200, {}),
            "kind is 'gemv_matrix', which needs a device whose lanes hold "
            "matrices in a known way");
  EXPECT_EQ(check([](Shape &shape, Sizes &, Limits &) { shape.rows = 2; }),
            "rows of a gemv_matrix is 2, allowed is 1");
  EXPECT_EQ(check([](Shape &shape, Sizes &, Limits &) { shape.isInt8 = true; }),
            "activations are i8, allowed are f32 for a gemv_matrix");
  EXPECT_EQ(check([](Shape &shape, Sizes &, Limits &) {
              shape.format = WeightFormat::Q8_0;
            }),
            "format is q8_0, allowed are whole numbers of 4 to 6 bits");
  EXPECT_EQ(check([](Shape &shape, Sizes &, Limits &) { shape.K = 11040; }),
            "the weight's number of columns is 11040, allowed are multiples of "
            "256");
  EXPECT_EQ(
      check([](Shape &, Sizes &, Limits &device) { device.subgroupSize = 64; }),
      "the device's subgroup is 64, allowed are 32 invocations");
  EXPECT_EQ(check([](Shape &, Sizes &tile, Limits &) { tile.rows = 2; }),
            "tile's rows is 2, allowed is 1");
  EXPECT_EQ(check([](Shape &, Sizes &tile, Limits &) { tile.columns = 8; }),
            "tile's columns is 8, allowed are 16 and 32");
  EXPECT_EQ(
      check([](Shape &, Sizes &tile, Limits &) { tile.tileWorkgroups = 4; }),
      "tile's columns is 16, allowed are 32 where workgroups go over all "
      "tiles");
  EXPECT_EQ(check([](Shape &, Sizes &tile, Limits &) { tile.kStep = 64; }),
            "tile's k is 64, allowed is 128");
  EXPECT_EQ(
      check([](Shape &, Sizes &tile, Limits &) { tile.invocations = 48; }),
      "workgroup's number of invocations is 48, allowed are whole subgroups of "
      "32");
  EXPECT_EQ(
      check([](Shape &, Sizes &tile, Limits &) { tile.invocations = 2048; }),
      "workgroup's number of invocations is 2048, allowed are 1024");
  // All of x and zeros for a chunk, and two numbers of 344 groups; sums of 32
  // subgroups replace x where 2048 bytes more are not there.
  EXPECT_EQ(check([](Shape &, Sizes &, Limits &device) {
              device.workgroupMemoryBytes = 47295;
            }),
            "workgroup memory is 47296, allowed are 47295 bytes");
  EXPECT_EQ(check([](Shape &shape, Sizes &, Limits &) { shape.K = 12288; }),
            "workgroup memory is 52736, allowed are 49152 bytes");
  // Of a pair whose sums have no room in x either.
  EXPECT_EQ(check([](Shape &shape, Sizes &tile, Limits &device) {
              shape.numLinears = 2;
              shape.K = 1024;
              tile.columns = 32;
              device.workgroupMemoryBytes = 12800;
            }),
            "workgroup memory is 13056, allowed are 12800 bytes");
  // Tiles in turn have no such sums.
  EXPECT_EQ(check([](Shape &shape, Sizes &tile, Limits &device) {
              shape.K = 1024;
              tile = {8 * 32, 1, 32, 128, 1056};
              device.workgroupMemoryBytes = 4863;
            }),
            "workgroup memory is 4864, allowed are 4863 bytes");
}

TEST(GemvMatrixTile, othersAreNotForMatrixUnits) {
  EXPECT_FALSE(select(WeightFormat::Q4_0, 11008, 2048, 2));
  EXPECT_FALSE(select(WeightFormat::Q4_K, 2560, 2048)); // one linear, no norm
  EXPECT_FALSE(select(WeightFormat::Q6_K, 1024, 3072)); // likewise
  EXPECT_FALSE(selectGemvMatrixTile(
      {WeightFormat::Q4_K, 2, 11008, 2048, 2, false}, kH200, withFragments()));
  EXPECT_FALSE(selectGemvMatrixTile(
      {WeightFormat::Q4_K, 1, 11008, 2048, 2, false}, kH200, {}));
}

} // namespace
} // namespace llmc::codegen
