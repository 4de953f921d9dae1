// SPDX-License-Identifier: Apache-2.0
//
// Linears in matrix units, and others of a GPU with subgroups of 32, in
// lockstep on the host.

#include "test/e2e/kernels/LinearCase.h"

namespace llmc::test {
namespace {

constexpr const char *kTarget = "nvidia-h200";

//===----------------------------------------------------------------------===//
// One row
//===----------------------------------------------------------------------===//

/// One row, whose codes are fragments as they are loaded.
class FragmentTest : public GateTest {
protected:
  static std::string config(int lanes, int chunk, int tileWorkgroups,
                            int columns = 32) {
    return "\"gemv_matrix\", workgroup = [" + std::to_string(lanes) +
           ", 1, 1], tile = [1, " + std::to_string(columns) + ", " +
           std::to_string(chunk) + ", " + std::to_string(tileWorkgroups) +
           "], reduction = subgroup";
  }
};

TEST_F(FragmentTest, chunksOfSubgroups) {
  // Rows that fill no tile; fewer chunks than subgroups, as many, more.
  for (int lanes : {64, 256}) {
    checkLinear(makeRandomWeight("q4_k", 75, 1280, 1), 1, 1, 2e-6, kTarget, 1,
                config(lanes, 128, 0));
    checkLinear(makeRandomWeight("q6_k", 75, 1280, 2), 1, 1, 2e-6, kTarget, 1,
                config(lanes, 64, 0));
    checkLinear(makeRandomWeight("q4_k", 32, 256, 3), 1, 1, 2e-6, kTarget, 1,
                config(lanes, 128, 0));
  }
}

TEST_F(FragmentTest, tilesInTurn) {
  for (int workgroups : {1, 3}) {
    checkLinear(makeRandomWeight("q4_k", 300, 512, 4), 1, 1, 2e-6, kTarget, 1,
                config(64, 128, workgroups));
    checkLinear(makeRandomWeight("q6_k", 301, 512, 5), 1, 1, 2e-6, kTarget, 1,
                config(64, 64, workgroups));
  }
}

/// x counts with 22 bits whatever it is.
TEST_F(FragmentTest, inputsOfAnySize) {
  for (float size : {0.0F, 1e-30F, 1e-5F, 7e4F, 1e30F})
    for (int workgroups : {0, 2}) {
      checkLinear(makeRandomWeight("q4_k", 40, 512, 6), 1, 1, 2e-6, kTarget,
                  size, config(64, 128, workgroups));
      checkLinear(makeRandomWeight("q6_k", 40, 512, 7), 1, 1, 2e-6, kTarget,
                  size, config(64, 64, workgroups));
    }
}

TEST_F(FragmentTest, pairsBehindANorm) {
  for (int workgroups : {0, 2}) {
    checkConfig("q4_k", 1, 4e-6, kTarget, config(128, 128, workgroups),
                {512, 40});
    checkConfig("q6_k", 1, 4e-6, kTarget, config(128, 64, workgroups),
                {512, 40});
  }
}

/// What is added is loaded before the weights, by all lanes: also where a
/// workgroup has quads that the result does not have.
TEST_F(FragmentTest, biasAndResidual) {
  for (int outputs : {20, 75}) {
    for (int columns : {16, 32})
      checkEpilogue(makeRandomWeight("q4_k", outputs, 1024, 11), 1, 2e-6,
                    kTarget, config(256, 128, 0, columns));
    checkEpilogue(makeRandomWeight("q6_k", outputs, 512, 12), 1, 2e-6, kTarget,
                  config(64, 64, 2));
    // A lane has a share, and two workgroups a tile.
    checkEpilogue(makeRandomWeight("q4_0", outputs, 1024, 13), 1, 2e-6, kTarget,
                  "\"gemv\", workgroup = [256, 1, 1], tile = [1, 4, 8], "
                  "splits = 2, reduction = subgroup, decode = halves");
  }
}

/// x and the sums of many subgroups do not both have room in 48 KiB.
TEST_F(FragmentTest, sumsInThePlaceOfTheInput) {
  checkLinear(makeRandomWeight("q4_k", 20, 11008, 9), 1, 1, 2e-6, kTarget, 1,
              config(1024, 128, 0, 16));
  checkLinear(makeRandomWeight("q6_k", 20, 11008, 10), 1, 1, 2e-6, kTarget, 1,
              config(768, 64, 0, 16));
}

/// 16 rows of the weight a workgroup: a lane has two rows of a quad, and loads
/// half of what planes of any width have for it.
TEST_F(FragmentTest, halfQuads) {
  for (const char *encoding : {"q4_k", "q5_k", "q6_k", "q4_0", "q4_1", "i4_g64",
                               "i4_g64_asym", "i4_channel", "i4_channel_asym"})
    for (int lanes : {64, 1024}) {
      int chunk = std::string(encoding) == "q6_k" ? 64 : 128;
      checkLinear(makeRandomWeight(encoding, 75, 1280, 8), 1, 1, 2e-6, kTarget,
                  1, config(lanes, chunk, 0, 16));
    }
  checkConfig("q4_k", 1, 4e-6, kTarget, config(128, 128, 0, 16), {512, 40});
  checkConfig("q6_k", 1, 4e-6, kTarget, config(128, 64, 0, 16), {512, 40});
}

//===----------------------------------------------------------------------===//
// Many rows
//===----------------------------------------------------------------------===//

struct MatrixConfig {
  int rows, columns, kStep, subgroupRows, subgroupColumns, buffers, splits;

  std::string text(int numLinears = 1) const {
    int lanes = rows / subgroupRows * (columns / subgroupColumns) * 32;
    std::string tile;
    for (int size : {rows, columns / numLinears, kStep, subgroupRows,
                     subgroupColumns / numLinears, buffers})
      tile += (tile.empty() ? "" : ", ") + std::to_string(size);
    return "\"gemm_matrix\", workgroup = [" + std::to_string(lanes) +
           ", 1, 1], tile = [" + tile + "], splits = " + std::to_string(splits);
  }
};

/// Tiles of every shape that Strategy has, one and two buffers, shares of k.
constexpr MatrixConfig kConfigs[] = {
    {128, 128, 64, 64, 32, 1, 1}, {128, 128, 32, 64, 64, 1, 1},
    {64, 128, 64, 32, 32, 1, 2},  {32, 128, 64, 32, 32, 1, 4},
    {64, 64, 32, 32, 32, 2, 1},
};

/// A weight in f16 errs by 2^-12 of itself where its code times its scale is no
/// f16; the input's numbers are exact. A sum errs by no more than so much of
/// the sum of magnitudes, which is some 20 times the largest sum's size.
constexpr double kHalfWeights = 2e-3;

class MatrixLinearTest : public GateTest {};

TEST_F(MatrixLinearTest, everyTile) {
  for (const MatrixConfig &config : kConfigs)
    for (int rows : {1, 33, 130}) {
      checkLinear(makeRandomWeight("f16", 140, 512, 8), 130, rows, 2e-6,
                  kTarget, 1, config.text());
      checkLinear(makeRandomWeight("q4_0", 140, 512, 8), 130, rows,
                  kHalfWeights, kTarget, 1, config.text());
    }
}

/// Rows beyond f16 are brought into range by powers of two.
TEST_F(MatrixLinearTest, inputsOfAnySize) {
  for (float size : {0.0F, 0x1p-7F, 0x1p17F, 0x1p100F})
    checkLinear(makeRandomWeight("f16", 40, 256, 9), 33, 33, 2e-6, kTarget,
                size, kConfigs[2].text());
}

TEST_F(MatrixLinearTest, pairs) {
  for (const MatrixConfig &config : kConfigs)
    checkConfig("q4_k", 33, 2 * kHalfWeights, kTarget, config.text(2),
                {256, 72});
}

//===----------------------------------------------------------------------===//
// As Strategy chooses
//===----------------------------------------------------------------------===//

class ChosenLinearTest : public GateTest,
                         public testing::WithParamInterface<const char *> {};

TEST_P(ChosenLinearTest, fewRows) {
  for (int rows : {1, 2, 5}) {
    checkLinear(makeRandomWeight(GetParam(), 140, 1024, 8), rows, rows, 2e-6,
                kTarget);
    checkLinear(makeRandomWeight(GetParam(), 36, 3072, 9), rows, rows, 2e-6,
                kTarget);
  }
  checkConfig(GetParam(), 1, 4e-6, kTarget, "", {512, 200});
}

TEST_P(ChosenLinearTest, manyRows) {
  std::string encoding = GetParam();
  double tolerance =
      encoding == "f16" || encoding == "f32" ? 2e-6 : kHalfWeights;
  checkLinear(makeRandomWeight(encoding, 140, 512, 10), 32, 32, tolerance,
              kTarget);
  checkLinear(makeRandomWeight(encoding, 140, 512, 10), 150, 140, tolerance,
              kTarget);
}

INSTANTIATE_TEST_SUITE_P(Encodings, ChosenLinearTest,
                         testing::Values("f32", "f16", "bf16", "q8_0", "q4_0",
                                         "q4_k", "q5_k", "q6_k", "q3_k",
                                         "iq4_xs", "mxfp4", "i4_g64_asym",
                                         "i8_channel"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace llmc::test
