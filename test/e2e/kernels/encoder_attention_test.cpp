// SPDX-License-Identifier: Apache-2.0
//
// Attention as encoders have it: queries, keys and values are slices of one
// linear's rows, there is neither a cache nor a position, and every row sees
// all rows, or those of its sequence.

#include "test/e2e/kernels/KernelTest.h"

namespace llmc::test {
namespace {

constexpr int kHeads = 3, kHeadDim = 64, kWidth = kHeads * kHeadDim,
              kMaxRows = 110;

/// Distances that the table of biases serves: -109 … 109, for each head.
constexpr int kSpan = 109, kTableSize = (2 * kSpan + 1) * kHeads;

std::string encoderText(bool hasRanges, bool hasDistances) {
  const std::string rows = "tensor<?x" + std::to_string(3 * kWidth) + "xf32>",
                    flat = "tensor<?x" + std::to_string(kWidth) + "xf32>",
                    heads = "tensor<?x" + std::to_string(kHeads) + "x" +
                            std::to_string(kHeadDim) + "xf32>",
                    ranges = "tensor<?x2xi32>";
  const std::string encoded = "tensor<" + std::to_string(kTableSize) +
                              "x!graph.encoded<f32>>",
                    table = "tensor<" + std::to_string(kTableSize) + "xf32>";
  std::string argument, operand, extra, parts, load;
  if (hasDistances) {
    load = "    %w = graph.load_weight @distances : " + encoded + "\n";
    operand = ", %e = %w : " + encoded;
    parts =
        "      %t = graph.dequantize %e : " + encoded + " -> " + table + "\n";
    extra = " relative %t : " + table;
  }
  if (hasRanges) {
    argument = ", %r: " + ranges + " {graph.name = \"ranges\"}";
    operand += ", %s = %r : " + ranges;
    extra += " ranges %s : " + ranges;
  }
  for (int part = 0; part < 3; ++part) {
    std::string name = "%p" + std::to_string(part);
    parts += "      " + name + "a = graph.slice %a dim 1 offset " +
             std::to_string(part * kWidth) + " size " + std::to_string(kWidth) +
             " : " + rows + " -> " + flat + "\n      " + name +
             " = graph.reshape " + name + "a : " + flat + " -> " + heads + "\n";
  }
  return "module {\n  graph.weight @distances : " + encoded +
         " from [#graph.source<file = 0, offset = 0, rows = " +
         std::to_string(kTableSize) + ">]\n  func.func @f(%x: " + rows +
         " {graph.name = \"x\"}" + argument + ") -> (" + flat +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(kMaxRows) + " : i64} {\n" + load +
         "    %y = graph.region (%a = " + "%x : " + rows + operand + ") -> (" +
         flat + ") {\n" + parts + "      %0 = graph.sdpa %p0, %p1, %p2" +
         extra + " scale 1.250000e-01 : " + heads + ", " + heads + ", " +
         heads + " -> " + heads + "\n      %1 = graph.reshape %0 : " + heads +
         " -> " + flat + "\n      graph.yield %1 : " + flat +
         "\n    }\n    return %y : " + flat + "\n  }\n}\n";
}

/// Row `row` of the result when it sees rows begin … end - 1 of x. `distances`
/// is empty or the table of biases.
std::vector<double> attend(const std::vector<float> &x, int row, int begin,
                           int end, const std::vector<float> &distances) {
  auto at = [&](int line, int part, int head, int i) -> double {
    return x[size_t(line) * 3 * kWidth + part * kWidth + head * kHeadDim + i];
  };
  std::vector<double> result;
  for (int head = 0; head < kHeads; ++head) {
    std::vector<double> sums(kHeadDim);
    double all = 0;
    for (int key = begin; key < end; ++key) {
      double score = 0;
      for (int i = 0; i < kHeadDim; ++i)
        score += at(row, 0, head, i) * at(key, 1, head, i) / 8;
      if (!distances.empty())
        score += distances[(key - row + kSpan) * kHeads + head];
      all += std::exp(score);
      for (int i = 0; i < kHeadDim; ++i)
        sums[i] += std::exp(score) * at(key, 2, head, i);
    }
    for (double sum : sums)
      result.push_back(sum / all);
  }
  return result;
}

class EncoderAttentionTest : public KernelTest {
protected:
  /// Sequences of these lengths behind one another; without ranges one.
  void check(const std::vector<int> &lengths, bool hasRanges,
             bool hasDistances = false) {
    auto runner = compile(encoderText(hasRanges, hasDistances));
    ASSERT_TRUE(runner);
    std::vector<float> distances;
    if (hasDistances) {
      distances = Numbers(7).take(kTableSize);
      distances.resize(padToFour(kTableSize));
      runner->write("distances", distances);
    }
    int rows = 0;
    std::vector<int32_t> ranges;
    for (int length : lengths) {
      for (int i = 0; i < length; ++i)
        ranges.insert(ranges.end(), {rows, rows + length});
      rows += length;
    }
    std::vector<float> x =
        Numbers(uint32_t(rows)).take(size_t(rows) * 3 * kWidth);
    std::vector<double> expected;
    for (int row = 0; row < rows; ++row) {
      std::vector<double> y =
          attend(x, row, ranges[2 * row], ranges[2 * row + 1], distances);
      expected.insert(expected.end(), y.begin(), y.end());
    }
    for (const char *name : {"x", "y"})
      runner->spoil(name);
    runner->write("x", x);
    if (hasRanges) {
      runner->spoil("ranges");
      runner->write("ranges", ranges);
    }
    runner->run("f", 0, rows);
    expectClose(runner->read<float>("y"), expected, 1e-5);
  }
};

TEST_F(EncoderAttentionTest, everyRowSeesAllRows) {
  for (int rows : {1, 17, 50})
    check({rows}, /*hasRanges=*/false);
}

TEST_F(EncoderAttentionTest, biasesByDistance) {
  check({50}, /*hasRanges=*/false, /*hasDistances=*/true);
  check({1, 30, 2, 17}, /*hasRanges=*/true, /*hasDistances=*/true);
}

// A text that begins at a multiple of 64 rows has the bits that it has alone.
TEST_F(EncoderAttentionTest, aTextDoesNotDependOnItsNeighbours) {
  auto runner = compile(encoderText(/*hasRanges=*/true, /*hasDistances=*/true));
  ASSERT_TRUE(runner);
  std::vector<float> distances = Numbers(7).take(padToFour(kTableSize));
  runner->write("distances", distances);
  constexpr int kLength = 45, kWide = 3 * kWidth;
  std::vector<float> x = Numbers(3).take(size_t(kMaxRows) * kWide);
  std::vector<int32_t> ranges;
  for (int row = 0; row < kLength; ++row)
    ranges.insert(ranges.end(), {0, kLength});
  runner->write("ranges", ranges);
  runner->write("x", x);
  runner->run("f", 0, kLength);
  std::vector<float> alone = runner->read<float>("y");
  // Behind a text of 3 rows, with rows of nothing between them.
  ranges.assign(2 * kMaxRows, 0);
  for (int row = 0; row < 3; ++row)
    ranges[2 * row + 1] = 3;
  for (int row = 64; row < 64 + kLength; ++row) {
    ranges[2 * row] = 64;
    ranges[2 * row + 1] = 64 + kLength;
  }
  std::vector<float> both = Numbers(8).take(size_t(kMaxRows) * kWide);
  std::copy(x.begin(), x.begin() + kLength * kWide, both.begin() + 64 * kWide);
  runner->write("ranges", ranges);
  runner->write("x", both);
  runner->run("f", 0, 64 + kLength);
  std::vector<float> beside = runner->read<float>("y");
  alone.resize(kLength * kWidth);
  EXPECT_EQ(std::vector<float>(beside.begin() + 64 * kWidth,
                               beside.begin() + (64 + kLength) * kWidth),
            alone);
}

TEST_F(EncoderAttentionTest, sequencesOfSeveralLengths) {
  check({50}, /*hasRanges=*/true);
  check({1, 30, 2, 17}, /*hasRanges=*/true);
  check({5, 3}, /*hasRanges=*/true);
}

} // namespace
} // namespace llmc::test
