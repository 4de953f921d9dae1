// SPDX-License-Identifier: Apache-2.0
//
// Attention against the formula in double precision, and the properties that
// hold bit by bit.

#include "test/e2e/kernels/SdpaCase.h"

namespace llmc::test {
namespace {

using sdpa::expected;
using sdpa::keepAsCodes;
using sdpa::makeStep;
using sdpa::quantizedCache;
using sdpa::Shape;
using sdpa::Step;
using sdpa::text;

class SdpaTest : public KernelTest {
protected:
  /// The caches as they are before the step: its own keys are for the kernels
  /// to append.
  void writeCache(ProgramRunner &runner, const Shape &shape, const Step &step,
                  const std::string &name, std::vector<float> cache) {
    for (int head = 0; head < shape.kvHeads; ++head)
      for (int key = step.position; key < shape.context; ++key)
        std::fill_n(cache.begin() +
                        (long(head) * shape.context + key) * shape.headDim,
                    shape.headDim, NAN);
    if (shape.cacheType == "f32")
      return runner.write(name, cache);
    if (shape.cacheType == "i8")
      return runner.write(name, quantizedCache(shape, cache));
    std::vector<uint16_t> halves;
    for (float number : cache)
      halves.push_back(std::isnan(number) ? 0xffff : toHalf(number));
    runner.write(name, halves);
  }

  /// Rows of the bias are padded to four numbers.
  void writeBias(ProgramRunner &runner, const Shape &shape, const Step &step) {
    int width = shape.biasHeads * shape.context;
    std::vector<float> padded;
    for (int row = 0; row < step.rows; ++row) {
      auto first = step.bias.begin() + long(row) * width;
      padded.insert(padded.end(), first, first + width);
      padded.resize(size_t(row + 1) * padToFour(width));
    }
    runner.spoil("bias");
    runner.write("bias", padded);
  }

  std::vector<float> run(ProgramRunner &runner, const Shape &shape,
                         const Step &step) {
    writeCache(runner, shape, step, "k", step.k);
    writeCache(runner, shape, step, "v", step.v);
    for (const char *name : {"q", "new_k", "new_v", "y"})
      runner.spoil(name);
    runner.write("q", step.q);
    runner.write("new_k", step.newK);
    runner.write("new_v", step.newV);
    if (shape.biasHeads)
      writeBias(runner, shape, step);
    if (shape.hasRanges) {
      runner.spoil("ranges");
      runner.write("ranges", step.ranges);
    }
    runner.run("f", step.position, step.rows);
    return runner.read<float>("y");
  }

  void check(const Shape &shape,
             const std::vector<std::pair<int, int>> &positionsAndRows,
             double tolerance = 1e-5) {
    auto runner = compile(text(shape), {shape.target, shape.cacheType});
    ASSERT_TRUE(runner);
    for (auto [position, rows] : positionsAndRows) {
      SCOPED_TRACE("position " + std::to_string(position) + ", rows " +
                   std::to_string(rows));
      Step step = makeStep(shape, position, rows);
      std::vector<float> found = run(*runner, shape, step);
      if (shape.cacheType == "i8") {
        keepAsCodes(shape, step.k);
        keepAsCodes(shape, step.v);
      }
      expectClose(found, expected(shape, step), tolerance);
    }
  }
};

const std::vector<std::pair<int, int>> kSteps = {{0, 1},  {0, 3},    {0, 40},
                                                 {5, 17}, {250, 40}, {1000, 3}};

TEST_F(SdpaTest, headDimensions) {
  for (int headDim : {4, 12, 64, 80, 96, 128, 256}) {
    SCOPED_TRACE(headDim);
    check({4, 2, headDim, 1048, 40}, kSteps);
  }
}

TEST_F(SdpaTest, groupsOfHeads) {
  for (int group : {1, 4, 8}) {
    SCOPED_TRACE(group);
    check({8, 8 / group, 64, 1048, 40}, kSteps);
  }
}

TEST_F(SdpaTest, decodeKernel) {
  for (int headDim : {64, 80, 128})
    check({8, 2, headDim, 1048, 1}, {{0, 1}, {5, 1}, {250, 1}, {1000, 1}});
}

TEST_F(SdpaTest, contextFilledToItsLastPosition) {
  check({4, 2, 64, 50, 8}, {{42, 8}, {49, 1}});
}

TEST_F(SdpaTest, splitKeys) {
  for (int maxRows : {1, 8}) {
    Shape shape = {8, 2, 64, 1048, maxRows};
    shape.splits = 4;
    check(shape, {{0, 1}, {5, 1}, {250, maxRows}, {1000, 1}});
  }
}

TEST_F(SdpaTest, halfPrecisionCache) {
  for (int headDim : {12, 64, 80, 128}) {
    SCOPED_TRACE(headDim);
    Shape shape = {4, 2, headDim, 300, 17};
    shape.cacheType = "f16";
    check(shape, {{0, 3}, {250, 17}});
  }
}

// Against codes and scales computed here, so that only sums in f32 differ.
TEST_F(SdpaTest, cacheOfCodes) {
  for (int headDim : {4, 12, 64, 80, 128, 256})
    for (int group : {1, 4}) {
      SCOPED_TRACE(headDim);
      Shape shape = {2 * group, 2, headDim, 300, 17};
      shape.cacheType = "i8";
      check(shape, {{0, 3}, {250, 17}});
    }
}

TEST_F(SdpaTest, cacheOfCodesInEveryKindOfTile) {
  for (const std::string tile :
       {"workgroup = [16, 1, 1], tile = [8, 2, 4, 8, 4]",
        "workgroup = [32, 1, 1], tile = [4, 4, 32, 64, 8]",
        "workgroup = [64, 1, 1], tile = [4, 2, 32, 32, 16, 4]",
        "workgroup = [16, 1, 1], tile = [4, 1, 4, 16, 2]",
        "workgroup = [16, 1, 1], tile = [4, 1, 4, 16, 2], decode = bytes"})
    for (int splits : {1, 3}) {
      SCOPED_TRACE(tile);
      Shape shape = {8, 2, 64, 1048, 40, splits};
      shape.tile = tile;
      shape.cacheType = "i8";
      shape.window = splits == 3 ? 100 : 0;
      check(shape, {{0, 1}, {5, 17}, {1000, 40}});
    }
}

TEST_F(SdpaTest, cacheOfCodesOnMobileTargets) {
  for (const char *target : {"adreno-840", "mali-g610", "mali-g76"})
    for (int headDim : {64, 80, 128, 256})
      for (int maxRows : {1, 40}) {
        SCOPED_TRACE(std::string(target) + ", " + std::to_string(headDim));
        Shape shape = {8, 2, headDim, 300, maxRows};
        shape.cacheType = "i8";
        shape.target = target;
        check(shape, {{0, 1}, {250, std::min(maxRows, 33)}});
      }
}

// Keys and values of 1e20 and 1e-20, and rows of zeros, whose scale is 0: all
// weights are equal, a sixth of each key's.
TEST_F(SdpaTest, codesOfExtremeRows) {
  Shape shape = {1, 1, 64, 8, 6};
  shape.causal = false;
  shape.cacheType = "i8";
  auto runner = compile(text(shape), {"lavapipe", "i8"});
  ASSERT_TRUE(runner);
  Step step = makeStep(shape, 0, 6);
  step.q.assign(step.q.size(), 0);
  const float sizes[] = {1e20F, 0, 1e-20F, 0, 3e20F, 0};
  for (size_t i = 0; i < step.newV.size(); ++i)
    step.newK[i] = step.newV[i] = sizes[i / 64] * (i % 2 ? -1.0F : 1.0F);
  std::vector<float> y = run(*runner, shape, step);
  for (size_t i = 0; i < step.newV.size(); ++i)
    ASSERT_NEAR(y[i], 4e20 / 6 * (i % 2 ? -1.0 : 1.0), 1e15) << i;
}

// Tiles of every kind: one, two and four queries an invocation, of one row or
// of several; all lanes on one value or in classes; maxima in one step and two;
// one load at once and some.
TEST_F(SdpaTest, tiles) {
  const std::vector<std::pair<int, std::string>> groupsAndTiles = {
      {4, "workgroup = [16, 1, 1], tile = [8, 2, 4, 8, 4]"},
      {4, "workgroup = [32, 1, 1], tile = [4, 4, 32, 64, 8]"},
      {4, "workgroup = [64, 1, 1], tile = [4, 2, 32, 32, 16]"},
      {1, "workgroup = [32, 1, 1], tile = [8, 4, 16, 32, 16]"},
      {3, "workgroup = [32, 1, 1], tile = [4, 2, 16, 16, 2]"},
      {8, "workgroup = [48, 1, 1], tile = [8, 4, 24, 48, 4]"},
      {4, "workgroup = [64, 1, 1], tile = [8, 2, 16, 16, 8]"},
      {1, "workgroup = [64, 1, 1], tile = [4, 1, 16, 16, 16]"},
      {4, "workgroup = [64, 1, 1], tile = [4, 2, 32, 32, 16, 8]"},
      {3, "workgroup = [32, 1, 1], tile = [4, 2, 16, 16, 2, 3]"}};
  for (const auto &[group, tile] : groupsAndTiles)
    for (int splits : {1, 3}) {
      SCOPED_TRACE(tile + ", splits " + std::to_string(splits));
      Shape shape = {2 * group, 2, 64, 1048, 40, splits};
      shape.tile = tile;
      check(shape, kSteps);
    }
}

// Whichever of the splits is done last adds all up, in one order: in every run
// the same bits. Memory of counters holds 0xff before the first run.
TEST_F(SdpaTest, lastSplitDoesNotMatter) {
  Shape shape = {16, 4, 64, 1048, 8, 7};
  auto runner = compile(text(shape), {"lavapipe", "f32"});
  ASSERT_TRUE(runner);
  for (int rows : {8, 1}) {
    Step step = makeStep(shape, 1000, rows);
    auto runOnce = [&] {
      std::vector<float> rowsOfStep = run(*runner, shape, step);
      rowsOfStep.resize(size_t(rows) * shape.width());
      return rowsOfStep;
    };
    std::vector<float> first = runOnce();
    expectClose(first, expected(shape, step), 1e-5);
    for (int i = 0; i < 50; ++i)
      ASSERT_EQ(runOnce(), first) << i;
  }
}

// So many splits that a Mali reads them one after the other; among them some
// that have no key.
TEST_F(SdpaTest, manySplits) {
  Shape shape = {8, 2, 64, 1048, 8, 12};
  shape.cacheType = "f16";
  shape.target = "mali-g76";
  check(shape, {{0, 1}, {5, 8}, {1000, 8}, {1000, 1}});
}

// What Strategy chooses for the mobile targets, for one row and for many.
TEST_F(SdpaTest, tilesOfMobileTargets) {
  for (const char *target : {"adreno-840", "mali-g610", "mali-g76"})
    for (int headDim : {64, 80, 128, 256})
      for (int group : {1, 4})
        for (int maxRows : {1, 40}) {
          SCOPED_TRACE(std::string(target) + ", " + std::to_string(headDim) +
                       ", " + std::to_string(group));
          Shape shape = {2 * group, 2, headDim, 300, maxRows};
          shape.cacheType = "f16";
          shape.target = target;
          check(shape, {{0, 1}, {250, std::min(maxRows, 33)}});
        }
}

// In matrix units queries, keys and what they are weighed by are f16, each of
// which errs by 2^-12.
TEST_F(SdpaTest, matrixUnits) {
  for (int headDim : {64, 128})
    for (int group : {1, 2, 5}) {
      SCOPED_TRACE(std::to_string(headDim) + ", " + std::to_string(group));
      Shape shape = {2 * group, 2, headDim, 1200, 64};
      shape.target = "nvidia-h200";
      shape.cacheType = "f16";
      check(shape, {{0, 1}, {0, 64}, {5, 17}, {250, 40}, {1000, 64}}, 2e-3);
      if (group != 2)
        continue;
      shape.window = 100;
      shape.softCap = 5;
      check(shape, {{0, 64}, {250, 40}}, 2e-3);
    }
}

TEST_F(SdpaTest, slidingWindow) {
  for (int window : {1, 7, 100, 5000})
    for (int splits : {0, 4}) {
      SCOPED_TRACE(window);
      Shape shape = {4, 2, 64, 1048, 40, splits};
      shape.window = window;
      check(shape, kSteps);
    }
}

// Scores up to 25, with and without a cap of 2.
TEST_F(SdpaTest, softCap) {
  Shape shape = {4, 2, 64, 300, 17};
  shape.softCap = 2;
  auto runner = compile(text(shape));
  ASSERT_TRUE(runner);
  Step step = makeStep(shape, 250, 17);
  for (float &q : step.q)
    q *= 32;
  expectClose(run(*runner, shape, step), expected(shape, step), 1e-5);
}

TEST_F(SdpaTest, biasOfAllHeadsAndOfEach) {
  for (int biasHeads : {1, 4})
    for (bool causal : {false, true}) {
      Shape shape = {4, 2, 64, 301, 17};
      shape.biasHeads = biasHeads;
      shape.causal = causal;
      check(shape, {{0, 17}, {250, 3}});
    }
}

// One bias a head where an invocation has four queries of one row, and of
// several rows.
TEST_F(SdpaTest, biasOfTiles) {
  for (int group : {1, 4}) {
    Shape shape = {2 * group, 2, 64, 64, 17};
    shape.biasHeads = 2 * group;
    shape.tile = "workgroup = [16, 1, 1], tile = [16, 4, 4, 8, 4]";
    check(shape, {{0, 17}, {30, 5}});
  }
}

// Rows that an added mask leaves nothing, everything, and the third of four
// keys.
TEST_F(SdpaTest, rowWithEveryKeyMasked_B07) {
  Shape shape = {1, 1, 4, 4, 4};
  shape.biasHeads = 1;
  shape.causal = false;
  auto runner = compile(text(shape));
  ASSERT_TRUE(runner);
  Step step = makeStep(shape, 0, 4);
  step.q.assign(16, 0);
  for (size_t i = 0; i < step.newV.size(); ++i)
    step.newV[i] = float(i / 4 + 1);
  const float hidden = -INFINITY;
  step.bias = {hidden, hidden, hidden, hidden, 0, 0, 0, 0,
               hidden, hidden, 0,      hidden, 0, 0, 0, 0};
  std::vector<float> y = run(*runner, shape, step);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(y[i], 0);
    EXPECT_FLOAT_EQ(y[4 + i], 2.5);
    EXPECT_FLOAT_EQ(y[8 + i], 3);
  }
}

// Exporters write masks of several sizes, some of which f16 can't hold: each
// hides keys 1 and 3 from row 0, and leaves row 1, all hidden, finite.
TEST_F(SdpaTest, anyVeryNegativeMaskHides_B08) {
  for (const char *cacheType : {"f32", "f16"})
    for (float hidden :
         {-10000.0F, -65504.0F, -1e9F, -3.4028235e38F, -INFINITY}) {
      SCOPED_TRACE(hidden);
      Shape shape = {1, 1, 4, 4, 4};
      shape.biasHeads = 1;
      shape.causal = false;
      shape.cacheType = cacheType;
      auto runner = compile(text(shape), {shape.target, cacheType});
      ASSERT_TRUE(runner);
      Step step = makeStep(shape, 0, 4);
      step.q.assign(16, 0);
      for (size_t i = 0; i < step.newV.size(); ++i)
        step.newV[i] = float(i / 4);
      step.bias.assign(16, 0);
      step.bias[1] = step.bias[3] = hidden;
      std::fill_n(step.bias.begin() + 4, 4, hidden);
      std::vector<float> y = run(*runner, shape, step);
      for (int i = 0; i < 4; ++i) {
        EXPECT_FLOAT_EQ(y[i], 1);
        EXPECT_TRUE(std::isfinite(y[4 + i]));
        EXPECT_FLOAT_EQ(y[8 + i], 1.5);
      }
    }
}

TEST_F(SdpaTest, sequencesBehindOneAnother) {
  for (int position : {0, 100})
    for (int splits : {0, 4}) {
      Shape shape = {4, 2, 64, 300, 40, splits};
      shape.causal = false;
      shape.hasRanges = true;
      check(shape, {{position, 40}, {position, 7}});
    }
}

// Ranges that are empty or behind all keys, and one that ends behind them.
TEST_F(SdpaTest, rangesWithoutKeys) {
  Shape shape = {4, 2, 64, 64, 8};
  shape.causal = false;
  shape.hasRanges = true;
  auto runner = compile(text(shape));
  ASSERT_TRUE(runner);
  Step step = makeStep(shape, 0, 5);
  step.ranges = {3, 3, 4, 2, 60, 64, 5, 1000, 1, 1000};
  std::vector<float> y = run(*runner, shape, step);
  for (int i = 0; i < 4 * shape.width(); ++i)
    ASSERT_EQ(y[i], 0) << i;
  expectClose(y, expected(shape, step), 1e-5);
}

// Scores of 30 * 30 * 128 and sums of 10000 are outside fp16.
TEST_F(SdpaTest, valuesOutsideHalfPrecision) {
  for (const char *cacheType : {"f32", "f16", "i8"}) {
    Shape shape = {1, 1, 128, 8, 5};
    shape.causal = false;
    shape.cacheType = cacheType;
    auto runner = compile(text(shape), {"lavapipe", cacheType});
    ASSERT_TRUE(runner);
    Step step = makeStep(shape, 0, 5);
    step.q.assign(step.q.size(), 30);
    step.newK.assign(step.newK.size(), 30);
    for (size_t i = 0; i < step.newV.size(); ++i)
      step.newV[i] = float(i / 128);
    for (float y : run(*runner, shape, step))
      ASSERT_FLOAT_EQ(y, 2);
  }
}

TEST_F(SdpaTest, allKeysVisibleWithoutCausalMask) {
  Shape shape = {4, 2, 64, 300, 17};
  shape.causal = false;
  check(shape, {{0, 17}, {250, 3}});
}

// Heads whose stride is not padded: one key gives its value back exactly.
TEST_F(SdpaTest, oneKeyGivesItsValueExactly) {
  for (int headDim : {64, 80, 96, 128, 256}) {
    Shape shape = {4, 2, headDim, 8, 3};
    auto runner = compile(text(shape));
    ASSERT_TRUE(runner);
    Step step = makeStep(shape, 0, 1);
    for (size_t i = 0; i < step.newV.size(); ++i)
      step.newV[i] = float(i / headDim * 1000 + i % headDim + 1);
    std::vector<float> y = run(*runner, shape, step);
    for (int i = 0; i < shape.width(); ++i)
      ASSERT_EQ(y[i], float(i / headDim / 2 * 1000 + i % headDim + 1))
          << headDim << ", " << i;
  }
}

TEST_F(SdpaTest, rowAloneEqualsRowOfABatch) {
  Shape chosen = {4, 2, 64, 1048, 40}, split = {4, 2, 64, 1048, 40, 4};
  Shape paired = chosen, windowed = split;
  paired.tile = "workgroup = [32, 1, 1], tile = [16, 4, 8, 16, 4]";
  windowed.window = 100;
  for (const Shape &shape : {chosen, split, paired, windowed}) {
    auto runner = compile(text(shape));
    ASSERT_TRUE(runner);
    Step step = makeStep(shape, 250, 40);
    std::vector<float> batch = run(*runner, shape, step);
    for (int row : {0, 7, 39}) {
      Step alone = step;
      alone.position += row;
      alone.rows = 1;
      auto takeRow = [&](std::vector<float> &values, int width) {
        values = std::vector<float>(values.begin() + long(row) * width,
                                    values.begin() + long(row + 1) * width);
      };
      takeRow(alone.q, shape.width());
      takeRow(alone.newK, shape.kvHeads * shape.headDim);
      takeRow(alone.newV, shape.kvHeads * shape.headDim);
      std::vector<float> y = run(*runner, shape, alone);
      for (int i = 0; i < shape.width(); ++i)
        ASSERT_EQ(y[i], batch[size_t(row) * shape.width() + i])
            << "row " << row << ", element " << i;
    }
  }
}

TEST_F(SdpaTest, lengthsOfEarlierStepsLeaveNoTrace) {
  Shape shape = {4, 2, 64, 256, 256};
  auto runner = compile(text(shape));
  ASSERT_TRUE(runner);
  std::vector<std::vector<float>> results;
  for (int rows : {7, 254, 1, 7}) {
    Step step = makeStep(shape, 0, rows);
    runner->write("q", step.q);
    runner->write("new_k", step.newK);
    runner->write("new_v", step.newV);
    runner->run("f", 0, rows);
    results.push_back(runner->read<float>("y"));
    results.back().resize(size_t(rows) * shape.width());
  }
  EXPECT_EQ(results[0], results[3]);
  expectClose(results[1], expected(shape, makeStep(shape, 0, 254)), 1e-5);
}

// Scores of thousands, far beyond what exp can take without the running
// maximum: in f32 they are known to 1e-4.
TEST_F(SdpaTest, largeScores) {
  Shape shape = {4, 2, 64, 300, 17};
  auto runner = compile(text(shape));
  ASSERT_TRUE(runner);
  Step step = makeStep(shape, 250, 17);
  for (float &q : step.q)
    q *= 1024;
  expectClose(run(*runner, shape, step), expected(shape, step), 1e-3);
}

} // namespace
} // namespace llmc::test
