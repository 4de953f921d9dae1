// SPDX-License-Identifier: Apache-2.0
//
// Trees of element-wise ops on whole tensors.

#include "test/e2e/kernels/KernelTest.h"

namespace llmc::test {
namespace {

using ElementwiseTest = KernelTest;

TEST_F(ElementwiseTest, treeWithConstantBiasAndRaggedRows) {
  auto runner = compile(R"mlir(
module {
  graph.weight @bias : tensor<50x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 50>]
  func.func @f(%x: tensor<?x50xf32> {graph.name = "x"}, %u: tensor<?x50xf32> {graph.name = "u"})
      -> (tensor<?x50xf32> {graph.name = "y"}, tensor<?x50xf32> {graph.name = "z"}) attributes {graph.rows = 8 : i64} {
    %b = graph.load_weight @bias : tensor<50x!graph.encoded<f32>>
    %y:2 = graph.region (%a = %x : tensor<?x50xf32>, %c = %u : tensor<?x50xf32>, %bb = %b : tensor<50x!graph.encoded<f32>>)
        -> (tensor<?x50xf32>, tensor<?x50xf32>) {
      %0 = graph.dequantize %bb : tensor<50x!graph.encoded<f32>> -> tensor<50xf32>
      %k = graph.constant 4.0 : tensor<f32>
      %1 = graph.mul %a, %k : tensor<?x50xf32>, tensor<f32> -> tensor<?x50xf32>
      %2 = graph.add %1, %0 : tensor<?x50xf32>, tensor<50xf32> -> tensor<?x50xf32>
      %3 = graph.silu %2 : tensor<?x50xf32>
      %4 = graph.mul %3, %c : tensor<?x50xf32>, tensor<?x50xf32> -> tensor<?x50xf32>
      %5 = graph.sub %4, %a : tensor<?x50xf32>, tensor<?x50xf32> -> tensor<?x50xf32>
      graph.yield %4, %5 : tensor<?x50xf32>, tensor<?x50xf32>
    }
    return %y#0, %y#1 : tensor<?x50xf32>, tensor<?x50xf32>
  }
}
)mlir");
  ASSERT_TRUE(runner);
  constexpr int kRows = 5, kWidth = 52;
  Numbers numbers(6);
  std::vector<float> x = numbers.take(kRows * kWidth),
                     u = numbers.take(kRows * kWidth),
                     bias = numbers.take(kWidth);
  std::vector<double> y, z;
  for (int i = 0; i < kRows * kWidth; ++i) {
    double inner = 4.0 * x[i] + bias[i % kWidth];
    bool isPadding = i % kWidth >= 50;
    y.push_back(isPadding ? 0 : inner / (1 + std::exp(-inner)) * u[i]);
    z.push_back(isPadding ? 0 : y.back() - x[i]);
  }
  runner->write("x", x);
  runner->write("u", u);
  runner->write("bias", bias);
  runner->run("f", 0, kRows);
  expectClose(runner->read<float>("y"), y, 1e-6);
  expectClose(runner->read<float>("z"), z, 1e-6);
}

// A soft cap: values far outside of tanh's range stay finite (30 * tanh(x /
// 30)).
TEST_F(ElementwiseTest, softCap) {
  auto runner = compile(R"mlir(
module {
  func.func @f(%x: tensor<?x6xf32> {graph.name = "x"}) -> (tensor<?x6xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %y = graph.region (%a = %x : tensor<?x6xf32>) -> (tensor<?x6xf32>) {
      %k = graph.constant 30.0 : tensor<f32>
      %0 = graph.div %a, %k : tensor<?x6xf32>, tensor<f32> -> tensor<?x6xf32>
      %1 = graph.tanh %0 : tensor<?x6xf32>
      %2 = graph.mul %1, %k : tensor<?x6xf32>, tensor<f32> -> tensor<?x6xf32>
      graph.yield %2 : tensor<?x6xf32>
    }
    return %y : tensor<?x6xf32>
  }
}
)mlir");
  ASSERT_TRUE(runner);
  runner->write("x", std::vector<float>{-1000, -30, 0, 10, 30, 1000});
  runner->run("f", 0, 1);
  expectClose(runner->read<float>("y"),
              {-30, -22.84782, 0, 9.64538, 22.84782, 30}, 1e-6);
}

// Each function alone, at ordinary numbers and at the ends of its range.
TEST_F(ElementwiseTest, functions) {
  const std::vector<float> x = {-1000, -88, -3, -0.5F, 0, 0.25F, 2, 80};
  const std::vector<std::pair<std::string, double (*)(double)>> functions = {
      {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"relu", [](double v) { return std::max(v, 0.0); }},
      {"exp", [](double v) { return std::exp(v); }},
      {"erf", [](double v) { return std::erf(v); }},
      {"gelu",
       [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); }},
      {"sqrt", [](double v) { return std::sqrt(v); }}};
  for (const auto &[name, function] : functions) {
    SCOPED_TRACE(name);
    auto runner = compile(
        "module {\n  func.func @f(%x: tensor<?x8xf32> {graph.name = \"x\"}) -> "
        "(tensor<?x8xf32> {graph.name = \"y\"}) attributes {graph.rows = 1 : "
        "i64} {\n    %y = graph.region (%a = %x : tensor<?x8xf32>) -> "
        "(tensor<?x8xf32>) {\n      %0 = graph." +
        name +
        " %a : tensor<?x8xf32>\n      graph.yield %0 : tensor<?x8xf32>\n    "
        "}\n    return %y : tensor<?x8xf32>\n  }\n}\n");
    ASSERT_TRUE(runner);
    runner->write("x", x);
    runner->run("f", 0, 1);
    std::vector<float> y = runner->read<float>("y");
    for (size_t i = 0; i < x.size(); ++i) {
      if (name == "sqrt" && x[i] < 0)
        continue;
      double wanted = function(x[i]);
      // The polynomial of erf errs by 1.5e-7, exp by a few units of its own.
      EXPECT_NEAR(y[i], wanted, 5e-7 + 1e-5 * std::abs(wanted)) << x[i];
    }
  }
}

} // namespace
} // namespace llmc::test
