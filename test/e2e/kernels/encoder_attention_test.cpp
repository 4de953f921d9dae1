// SPDX-License-Identifier: Apache-2.0
//
// Attention as encoders have it: queries, keys and values are slices of one
// linear's rows, there is neither a cache nor a position, and every row sees
// all rows, or those of its sequence.

#include "test/e2e/kernels/KernelTest.h"

namespace llmc::test {
namespace {

constexpr int kHeads = 3, kHeadDim = 64, kWidth = kHeads * kHeadDim,
              kMaxRows = 50;

std::string encoderText(bool hasRanges) {
  const std::string rows = "tensor<?x" + std::to_string(3 * kWidth) + "xf32>",
                    flat = "tensor<?x" + std::to_string(kWidth) + "xf32>",
                    heads = "tensor<?x" + std::to_string(kHeads) + "x" +
                            std::to_string(kHeadDim) + "xf32>",
                    ranges = "tensor<?x2xi32>";
  std::string argument, operand, extra, parts;
  if (hasRanges) {
    argument = ", %r: " + ranges + " {graph.name = \"ranges\"}";
    operand = ", %s = %r : " + ranges;
    extra = " ranges %s : " + ranges;
  }
  for (int part = 0; part < 3; ++part) {
    std::string name = "%p" + std::to_string(part);
    parts += "      " + name + "a = graph.slice %a dim 1 offset " +
             std::to_string(part * kWidth) + " size " + std::to_string(kWidth) +
             " : " + rows + " -> " + flat + "\n      " + name +
             " = graph.reshape " + name + "a : " + flat + " -> " + heads + "\n";
  }
  return "module {\n  func.func @f(%x: " + rows + " {graph.name = \"x\"}" +
         argument + ") -> (" + flat +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(kMaxRows) +
         " : i64} {\n    %y = graph.region (%a = " + "%x : " + rows + operand +
         ") -> (" + flat + ") {\n" + parts +
         "      %0 = graph.sdpa %p0, %p1, %p2" + extra +
         " scale 1.250000e-01 : " + heads + ", " + heads + ", " + heads +
         " -> " + heads + "\n      %1 = graph.reshape %0 : " + heads + " -> " +
         flat + "\n      graph.yield %1 : " + flat +
         "\n    }\n    return %y : " + flat + "\n  }\n}\n";
}

/// Row `row` of the result when it sees rows begin … end - 1 of x.
std::vector<double> attend(const std::vector<float> &x, int row, int begin,
                           int end) {
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
  void check(const std::vector<int> &lengths, bool hasRanges) {
    auto runner = compile(encoderText(hasRanges));
    ASSERT_TRUE(runner);
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
          attend(x, row, ranges[2 * row], ranges[2 * row + 1]);
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

TEST_F(EncoderAttentionTest, sequencesOfSeveralLengths) {
  check({50}, /*hasRanges=*/true);
  check({1, 30, 2, 17}, /*hasRanges=*/true);
  check({5, 3}, /*hasRanges=*/true);
}

} // namespace
} // namespace llmc::test
