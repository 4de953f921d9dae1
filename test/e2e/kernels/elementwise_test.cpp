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

} // namespace
} // namespace llmc::test
