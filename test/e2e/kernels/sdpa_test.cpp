// SPDX-License-Identifier: Apache-2.0
//
// Attention against the formula in double precision, and the properties that
// hold bit by bit.

#include "test/e2e/kernels/KernelTest.h"

#include <cstdio>

namespace llmc::test {
namespace {

struct Shape {
  int heads, kvHeads, headDim, context, maxRows;
  int splits = 0; // 0: as Strategy chooses
  bool causal = true;
  bool halfCache = false;

  int group() const { return heads / kvHeads; }
  int width() const { return heads * headDim; }
  size_t cacheElements() const { return size_t(kvHeads) * context * headDim; }
  double scale() const { return 1 / std::sqrt(float(headDim)); }
};

std::string text(const Shape &shape) {
  auto dims = [](std::vector<int> sizes) {
    std::string result = "tensor<?";
    for (int size : sizes)
      result += "x" + std::to_string(size);
    return result + "xf32>";
  };
  std::string cache = "tensor<" + std::to_string(shape.kvHeads) + "x" +
                      std::to_string(shape.context) + "x" +
                      std::to_string(shape.headDim) + "xf32>";
  std::string flat = dims({shape.width()}),
              query = dims({shape.heads, shape.headDim});
  std::string keys = dims({shape.kvHeads, shape.headDim}),
              flatKeys = dims({shape.kvHeads * shape.headDim});
  std::string config;
  if (shape.splits)
    config = " attributes {lowering_config = #graph.lowering_config<\"sdpa\", "
             "workgroup = [32, 1, 1], tile = [8, 4, 32], "
             "splits = " +
             std::to_string(shape.splits) + ">}";
  auto append = [&](std::string name) {
    return "    %" + name + "c = graph.region (%x = %" + name + " : " +
           flatKeys + ", %p = %pos : tensor<i32>) -> (" + keys +
           ") {\n      %0 = graph.reshape %x : " + flatKeys + " -> " + keys +
           "\n      %1 = graph.kv_append @" + name + ", %0, %p : " + keys +
           " -> " + keys + "\n      graph.yield %1 : " + keys + "\n    }\n";
  };
  std::string all = keys + ", " + keys;
  char scale[32];
  std::snprintf(scale, sizeof(scale), "%.9e", shape.scale());
  return "module {\n  graph.state @k : " + cache +
         "\n  graph.state @v : " + cache + "\n  func.func @f(%q: " + flat +
         " {graph.name = \"q\"}, %k: " + flatKeys +
         " {graph.name = \"new_k\"}, %v: " + flatKeys +
         " {graph.name = \"new_v\"}, %pos: tensor<i32> {graph.name = "
         "\"position\"}) -> (" +
         flat + " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(shape.maxRows) + " : i64} {\n" + append("k") +
         append("v") + "    %y = graph.region (%x = %q : " + flat +
         ", %kk = %kc : " + keys + ", %vv = %vc : " + keys +
         ", %p = %pos : tensor<i32>) -> (" + flat + ")" + config +
         " {\n      %0 = graph.reshape %x : " + flat + " -> " + query +
         "\n      %1 = graph.sdpa %0, %kk, %vv, %p scale " + scale + " " +
         (shape.causal ? "causal" : "") + " : " + query + ", " + all + " -> " +
         query + "\n      %2 = graph.reshape %1 : " + query + " -> " + flat +
         "\n      graph.yield %2 : " + flat +
         "\n    }\n    return %y : " + flat + "\n  }\n}\n";
}

/// A step: queries, new keys and values of its rows, and caches that hold
/// `position` keys (the rest is NaN).
struct Step {
  int position, rows;
  std::vector<float> q, newK, newV, k, v;
};

Step makeStep(const Shape &shape, int position, int rows) {
  Numbers numbers(uint32_t(position * 64 + rows));
  Step step = {position, rows, {}, {}, {}, {}, {}};
  size_t kvWidth = size_t(shape.kvHeads) * shape.headDim;
  step.q = numbers.take(size_t(rows) * shape.width());
  step.newK = numbers.take(rows * kvWidth);
  step.newV = numbers.take(rows * kvWidth);
  step.k.assign(shape.cacheElements(), NAN);
  step.v.assign(shape.cacheElements(), NAN);
  for (int head = 0; head < shape.kvHeads; ++head)
    for (int key = 0; key < position + rows; ++key)
      for (int i = 0; i < shape.headDim; ++i) {
        size_t place = (size_t(head) * shape.context + key) * shape.headDim + i;
        size_t fresh =
            size_t(key - position) * kvWidth + size_t(head) * shape.headDim + i;
        step.k[place] = key < position ? numbers.next() : step.newK[fresh];
        step.v[place] = key < position ? numbers.next() : step.newV[fresh];
      }
  return step;
}

std::vector<double> expected(const Shape &shape, const Step &step) {
  std::vector<double> result;
  int numKeys = step.position + step.rows;
  for (int row = 0; row < step.rows; ++row)
    for (int head = 0; head < shape.heads; ++head) {
      size_t base =
          size_t(head / shape.group()) * shape.context * shape.headDim;
      int seen = shape.causal ? step.position + row + 1 : numKeys;
      std::vector<double> weights(seen);
      double largest = -INFINITY, sum = 0;
      for (int key = 0; key < seen; ++key) {
        for (int i = 0; i < shape.headDim; ++i)
          weights[key] +=
              double(step.q[(size_t(row) * shape.heads + head) * shape.headDim +
                            i]) *
              step.k[base + size_t(key) * shape.headDim + i];
        weights[key] *= shape.scale();
        largest = std::max(largest, weights[key]);
      }
      for (double &weight : weights)
        sum += weight = std::exp(weight - largest);
      std::vector<double> out(shape.headDim);
      for (int key = 0; key < seen; ++key)
        for (int i = 0; i < shape.headDim; ++i)
          out[i] += weights[key] / sum *
                    step.v[base + size_t(key) * shape.headDim + i];
      result.insert(result.end(), out.begin(), out.end());
    }
  return result;
}

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
    if (!shape.halfCache)
      return runner.write(name, cache);
    std::vector<uint16_t> halves;
    for (float number : cache)
      halves.push_back(std::isnan(number) ? 0xffff : toHalf(number));
    runner.write(name, halves);
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
    runner.run("f", step.position, step.rows);
    return runner.read<float>("y");
  }

  void check(const Shape &shape,
             const std::vector<std::pair<int, int>> &positionsAndRows) {
    auto runner = compile(text(shape), {"lavapipe", shape.halfCache});
    ASSERT_TRUE(runner);
    for (auto [position, rows] : positionsAndRows) {
      SCOPED_TRACE("position " + std::to_string(position) + ", rows " +
                   std::to_string(rows));
      Step step = makeStep(shape, position, rows);
      expectClose(run(*runner, shape, step), expected(shape, step), 1e-5);
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
    shape.halfCache = true;
    check(shape, {{0, 3}, {250, 17}});
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
  for (int splits : {0, 4}) {
    Shape shape = {4, 2, 64, 1048, 40, splits};
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
