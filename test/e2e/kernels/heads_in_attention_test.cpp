// SPDX-License-Identifier: Apache-2.0
//
// Attention of one row that norms and turns its heads and writes the new key
// and value itself, against the formulas in double precision.

#include "test/e2e/kernels/KernelTest.h"

#include <cstdio>

namespace llmc::test {
namespace {

struct Shape {
  int heads, kvHeads, headDim, context;
  int rotaryDim = 0; // 0: nothing is turned
  bool turnsHalves = true;
  bool hasNorm = false;
  std::string cacheType = "f32";
  int window = 0;
  double softCap = 0;
  /// Whether values come from a linear of their own.
  bool valueApart = false;
  std::string target = "lavapipe";
  /// Whose choices are taken; empty: those of the target's own.
  std::string family = {};

  int group() const { return heads / kvHeads; }
  int width() const { return heads * headDim; }
  int kvWidth() const { return kvHeads * headDim; }
  size_t cacheElements() const { return size_t(kvWidth()) * context; }
};

constexpr double kBase = 10000, kEpsilon = 1e-6;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9e", value);
  return text;
}

std::string rows(const std::vector<int> &sizes) {
  std::string result = "tensor<?";
  for (int size : sizes)
    result += "x" + std::to_string(size);
  return result + "xf32>";
}

/// The ops of one chain of heads: slice of `source`, norm, rotation. Names end
/// in `name`, which the last value has alone.
std::string chainText(const Shape &shape, const std::string &name, int numHeads,
                      const std::string &source, int sourceWidth, int offset,
                      bool isValue) {
  std::string type = rows({numHeads, shape.headDim}),
              flat = rows({numHeads * shape.headDim}),
              gain = "tensor<" + std::to_string(shape.headDim) + "x";
  std::string text = "      %s" + name + " = graph.slice %" + source +
                     " dim 1 offset " + std::to_string(offset) + " size " +
                     std::to_string(numHeads * shape.headDim) + " : " +
                     rows({sourceWidth}) + " -> " + flat + "\n      %h" + name +
                     " = graph.reshape %s" + name + " : " + flat + " -> " +
                     type + "\n";
  std::string last = "%h" + name;
  if (shape.hasNorm && !isValue) {
    text += "      %g" + name + " = graph.dequantize %w" + name + " : " + gain +
            "!graph.encoded<f32>> -> " + gain + "f32>\n      %n" + name +
            " = graph.rms_norm " + last + ", %g" + name + " epsilon " +
            number(kEpsilon) + " : " + type + ", " + gain + "f32> -> " + type +
            "\n";
    last = "%n" + name;
  }
  if (shape.rotaryDim && !isValue) {
    text += "      %r" + name + " = graph.rotary " + last + ", %p pairs " +
            (shape.turnsHalves ? "half" : "adjacent") + " base " +
            number(kBase) + " dim " + std::to_string(shape.rotaryDim) + " : " +
            type + " -> " + type + "\n";
    last = "%r" + name;
  }
  if (name == "q")
    return text + "      %q = graph.reshape " + last + " : " + type + " -> " +
           type + "\n";
  return text + "      %" + name + " = graph.kv_append @" + name + ", " + last +
         ", %p : " + type + " -> " + type + "\n";
}

std::string text(const Shape &shape) {
  std::string cache = "tensor<" + std::to_string(shape.kvHeads) + "x" +
                      std::to_string(shape.context) + "x" +
                      std::to_string(shape.headDim) + "xf32>";
  std::string query = rows({shape.heads, shape.headDim}),
              keys = rows({shape.kvHeads, shape.headDim}),
              flat = rows({shape.width()}),
              gain = "tensor<" + std::to_string(shape.headDim) +
                     "x!graph.encoded<f32>>";
  int keysEnd = shape.width() + shape.kvWidth();
  int width = keysEnd + (shape.valueApart ? 0 : shape.kvWidth());
  std::string text = "module {\n  graph.state @k : " + cache +
                     "\n  graph.state @v : " + cache + "\n",
              loads, gains;
  for (std::string name : {"q", "k"}) {
    if (!shape.hasNorm)
      break;
    text += "  graph.weight @" + name + "_gain : " + gain +
            " from [#graph.source<file = 0, offset = 0, rows = " +
            std::to_string(shape.headDim) + ">]\n";
    loads += "    %" + name + "w = graph.load_weight @" + name +
             "_gain : " + gain + "\n";
    gains += ", %w" + name + " = %" + name + "w : " + gain;
  }
  std::string values =
      shape.valueApart ? rows({shape.kvWidth()}) : rows({width});
  text +=
      "  func.func @f(%x: " + rows({width}) + " {graph.name = \"x\"}, " +
      (shape.valueApart ? "%y: " + values + " {graph.name = \"new_v\"}, "
                        : "") +
      "%pos: tensor<i32> {graph.name = \"position\"}) -> (" + flat +
      " {graph.name = \"y\"}) attributes {graph.rows = 1 : i64} {\n" + loads +
      "    %h:3 = graph.region (%a = %x : " + rows({width}) +
      (shape.valueApart ? ", %b = %y : " + values : "") +
      ", %p = %pos : tensor<i32>" + gains + ") -> (" + query + ", " + keys +
      ", " + keys + ") {\n" +
      chainText(shape, "q", shape.heads, "a", width, 0, false) +
      chainText(shape, "k", shape.kvHeads, "a", width, shape.width(), false) +
      chainText(shape, "v", shape.kvHeads, shape.valueApart ? "b" : "a",
                shape.valueApart ? shape.kvWidth() : width,
                shape.valueApart ? 0 : keysEnd, true) +
      "      graph.yield %q, %k, %v : " + query + ", " + keys + ", " + keys +
      "\n    }\n";
  std::string rule = " causal";
  if (shape.window)
    rule += " window " + std::to_string(shape.window);
  if (shape.softCap != 0)
    rule += " soft_cap " + number(shape.softCap);
  return text + "    %o = graph.region (%q = %h#0 : " + query +
         ", %k = %h#1 : " + keys + ", %v = %h#2 : " + keys +
         ", %p = %pos : tensor<i32>) -> (" + flat +
         ") {\n      %0 = graph.sdpa %q, %k, %v, %p scale " +
         number(1 / std::sqrt(float(shape.headDim))) + rule + " : " + query +
         ", " + keys + ", " + keys + " -> " + query +
         "\n      %1 = graph.reshape %0 : " + query + " -> " + flat +
         "\n      graph.yield %1 : " + flat +
         "\n    }\n    return %o : " + flat + "\n  }\n}\n";
}

/// A step of one row: what the linears gave, gains, and caches that hold
/// `position` keys (the rest is NaN).
struct Step {
  int position;
  std::vector<float> x, qGain, kGain, k, v;
};

Step makeStep(const Shape &shape, int position) {
  Numbers numbers(uint32_t(position * 64 + shape.headDim));
  Step step = {};
  step.position = position;
  step.x = numbers.take(size_t(shape.width()) + 2 * shape.kvWidth());
  step.qGain = numbers.take(shape.headDim);
  step.kGain = numbers.take(shape.headDim);
  step.k.assign(shape.cacheElements(), NAN);
  step.v.assign(shape.cacheElements(), NAN);
  for (int head = 0; head < shape.kvHeads; ++head)
    for (int i = 0; i < position * shape.headDim; ++i) {
      size_t place = size_t(head) * shape.context * shape.headDim + size_t(i);
      step.k[place] = numbers.next();
      step.v[place] = numbers.next();
    }
  return step;
}

/// A head normed and turned.
std::vector<double> prepared(const Shape &shape, const Step &step,
                             size_t offset, const std::vector<float> &gain) {
  std::vector<double> head(step.x.begin() + long(offset),
                           step.x.begin() + long(offset) + shape.headDim);
  if (shape.hasNorm) {
    double squares = 0;
    for (double value : head)
      squares += value * value;
    for (int i = 0; i < shape.headDim; ++i)
      head[i] *= gain[i] / std::sqrt(squares / shape.headDim + kEpsilon);
  }
  for (int i = 0; i < shape.rotaryDim / 2; ++i) {
    double angle = step.position * std::pow(kBase, -2.0 * i / shape.rotaryDim);
    double &a = head[shape.turnsHalves ? i : 2 * i],
           &b = head[shape.turnsHalves ? i + shape.rotaryDim / 2 : 2 * i + 1];
    double turned = a * std::cos(angle) - b * std::sin(angle);
    b = b * std::cos(angle) + a * std::sin(angle);
    a = turned;
  }
  return head;
}

/// What the caches hold after the step, in place, and the row of the result.
std::vector<double> expected(const Shape &shape, Step &step) {
  std::vector<double> result;
  for (int kvHead = 0; kvHead < shape.kvHeads; ++kvHead) {
    size_t first = size_t(kvHead) * shape.context * shape.headDim,
           fresh = first + size_t(step.position) * shape.headDim,
           keyOffset = size_t(shape.width()) + size_t(kvHead) * shape.headDim;
    std::vector<double> key = prepared(shape, step, keyOffset, step.kGain);
    for (int i = 0; i < shape.headDim; ++i) {
      step.k[fresh + size_t(i)] = float(key[i]);
      step.v[fresh + size_t(i)] =
          step.x[keyOffset + size_t(shape.kvWidth()) + size_t(i)];
    }
    for (int inGroup = 0; inGroup < shape.group(); ++inGroup) {
      size_t head = size_t(kvHead) * shape.group() + size_t(inGroup);
      std::vector<double> query =
          prepared(shape, step, head * shape.headDim, step.qGain);
      int begin =
          shape.window ? std::max(0, step.position + 1 - shape.window) : 0;
      std::vector<double> weights, out(shape.headDim);
      double largest = -INFINITY, sum = 0;
      for (int j = begin; j <= step.position; ++j) {
        double score = 0;
        for (int i = 0; i < shape.headDim; ++i)
          score += query[i] * step.k[first + size_t(j) * shape.headDim + i];
        score /= std::sqrt(float(shape.headDim));
        if (shape.softCap != 0)
          score = shape.softCap * std::tanh(score / shape.softCap);
        weights.push_back(score);
        largest = std::max(largest, score);
      }
      for (double &weight : weights)
        sum += weight = std::exp(weight - largest);
      for (int j = begin; j <= step.position; ++j)
        for (int i = 0; i < shape.headDim; ++i)
          out[i] += weights[j - begin] / sum *
                    step.v[first + size_t(j) * shape.headDim + i];
      result.insert(result.end(), out.begin(), out.end());
    }
  }
  return result;
}

class HeadsInAttentionTest : public KernelTest {
protected:
  static void writeCache(ProgramRunner &runner, const Shape &shape,
                         const std::string &name,
                         const std::vector<float> &cache) {
    if (shape.cacheType == "f32")
      return runner.write(name, cache);
    std::vector<uint16_t> halves;
    for (float value : cache)
      halves.push_back(std::isnan(value) ? 0xffff : toHalf(value));
    runner.write(name, halves);
  }

  static std::vector<float> readCache(ProgramRunner &runner, const Shape &shape,
                                      const std::string &name) {
    if (shape.cacheType == "f32")
      return runner.read<float>(name);
    std::vector<float> numbers;
    for (uint16_t half : runner.read<uint16_t>(name))
      numbers.push_back(half == 0xffff ? NAN : fromHalf(half));
    return numbers;
  }

  /// The row that the step wrote, to `tolerance`; all others as they were.
  static void expectCache(const Shape &shape, int position,
                          const std::vector<float> &found,
                          const std::vector<float> &wanted, double tolerance) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      int key = int(i / shape.headDim % shape.context);
      if (std::isnan(wanted[i]))
        ASSERT_TRUE(std::isnan(found[i])) << i;
      else if (key == position)
        ASSERT_NEAR(found[i], wanted[i], tolerance) << i;
      else
        ASSERT_EQ(found[i], wanted[i]) << i;
    }
  }

  void check(const Shape &shape, const std::vector<int> &positions) {
    auto runner =
        compile(text(shape), {shape.target, shape.cacheType, shape.family});
    ASSERT_TRUE(runner);
    bool isHalf = shape.cacheType == "f16";
    for (int position : positions) {
      SCOPED_TRACE("position " + std::to_string(position));
      Step step = makeStep(shape, position);
      writeCache(*runner, shape, "k", step.k);
      writeCache(*runner, shape, "v", step.v);
      long keysEnd = shape.width() + shape.kvWidth();
      std::vector<float> x(step.x.begin(), shape.valueApart
                                               ? step.x.begin() + keysEnd
                                               : step.x.end());
      runner->write("x", x);
      if (shape.valueApart)
        runner->write("new_v", std::vector<float>(step.x.begin() + keysEnd,
                                                  step.x.end()));
      if (shape.hasNorm) {
        runner->write("q_gain", step.qGain);
        runner->write("k_gain", step.kGain);
      }
      runner->spoil("y");
      runner->run("f", position, 1);
      std::vector<double> y = expected(shape, step);
      // An f16 key is off by 2^-11 of a number of up to 16.
      expectCache(shape, position, readCache(*runner, shape, "k"), step.k,
                  isHalf ? 4e-3 : 2e-5);
      expectCache(shape, position, readCache(*runner, shape, "v"), step.v, 0);
      expectClose(runner->read<float>("y"), y, isHalf ? 1e-3 : 2e-5);
    }
  }
};

const std::vector<int> kPositions = {0, 5, 31, 250, 1047};

TEST_F(HeadsInAttentionTest, turnedHeads) {
  for (int headDim : {64, 128, 256})
    for (bool half : {true, false}) {
      SCOPED_TRACE(headDim);
      check({4, 2, headDim, 1048, headDim, half}, kPositions);
    }
}

TEST_F(HeadsInAttentionTest, normedHeads) {
  for (int headDim : {16, 64, 128, 256}) {
    SCOPED_TRACE(headDim);
    check({4, 2, headDim, 1048, headDim, true, true}, kPositions);
  }
}

TEST_F(HeadsInAttentionTest, groupsOfHeads) {
  for (int group : {1, 3, 4, 8}) {
    SCOPED_TRACE(group);
    check({2 * group, 2, 64, 300, 64, true, true}, {0, 250});
  }
}

TEST_F(HeadsInAttentionTest, partsOfHeadsAndNoneAreTurned) {
  check({4, 2, 64, 300, 32, true}, {250});
  check({4, 2, 64, 300, 16, false, true}, {250});
  check({4, 2, 64, 300, 0, true}, {250});
  check({4, 2, 64, 300, 0, true, true}, {250});
}

TEST_F(HeadsInAttentionTest, halfPrecisionCache) {
  for (int headDim : {16, 64, 128}) {
    SCOPED_TRACE(headDim);
    check({4, 2, headDim, 300, headDim, true, true, "f16"}, {0, 5, 299});
  }
}

TEST_F(HeadsInAttentionTest, windowAndSoftCap) {
  Shape shape = {4, 1, 64, 1048, 64, true, true};
  shape.window = 100;
  shape.softCap = 5;
  check(shape, kPositions);
}

TEST_F(HeadsInAttentionTest, valuesOfALinearOfTheirOwn) {
  Shape shape = {4, 2, 64, 300, 64, true, true};
  shape.valueApart = true;
  check(shape, {0, 250});
}

// A step beyond the cache writes nothing.
TEST_F(HeadsInAttentionTest, positionBehindTheCache) {
  Shape shape = {4, 2, 64, 40, 64, true};
  auto runner = compile(text(shape));
  ASSERT_TRUE(runner);
  Step step = makeStep(shape, 40);
  writeCache(*runner, shape, "k", step.k);
  writeCache(*runner, shape, "v", step.v);
  runner->write("x", step.x);
  runner->run("f", 40, 1);
  EXPECT_EQ(readCache(*runner, shape, "k"), step.k);
  EXPECT_EQ(readCache(*runner, shape, "v"), step.v);
}

// Subgroups whose lanes share keys (kind sdpa_row), in sizes that this device
// has: one load a lane and several, a stream a subgroup and several, groups of
// heads, one split and more, blocks one by one and together.
TEST_F(HeadsInAttentionTest, subgroupsShareKeys) {
  for (const char *cacheType : {"f16", "f32"})
    for (int headDim : {32, 64, 128, 256})
      for (int group : {1, 2, 3}) {
        SCOPED_TRACE(std::string(cacheType) + ", " + std::to_string(headDim) +
                     ", " + std::to_string(group));
        Shape shape = {group, 1, headDim, 2048, headDim, true, true, cacheType};
        shape.family = "nvidia";
        check(shape, {0, 1, 5, 31, 250, 1047, 2047});
      }
}

TEST_F(HeadsInAttentionTest, subgroupsShareKeysOfSomeHeads) {
  Shape shape = {16, 2, 128, 300, 64, false, false, "f16"};
  shape.family = "nvidia";
  check(shape, {0, 250, 299});
  shape.rotaryDim = 0;
  shape.valueApart = true;
  check(shape, {0, 250});
  shape = {4, 2, 64, 2048, 64, true, true, "f16"};
  shape.family = "nvidia";
  shape.window = 100;
  shape.softCap = 5;
  check(shape, {0, 5, 99, 100, 250, 1047, 2047});
}

// The same for subgroups of 32, as on the GPU whose choices these are.
TEST_F(HeadsInAttentionTest, subgroupsOf32ShareKeys) {
  for (int headDim : {64, 128})
    for (int group : {1, 2, 8}) {
      SCOPED_TRACE(std::to_string(headDim) + ", " + std::to_string(group));
      Shape shape = {2 * group, 2, headDim, 2048, headDim, true, true, "f16"};
      shape.target = "nvidia-h200";
      check(shape, {0, 31, 250, 1047});
    }
}

// Kernels of other devices, which need no more than this one has.
TEST_F(HeadsInAttentionTest, tilesOfOtherTargets) {
  for (const char *target : {"vulkan-1.1", "adreno-840"})
    for (int group : {1, 2, 8}) {
      SCOPED_TRACE(target);
      Shape shape = {2 * group, 2, 128, 1048, 128, true, true, "f16"};
      shape.target = target;
      check(shape, {0, 31, 1047});
    }
}

} // namespace
} // namespace llmc::test
