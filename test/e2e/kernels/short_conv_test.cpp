// SPDX-License-Identifier: Apache-2.0
//
// Convolutions over the last rows of each channel: steps of several lengths
// that carry their past in a state, texts behind one another, neighbours.

#include "test/e2e/kernels/KernelTest.h"

#include <algorithm>

namespace llmc::test {
namespace {

/// C(x) * short_conv(B(x) * x): rows of three parts, as a gated convolution's
/// input projection gives them.
std::string gatedText(int channels, int taps, int maxRows, bool hasState,
                      int ahead = 0) {
  const std::string c = std::to_string(channels),
                    wide = "tensor<?x" + std::to_string(3 * channels) + "xf32>",
                    type = "tensor<?x" + c + "xf32>",
                    count = std::to_string(channels * taps),
                    encoded = "tensor<" + count + "x!graph.encoded<f32>>",
                    vector = "tensor<" + count + "xf32>";
  std::string past = hasState ? "tensor<i32>" : "tensor<?x2xi32>";
  std::string parts;
  for (int part = 0; part < 3; ++part)
    parts += "      %p" + std::to_string(part) +
             " = graph.slice %a dim 1 offset " +
             std::to_string(part * channels) + " size " + c + " : " + wide +
             " -> " + type + "\n";
  return "module {\n  graph.weight @taps : " + encoded +
         " from [#graph.source<file = 0, offset = 0, rows = " + count +
         ">]\n  graph.state @past : tensor<" + std::to_string(taps - 1) + "x" +
         c + "xf32>\n  func.func @f(%x: " + wide +
         " {graph.name = \"x\"}, %p: " + past + " {graph.name = \"" +
         (hasState ? "position" : "ranges") + "\"}) -> (" + type +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %w = graph.load_weight @taps : " + encoded +
         "\n    %r = graph.region (%a = %x : " + wide +
         ", %e = %w : " + encoded + ", %q = %p : " + past + ") -> (" + type +
         ") {\n" + parts + "      %t = graph.dequantize %e : " + encoded +
         " -> " + vector + "\n      %u = graph.mul %p0, %p2 : " + type + ", " +
         type + " -> " + type + "\n      %v = graph.short_conv %u, %t " +
         (hasState ? "state @past, %q" : "ranges %q : " + past) +
         (ahead == 0 ? "" : " ahead " + std::to_string(ahead)) + " : " + type +
         ", " + vector + "\n      %y = graph.mul %p1, %v : " + type + ", " +
         type + " -> " + type + "\n      graph.yield %y : " + type +
         "\n    }\n    return %r : " + type + "\n  }\n}\n";
}

/// All of it in double; texts begin at `begins` and at row 0.
std::vector<double> gated(const std::vector<float> &x,
                          const std::vector<float> &taps, int channels,
                          int count, const std::vector<int> &begins = {},
                          int ahead = 0) {
  int rows = int(x.size()) / (3 * channels);
  std::vector<double> y;
  for (int t = 0; t < rows; ++t) {
    int begin = 0, end = rows;
    for (int other : begins) {
      if (other <= t)
        begin = std::max(begin, other);
      else
        end = std::min(end, other);
    }
    for (int c = 0; c < channels; ++c) {
      double sum = 0;
      for (int j = 0; j < count; ++j) {
        int row = t - count + 1 + ahead + j;
        if (row < begin || row >= end)
          continue;
        const float *at = &x[size_t(row) * 3 * channels];
        sum += double(taps[c * count + j]) * at[c] * at[2 * channels + c];
      }
      y.push_back(sum * x[size_t(t) * 3 * channels + channels + c]);
    }
  }
  return y;
}

using ShortConvTest = KernelTest;

// However a text is cut into steps, also into steps shorter than the past.
TEST_F(ShortConvTest, stepsCarryTheirPast) {
  for (int taps : {2, 3, 4, 6})
    for (int channels : {8, 300}) {
      SCOPED_TRACE(taps);
      SCOPED_TRACE(channels);
      constexpr int kMaxRows = 20;
      auto runner = compile(gatedText(channels, taps, kMaxRows, true));
      auto single = compile(gatedText(channels, taps, 1, true));
      ASSERT_TRUE(runner && single);
      Numbers numbers(uint32_t(taps * channels));
      const std::vector<int> steps = {17, 1, 2, 20, 9, 1, 1};
      int rows = 0;
      for (int step : steps)
        rows += step;
      std::vector<float> x = numbers.take(size_t(rows) * 3 * channels),
                         weights = numbers.take(size_t(channels) * taps);
      std::vector<double> expected = gated(x, weights, channels, taps);
      runner->write("taps", weights);
      // Whatever an earlier text left in the state: NaN.
      runner->spoil("past");
      int position = 0;
      for (int step : steps) {
        runner->spoil("y");
        runner->write("x",
                      std::vector<float>(
                          x.begin() + long(position) * 3 * channels,
                          x.begin() + long(position + step) * 3 * channels));
        runner->run("f", position, step);
        expectClose(runner->read<float>("y"),
                    {expected.begin() + long(position) * channels,
                     expected.begin() + long(position + step) * channels},
                    1e-6);
        position += step;
      }
      // Row by row, in the kernel for one.
      single->write("taps", weights);
      single->spoil("past");
      for (int row = 0; row < 8; ++row) {
        single->write(
            "x", std::vector<float>(x.begin() + long(row) * 3 * channels,
                                    x.begin() + long(row + 1) * 3 * channels));
        single->run("f", row, 1);
        expectClose(single->read<float>("y"),
                    {expected.begin() + long(row) * channels,
                     expected.begin() + long(row + 1) * channels},
                    1e-6);
      }
    }
}

// Also with taps for rows behind a row, which end with its text.
TEST_F(ShortConvTest, textsBehindOneAnother) {
  constexpr int kChannels = 64, kMaxRows = 50;
  const std::vector<int> lengths = {1, 30, 2, 13};
  std::vector<int32_t> ranges;
  std::vector<int> begins;
  int rows = 0;
  for (int length : lengths) {
    begins.push_back(rows);
    for (int i = 0; i < length; ++i)
      ranges.insert(ranges.end(), {rows, rows + length});
    rows += length;
  }
  for (auto [taps, ahead] :
       {std::pair(3, 0), {3, 1}, {3, 2}, {2, 1}, {5, 2}, {6, 1}}) {
    SCOPED_TRACE(std::to_string(ahead) + " of " + std::to_string(taps));
    auto runner = compile(
        gatedText(kChannels, taps, kMaxRows, /*hasState=*/false, ahead));
    ASSERT_TRUE(runner);
    Numbers numbers(9);
    std::vector<float> x = numbers.take(size_t(rows) * 3 * kChannels),
                       weights = numbers.take(size_t(kChannels) * size_t(taps));
    runner->spoil("y");
    // Rows beyond the step's: NaN.
    runner->spoil("x");
    runner->write("x", x);
    runner->write("taps", weights);
    runner->write("ranges", ranges);
    runner->run("f", 0, rows);
    expectClose(runner->read<float>("y"),
                gated(x, weights, kChannels, taps, begins, ahead), 1e-6);
  }
}

} // namespace
} // namespace llmc::test
