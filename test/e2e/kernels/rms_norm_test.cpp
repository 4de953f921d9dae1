// SPDX-License-Identifier: Apache-2.0
//
// RMS norms of rows: sizes, extremes of the statistics, rows that are selected,
// element-wise neighbours.

#include "test/e2e/kernels/KernelTest.h"

#include <functional>

namespace llmc::test {
namespace {

std::string normText(int size, int maxRows, const std::string &config = {}) {
  std::string s = std::to_string(size), type = "tensor<?x" + s + "xf32>",
              encoded = "tensor<" + s + "x!graph.encoded<f32>>";
  return "module {\n  graph.weight @gain : " + encoded +
         " from [#graph.source<file = 0, offset = 0, rows = " + s +
         ">]\n  func.func @f(%x: " + type + " {graph.name = \"x\"}) -> (" +
         type + " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %g = graph.load_weight @gain : " + encoded +
         "\n    %y = graph.region (%a = %x : " + type +
         ", %gg = %g : " + encoded + ") -> (" + type + ")" + config +
         " {\n      %0 = graph.dequantize %gg : " + encoded + " -> tensor<" +
         s + "xf32>\n      %1 = graph.rms_norm %a, %0 " +
         "epsilon 1.0e-6 : " + type + ", tensor<" + s + "xf32> -> " + type +
         "\n      graph.yield %1 : " + type +
         "\n    }\n    return %y : " + type + "\n  }\n}\n";
}

std::vector<double> normOf(const std::vector<float> &x,
                           const std::vector<float> &gain) {
  double squares = 0;
  for (float value : x)
    squares += double(value) * value;
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i)
    y.push_back(x[i] * gain[i] / std::sqrt(squares / double(x.size()) + 1e-6));
  return y;
}

class RmsNormTest : public KernelTest {
protected:
  /// One row of `size` elements given by a function of their number, gains
  /// of 1.
  void checkRow(int size, const std::function<float(int)> &element,
                double tolerance = 1e-6) {
    auto runner = compile(normText(size, 1));
    ASSERT_TRUE(runner);
    std::vector<float> x, gain(size, 1.0F);
    for (int i = 0; i < size; ++i)
      x.push_back(element(i));
    runner->write("x", x);
    runner->write("gain", gain);
    runner->run("f", 0, 1);
    expectClose(runner->read<float>("y"), normOf(x, gain), tolerance);
  }
};

TEST_F(RmsNormTest, statisticsOfExtremes_B09) {
  checkRow(2048, [](int) { return 300.0F; });
  checkRow(2048, [](int i) { return i % 2 ? -300.0F : 300.0F; });
  checkRow(2048, [](int) { return 60000.0F; });
  checkRow(8192, [](int i) { return i % 3 ? 1e5F : -2e5F; });
  checkRow(2048, [](int) { return 1e-4F; }); // 0.0995037: epsilon counts
  checkRow(2048, [](int i) { return i == 7 ? 1e12F : 1.0F; });
}

// One subgroup, and several whose sums meet in workgroup memory.
TEST_F(RmsNormTest, sumsOfSubgroups) {
  if (!hasDescribedSubgroups())
    GTEST_SKIP() << "this device's subgroups are of another size";
  for (int threads : {8, 64})
    for (int size : {64, 1000, 2050}) {
      SCOPED_TRACE(threads);
      std::string config =
          " attributes {lowering_config = #graph.lowering_config<\"rms_norm\", "
          "workgroup = [" +
          std::to_string(threads) +
          ", 1, 1], tile = [1, 4], reduction = subgroup>}";
      auto runner = compile(normText(size, 1, config));
      ASSERT_TRUE(runner);
      Numbers numbers(size);
      std::vector<float> x = numbers.take(size), gain = numbers.take(size);
      gain.resize(padToFour(size));
      runner->spoil("y");
      std::vector<float> padded = x;
      padded.resize(padToFour(size));
      runner->write("x", padded);
      runner->write("gain", gain);
      runner->run("f", 0, 1);
      expectClose(runner->read<float>("y"), normOf(x, gain), 1e-5);
    }
}

TEST_F(RmsNormTest, zerosStayZero) {
  auto runner = compile(normText(64, 1));
  ASSERT_TRUE(runner);
  runner->write("x", std::vector<float>(64, 0.0F));
  runner->write("gain", std::vector<float>(64, 1.0F));
  runner->run("f", 0, 1);
  EXPECT_EQ(runner->read<float>("y"), std::vector<float>(64, 0.0F));
}

TEST_F(RmsNormTest, sizesAndRows) {
  for (int size : {4, 50, 64, 100, 1000, 2050}) {
    SCOPED_TRACE(size);
    constexpr int kMaxRows = 9, kRows = 7;
    auto runner = compile(normText(size, kMaxRows));
    ASSERT_TRUE(runner);
    int width = padToFour(size);
    std::vector<float> gain = Numbers(2).take(size),
                       x(size_t(kRows) * width, 0.0F);
    Numbers numbers(3);
    std::vector<double> expected;
    for (int row = 0; row < kRows; ++row) {
      std::vector<float> one = numbers.take(size);
      std::copy(one.begin(), one.end(), x.begin() + long(row) * width);
      std::vector<double> normed = normOf(one, gain);
      normed.resize(width); // padding is zero
      expected.insert(expected.end(), normed.begin(), normed.end());
    }
    gain.resize(width);
    runner->write("x", x);
    runner->write("gain", gain);
    runner->run("f", 0, kRows);
    expectClose(runner->read<float>("y"), expected, 1e-6);
  }
}

// The last rows of a prompt, with an addition before the norm and a factor
// after it.
TEST_F(RmsNormTest, selectedRowsAndNeighbours) {
  auto runner = compile(R"mlir(
module {
  graph.weight @gain : tensor<64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @f(%x: tensor<?x64xf32> {graph.name = "x"}, %first: tensor<i32> {graph.name = "first_row"})
      -> (tensor<?x64xf32> {graph.name = "y"}) attributes {graph.rows = 8 : i64} {
    %g = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>
    %y = graph.region (%a = %x : tensor<?x64xf32>, %gg = %g : tensor<64x!graph.encoded<f32>>, %i = %first : tensor<i32>)
        -> (tensor<?x64xf32>) {
      %0 = graph.dequantize %gg : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
      %1 = graph.select_rows %a, %i : tensor<?x64xf32> -> tensor<?x64xf32>
      %2 = graph.rms_norm %1, %0 epsilon 1.0e-6 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
      %3 = graph.silu %2 : tensor<?x64xf32>
      graph.yield %3 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
)mlir");
  ASSERT_TRUE(runner);
  std::vector<float> x = Numbers(4).take(8 * 64), gain = Numbers(5).take(64);
  runner->write("x", x);
  runner->write("gain", gain);
  runner->run("f", 0, 2, 5);
  std::vector<double> expected;
  for (int row : {5, 6})
    for (double value : normOf(std::vector<float>(x.begin() + row * 64,
                                                  x.begin() + (row + 1) * 64),
                               gain))
      expected.push_back(value / (1 + std::exp(-value)));
  expectClose(runner->read<float>("y"), expected, 2e-6);
}

} // namespace
} // namespace llmc::test
