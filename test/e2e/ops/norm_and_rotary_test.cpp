// SPDX-License-Identifier: Apache-2.0
//
// Rotary pairs of both conventions, and the norm of a head.

#include "test/e2e/compiled/GraphFile.h"

namespace llmc::test {
namespace {

void expectNear(const std::vector<float> &found,
                const std::vector<float> &wanted, float tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], tolerance) << i;
}

void addRotary(GraphFile &graph, const std::string &pairs) {
  graph.addText("func.func @" + pairs +
                "(%x: tensor<?x8xf32> {graph.name = \"x\"}, %p: tensor<i32> "
                "{graph.name = "
                "\"position\"}) -> (tensor<?x8xf32> {graph.name = \"y\"}) {\n"
                "%h = graph.reshape %x : tensor<?x8xf32> -> tensor<?x1x8xf32>\n"
                "%r = graph.rotary %h, %p pairs " +
                pairs +
                " base 1.0e4 dim 8 : tensor<?x1x8xf32> -> tensor<?x1x8xf32>\n"
                "%y = graph.reshape %r : tensor<?x1x8xf32> -> tensor<?x8xf32>\n"
                "return %y : tensor<?x8xf32>\n}\n");
}

TEST(Rotary, RotatesThePairsOfItsConvention) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  GraphFile graph;
  addRotary(graph, "half");
  addRotary(graph, "adjacent");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  auto half = runner->run("half", 1, {{"x", x}}, 8, /*position=*/3);
  ASSERT_TRUE(half.ok()) << half.status().message();
  expectNear(*half,
             {-1.69559f, 0.13755f, 2.78868f, 3.97598f, -4.80884f, 6.32306f,
              7.08684f, 8.01196f},
             6e-6f);
  auto adjacent = runner->run("adjacent", 1, {{"x", x}}, 8, /*position=*/3);
  ASSERT_TRUE(adjacent.ok()) << adjacent.status().message();
  expectNear(*adjacent,
             {-1.27223f, -1.83886f, 1.68393f, 4.70791f, 4.81778f, 6.14728f,
              6.97597f, 8.02096f},
             6e-6f);
}

/// @|function| norms |input| (its rows have |width| numbers) as |shape|.
void addNorm(GraphFile &graph, const std::string &function,
             const std::string &input, const std::string &shape,
             const std::string &width) {
  const std::string gain = "tensor<" + width + "x";
  graph.addText(
      "func.func @" + function + "(%x: " + input +
      " {graph.name = \"x\"}) -> (" + input +
      " {graph.name = \"y\"}) {\n%h = graph.reshape %x : " + input + " -> " +
      shape + "\n%c = graph.load_weight @g" + width + " : " + gain +
      "!graph.encoded<f32>>\n%g = graph.dequantize %c : " + gain +
      "!graph.encoded<f32>> -> " + gain +
      "f32>\n%r = graph.rms_norm %h, %g epsilon 1.0e-6 : " + shape + ", " +
      gain + "f32> -> " + shape + "\n%y = graph.reshape %r : " + shape +
      " -> " + input + "\nreturn %y : " + input + "\n}\n");
}

/// Both rows and heads have a mean square of 12.5 or 1250, so the numbers that
/// come out are the same.
TEST(Norm, IsOverARowOrAHead_B14) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  GraphFile graph;
  graph.addWeight("g2", 2, 0, {2, 2});
  graph.addWeight("g4", 4, 0, {2, 2, 2, 2});
  addNorm(graph, "row", "tensor<?x2xf32>", "tensor<?x2xf32>", "2");
  addNorm(graph, "heads", "tensor<?x8xf32>", "tensor<?x2x4xf32>", "4");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  auto row = runner->run("row", 1, {{"x", {3, 4}}}, 2);
  ASSERT_TRUE(row.ok()) << row.status().message();
  expectNear(*row, {1.69706f, 2.26274f}, 6e-6f);
  auto heads =
      runner->run("heads", 1, {{"x", {3, 4, 3, 4, 30, 40, 30, 40}}}, 8);
  ASSERT_TRUE(heads.ok()) << heads.status().message();
  expectNear(*heads,
             {1.69706f, 2.26274f, 1.69706f, 2.26274f, 1.69706f, 2.26274f,
              1.69706f, 2.26274f},
             6e-6f);
}

// lablup's and kekzl's reports: gemma's caps, scale and gains, each once. The
// hidden size is 64, the embedding a row of ones.
TEST(Gemma, CapsLogitsScalesEmbeddingsAndAddsOneToGains_B13) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  GraphFile graph;
  graph.addWeight("table", 4, 64, std::vector<float>(256, 1.0F));
  // A gain as safetensors hold it: 0.5, to which the source adds 1.
  graph.addWeight("half", 64, 0, std::vector<float>(64, 0.5F));
  graph.addText(
      "graph.weight @gain : tensor<64x!graph.encoded<f32>> from "
      "[#graph.source<file = 0, offset = 1024, rows = 64, addend = "
      "1.0>]\n"
      "func.func @cap(%x: tensor<?x8xf32> {graph.name = \"x\"}) -> "
      "(tensor<?x8xf32> {graph.name = \"y\"}) {\n"
      "%c = graph.constant 3.0e1 : tensor<f32>\n"
      "%0 = graph.div %x, %c : tensor<?x8xf32>, tensor<f32> -> "
      "tensor<?x8xf32>\n"
      "%1 = graph.tanh %0 : tensor<?x8xf32>\n"
      "%y = graph.mul %1, %c : tensor<?x8xf32>, tensor<f32> -> "
      "tensor<?x8xf32>\nreturn %y : tensor<?x8xf32>\n}\n"
      "func.func @embed(%t: tensor<?xi32> {graph.name = \"tokens\"}) -> "
      "(tensor<?x64xf32> {graph.name = \"y\"}) {\n"
      "%e = graph.load_weight @table : tensor<4x64x!graph.encoded<f32>>\n"
      "%w = graph.dequantize %e : tensor<4x64x!graph.encoded<f32>> -> "
      "tensor<4x64xf32>\n"
      "%0 = graph.embedding %t, %w : tensor<?xi32>, tensor<4x64xf32> -> "
      "tensor<?x64xf32>\n"
      "%c = graph.constant 8.0 : tensor<f32>\n"
      "%y = graph.mul %0, %c : tensor<?x64xf32>, tensor<f32> -> "
      "tensor<?x64xf32>\nreturn %y : tensor<?x64xf32>\n}\n"
      "func.func @norm(%x: tensor<?x64xf32> {graph.name = \"x\"}) -> "
      "(tensor<?x64xf32> {graph.name = \"y\"}) {\n"
      "%e = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>\n"
      "%g = graph.dequantize %e : tensor<64x!graph.encoded<f32>> -> "
      "tensor<64xf32>\n"
      "%y = graph.rms_norm %x, %g epsilon 1.0e-6 : tensor<?x64xf32>, "
      "tensor<64xf32> -> tensor<?x64xf32>\nreturn %y : "
      "tensor<?x64xf32>\n}\n");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  auto capped =
      runner->run("cap", 1, {{"x", {-1000, -30, 0, 10, 30, 1000, 0, 0}}}, 8);
  ASSERT_TRUE(capped.ok()) << capped.status().message();
  expectNear(*capped, {-30, -22.84782F, 0, 9.64538F, 22.84782F, 30, 0, 0},
             6e-5F);
  auto row = runner->run("embed", 1, {}, 64, /*position=*/0, {3});
  ASSERT_TRUE(row.ok()) << row.status().message();
  EXPECT_EQ(*row, std::vector<float>(64, 8.0F));
  auto normed =
      runner->run("norm", 1, {{"x", std::vector<float>(64, 7.0F)}}, 64);
  ASSERT_TRUE(normed.ok()) << normed.status().message();
  expectNear(*normed, std::vector<float>(64, 1.5F), 3e-6F);
}

} // namespace
} // namespace llmc::test
