// SPDX-License-Identifier: Apache-2.0
//
// Linears: every encoding and both kernels against sums in double precision;
// whole numbers exactly.

#include "test/e2e/kernels/LinearCase.h"

#include "codegen/Strategy/LinearCandidates.h"

#include "llvm/Support/FormatVariadic.h"

namespace llmc::test {
namespace {

//===----------------------------------------------------------------------===//
// Whole numbers: every partial sum is exact in f32, so results are too, in any
// order
//===----------------------------------------------------------------------===//

int wholeInput(int m, int k) { return (37 * m + 101 * k) % 127 - 63; }
int wholeWeight(int n, int k) { return (53 * n + 29 * k) % 61 - 30; }
float wholeWeightAsFloat(int n, int k) {
  return static_cast<float>(wholeWeight(n, k));
}

class WholeLinearTest : public LinearTest {
protected:
  std::vector<float> run(const TestWeight &weight, int rows) {
    auto runner = compile(epilogueText(weight, rows));
    if (!runner)
      return {};
    writeWeight(*runner, "w", weight);
    std::vector<float> x, bias;
    for (int m = 0; m < rows; ++m)
      for (int k = 0; k < weight.columns; ++k)
        x.push_back(static_cast<float>(wholeInput(m, k)));
    for (int n = 0; n < padToFour(weight.rows); ++n)
      bias.push_back(n < weight.rows ? static_cast<float>(n % 5) : 0.0F);
    runner->write("x", padRows(x, weight.columns));
    runner->write("bias", bias);
    runner->write("residual", std::vector<float>(
                                  size_t(rows) * padToFour(weight.rows), 0.0F));
    runner->run("f", 0, rows);
    return unpadRows(runner->read<float>("y"), rows, weight.rows);
  }
  void check(const TestWeight &weight, int rows) {
    SCOPED_TRACE(weight.encoding + " rows " + std::to_string(rows));
    std::vector<float> y = run(weight, rows);
    ASSERT_EQ(y.size(), size_t(rows) * weight.rows);
    for (int m = 0; m < rows; ++m)
      for (int n = 0; n < weight.rows; ++n) {
        int sum = n % 5;
        for (int k = 0; k < weight.columns; ++k)
          sum += wholeInput(m, k) * wholeWeight(n, k);
        ASSERT_EQ(y[size_t(m) * weight.rows + n], static_cast<float>(sum))
            << m << ", " << n;
      }
  }
};

TEST_F(WholeLinearTest, exactInAnyOrder) {
  TestWeight f32 = makeDenseWeight("f32", 100, 172, wholeWeightAsFloat);
  for (int rows = 1; rows <= 9; ++rows)
    check(f32, rows);
  check(f32, 33);
}

TEST_F(WholeLinearTest, exactInAnyEncodingOfWholeNumbers) {
  for (int rows : {1, 4, 8, 20}) {
    check(makeDenseWeight("f16", 48, 100, wholeWeightAsFloat), rows);
    check(makeDenseWeight("bf16", 48, 100, wholeWeightAsFloat), rows);
    check(makeWholeQ8Weight(48, 96, wholeWeight), rows);
  }
}

/// The numbers are published with the description of a driver bug that made
/// some of them wrong now and then.
TEST_F(WholeLinearTest, fifteenHundredRows) {
  for (const TestWeight &weight :
       {makeDenseWeight("f32", 384, 384, wholeWeightAsFloat),
        makeWholeQ8Weight(384, 384, wholeWeight)}) {
    std::vector<float> y = run(weight, 1500);
    ASSERT_EQ(y.size(), 1500U * 384);
    EXPECT_EQ(y[0], 6492);
    EXPECT_EQ(y[777 * 384 + 100], 6493);
    EXPECT_EQ(y[1499 * 384 + 383], 1492);
    int64_t sum = 0, checksum = 0;
    for (int64_t m = 0; m < 1500; ++m)
      for (int64_t n = 0; n < 384; ++n) {
        auto value = static_cast<int64_t>(y[m * 384 + n]);
        sum += value;
        checksum =
            (((checksum + (m + 1) * (n + 1) % 1000003 * value) % 1000003) +
             1000003) %
            1000003;
      }
    EXPECT_EQ(sum, 1155546);
    EXPECT_EQ(checksum, 828799);
  }
}

//===----------------------------------------------------------------------===//
// Every encoding
//===----------------------------------------------------------------------===//

class EncodedLinearTest : public LinearTest,
                          public testing::WithParamInterface<const char *> {};

TEST_P(EncodedLinearTest, gemv) {
  TestWeight weight = makeRandomWeight(GetParam(), 36, 512, 1);
  for (int rows : {1, 2, 3, 8})
    checkLinear(weight, rows, rows, 2e-6);
}

TEST_P(EncodedLinearTest, gemm) {
  checkLinear(makeRandomWeight(GetParam(), 72, 256, 2), 32, 32, 2e-6);
  checkLinear(makeRandomWeight(GetParam(), 20, 768, 3), 13, 13, 2e-6);
}

/// Kernels of other targets need nothing that the machine's device lacks.
TEST_P(EncodedLinearTest, gemmOfOtherTargets) {
  for (const char *target : {"adreno-840", "mali-g610", "mali-g76"}) {
    checkLinear(makeRandomWeight(GetParam(), 136, 256, 2), 32, 32, 2e-6,
                target);
    checkLinear(makeRandomWeight(GetParam(), 20, 512, 3), 45, 13, 2e-6, target);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Encodings, EncodedLinearTest,
    testing::Values("f32", "f16", "bf16", "q8_0", "q4_0", "q4_k", "q5_k",
                    "q6_k", "q2_k", "q3_k", "iq2_xxs", "q4_1", "q5_1", "iq4_nl",
                    "iq4_xs", "mxfp4", "i4_g64", "i4_g128", "i4_channel",
                    "i4_g32_asym", "i4_g64_asym", "i4_g128_asym",
                    "i4_channel_asym", "i8_channel", "i8_channel_asym"),
    [](const auto &info) { return std::string(info.param); });

//===----------------------------------------------------------------------===//
// Shapes, rows, neighbours
//===----------------------------------------------------------------------===//

TEST_F(LinearTest, sizesThatFillNoTile) {
  for (int rows : {1, 9}) {
    checkLinear(makeRandomWeight("f32", 37, 4, 4), rows, rows, 2e-6);
    checkLinear(makeRandomWeight("f16", 3, 30, 5), rows, rows, 2e-6);
    checkLinear(makeRandomWeight("bf16", 17, 172, 6), rows, rows, 2e-6);
    checkLinear(makeRandomWeight("q8_0", 130, 32, 7), rows, rows, 2e-6);
    checkLinear(makeRandomWeight("q4_0", 6, 96, 8), rows, rows, 2e-6);
    checkLinear(makeRandomWeight("q8_0", 16, 2048, 9), rows, rows, 2e-6);
  }
}

TEST_F(LinearTest, fewerRowsThanTheBucket) {
  TestWeight weight = makeRandomWeight("q4_0", 64, 128, 10);
  checkLinear(weight, 8, 3, 2e-6);
  checkLinear(weight, 128, 1, 2e-6);
  checkLinear(weight, 128, 77, 2e-6);
}

TEST_F(LinearTest, biasAndResidual) {
  for (int rows : {1, 5, 40})
    for (int outputs : {37, 64})
      checkEpilogue(makeRandomWeight("q8_0", outputs, 64, 11), rows, 2e-6);
}

TEST_F(GateTest, gateAndUpWithNorm) {
  for (int rows : {1, 3, 8, 32})
    for (const char *encoding : {"f32", "q8_0", "q4_k"})
      check(encoding, rows, 4e-6);
}

//===----------------------------------------------------------------------===//
// GEMV kernels of other targets, on the machine's device
//===----------------------------------------------------------------------===//

/// Sums of f16 products in groups: inputs and each of up to 16 partial sums are
/// rounded to 11 bits, which errs by some thousandths of a sum at worst.
constexpr double kHalfTolerance = 4e-3;
/// Nibbles that carry 256 or 16: sums before the subtraction are up to some 60
/// times as large as after it, and so is the rounding.
constexpr double kExponentTolerance = 2e-5;

double toleranceOf(const std::string &target, const std::string &encoding) {
  bool hasNibbles = encoding == "q4_0" || encoding == "q4_k",
       hasHighBits = encoding == "q5_k" || encoding == "q6_k",
       hasOtherNibbles = encoding == "q4_1" || encoding.rfind("i4_", 0) == 0;
  if (target == "mali-g610" && (hasNibbles || hasHighBits || hasOtherNibbles))
    return kHalfTolerance;
  return target == "adreno-840" && hasNibbles ? kExponentTolerance : 2e-6;
}

TEST_P(EncodedLinearTest, gemvOfOtherTargets) {
  std::string encoding = GetParam();
  for (const char *target : {"adreno-840", "mali-g610", "mali-g76"})
    for (int rows : {1, 5})
      checkLinear(makeRandomWeight(encoding, 36, 512, 1), rows, rows,
                  toleranceOf(target, encoding), target);
}

/// More columns than are staged at once, and a last stage that is not full; of
/// the bucket's rows, the step has fewer.
TEST_F(LinearTest, inputsThatAreStagedInParts) {
  for (const char *encoding : {"f16", "q8_0", "q4_0", "q4_k", "q6_k"})
    for (int rows : {1, 2}) {
      checkLinear(makeRandomWeight(encoding, 20, 2048 + 256, 15), 2 * rows - 1,
                  rows, toleranceOf("mali-g76", encoding), "mali-g76");
      checkLinear(makeRandomWeight(encoding, 20, 2 * 4096 + 256, 16),
                  2 * rows - 1, rows, toleranceOf("mali-g610", encoding),
                  "mali-g610");
    }
}

/// In half precision the input is brought into range, whatever it is.
TEST_F(LinearTest, inputsOfAnySizeInHalfPrecision) {
  for (const char *encoding : {"q4_0", "q4_k", "q5_k", "q6_k"})
    for (float size : {0.0F, 1e-30F, 1e-5F, 7e4F, 1e30F})
      checkLinear(makeRandomWeight(encoding, 20, 512, 17), 1, 1, kHalfTolerance,
                  "mali-g610", size);
}

TEST_F(GateTest, gateAndUpWithNormOfOtherTargets) {
  for (const char *target : {"adreno-840", "mali-g610", "mali-g76"})
    for (int rows : {1, 3})
      for (const char *encoding : {"f16", "q8_0", "q4_k", "q6_k"})
        check(encoding, rows, 2 * toleranceOf(target, encoding), target);
}

/// The same input gives the same bits.
TEST_F(LinearTest, repeatable) {
  for (int rows : {1, 40}) {
    TestWeight weight = makeRandomWeight("q4_0", 96, 1024, 14);
    auto runner = compile(linearText(weight, rows));
    ASSERT_TRUE(runner);
    writeWeight(*runner, "w", weight);
    runner->write("x", Numbers(6).take(size_t(rows) * 1024));
    runner->run("f", 0, rows);
    std::vector<float> first = runner->read<float>("y");
    for (int repeat = 0; repeat < 20; ++repeat) {
      runner->spoil("y");
      runner->run("f", 0, rows);
      ASSERT_EQ(runner->read<float>("y"), first);
    }
  }
}

//===----------------------------------------------------------------------===//
// Tiles that a tuning file may ask for
//===----------------------------------------------------------------------===//

TEST_F(LinearTest, everyTileComputesTheSame) {
  codegen::DeviceLimits limits = {};
  limits.registersFullOccupancy = limits.registersMax = 256;
  limits.subgroupSize = 16;
  limits.maxInvocations = 128;
  limits.workgroupMemoryBytes = 16384;
  limits.maxUnroll = 32;
  limits.computeUnits = 4;
  TestWeight weight = makeRandomWeight("q4_0", 40, 128, 15);
  for (int rows : {1, 5, 20}) {
    codegen::LinearProblem problem = {{}, limits, {}};
    codegen::LinearShape &shape = problem.shape;
    shape.format = codegen::WeightFormat::Q4_0;
    shape.rows = rows;
    shape.N = 40;
    shape.K = 128;
    shape.numLinears = 1;
    std::vector<float> x = Numbers(16).take(size_t(rows) * 128);
    std::vector<double> expected = multiply(x, weight);
    for (const codegen::LinearTile &tile : codegen::enumerateLinearTiles(
             problem, *codegen::selectLinearTile(shape, limits, {}))) {
      // Of GEMMs, one step of k is enough for a test that is short.
      if (!tile.isGemv && tile.kStep != 8)
        continue;
      auto runner = compile(tiledText(linearText(weight, rows), tile));
      ASSERT_TRUE(runner);
      writeWeight(*runner, "w", weight);
      runner->write("x", x);
      runner->run("f", 0, rows);
      SCOPED_TRACE(tiledText(linearText(weight, rows), tile));
      expectClose(unpadRows(runner->read<float>("y"), rows, 40), expected,
                  2e-6);
    }
  }
}

/// As exact as codes that are converted.
TEST_F(GateTest, nibblesByHalves) {
  for (const char *encoding : {"q4_0", "q4_k", "i4_g128_asym", "q6_k"})
    for (int rows : {1, 5}) {
      codegen::LinearTile tile{true, {64, 1, 1}, rows == 1 ? 1 : 2, 8, 32,
                               0,    0};
      check(encoding, rows, 4e-6, "adreno-840", &tile, ", decode = halves");
    }
}

// One subgroup and several; more rows than a tile has; pairs of linears.
class SubgroupSumsTest : public GateTest {
protected:
  void SetUp() override {
    if (!hasDescribedSubgroups())
      GTEST_SKIP() << "this device's subgroups are of another size";
    GateTest::SetUp();
  }
  void checkTile(const char *encoding, const codegen::LinearTile &tile,
                 int rows) {
    SCOPED_TRACE(llvm::formatv("{0} lanes, columns {1}, k {2}, splits {3}",
                               tile.workgroup[0], tile.columns, tile.kStep,
                               tile.splits)
                     .str());
    check(encoding, rows, 4e-6, "lavapipe", &tile,
          ", splits = " + std::to_string(tile.splits) +
              ", reduction = subgroup");
  }
};

TEST_F(SubgroupSumsTest, ofWholeTiles) {
  for (int64_t lanes : {8, 16, 64})
    for (int64_t columns : {4, 8})
      for (int rows : {1, 5})
        checkTile("q4_0",
                  {true, {lanes, 1, 1}, rows == 1 ? 1 : 2, columns, 32, 0, 0},
                  rows);
}

// Each workgroup takes every second tile of three.
TEST_F(SubgroupSumsTest, ofTilesInTurn) {
  auto check = [&](const char *encoding, int64_t lanes, int64_t step) {
    checkTile(encoding, {true, {lanes, 1, 1}, 1, 8, step, 0, 0, 1, 2}, 1);
  };
  check("q6_k", 64, 16);
  check("q6_k", 32, 32);
  check("q4_k", 32, 32);
  check("q4_0", 64, 16);
  check("f16", 64, 16);
}

// Invocations that are no power of two, and more than there are shares. Any two
// of splits, lanes and columns meet in each encoding.
TEST_F(SubgroupSumsTest, ofPartsOfTilesAndGroups) {
  int64_t columns = 4;
  for (int64_t splits : {1, 2, 4})
    for (int64_t lanes : {16, 48, 160}) {
      columns = 12 - columns;
      checkTile("q4_0", {true, {lanes, 1, 1}, 1, columns, 8, 0, 0, splits}, 1);
      checkTile("q4_k", {true, {lanes, 1, 1}, 1, columns, 16, 0, 0, splits}, 1);
      checkTile("q6_k", {true, {lanes, 1, 1}, 2, columns, 8, 0, 0, splits}, 3);
      checkTile("q8_0", {true, {lanes, 1, 1}, 1, columns, 8, 0, 0, splits}, 1);
      checkTile("f16", {true, {lanes, 1, 1}, 2, columns, 4, 0, 0, splits}, 5);
    }
}

// Lanes that hand each other the input, times the norm's gain: groups of 16
// and 32 columns, and plain numbers.
TEST_F(GateTest, inputsOfSubgroups) {
  if (!hasDescribedSubgroups())
    GTEST_SKIP() << "this device's subgroups are of another size";
  for (int64_t lanes : {8, 16})
    for (const char *encoding : {"f16", "q4_0", "q6_k"})
      for (int rows : {1, 5}) {
        int64_t step = encoding[0] == 'f' ? 16 : 32,
                tileRows = rows == 1 ? 1 : 2;
        SCOPED_TRACE(std::to_string(lanes) + " lanes");
        codegen::LinearTile tile{true, {lanes, 1, 1}, tileRows, 8, step, 0, 0};
        check(encoding, rows, 4e-6, "lavapipe", &tile, ", reduction = subgroup",
              step);
      }
}

// The weight has five tiles, so that the last workgroup has too few.
TEST_F(LinearTest, inputsOfSubgroupsForSeveralTiles) {
  if (!hasDescribedSubgroups())
    GTEST_SKIP() << "this device's subgroups are of another size";
  for (int64_t tiles : {1, 2, 4}) {
    SCOPED_TRACE(std::to_string(tiles) + " tiles");
    TestWeight weight = makeRandomWeight("q4_k", 77, 512, 15);
    codegen::LinearTile tile{true, {8, 1, 1}, 1, 4 * tiles, 32, 0, 0};
    auto runner = compile(
        tiledText(linearText(weight, 1), tile, ", reduction = subgroup", 32));
    ASSERT_TRUE(runner);
    writeWeight(*runner, "w", weight);
    std::vector<float> x = Numbers(16).take(512);
    runner->write("x", x);
    runner->run("f", 0, 1);
    expectClose(unpadRows(runner->read<float>("y"), 1, 77), multiply(x, weight),
                2e-6);
  }
}

} // namespace
} // namespace llmc::test
