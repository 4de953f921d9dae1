// SPDX-License-Identifier: Apache-2.0
//
// What the importer of ONNX graphs refuses, and with which message.

#include "compiler/Import/ONNX/OnnxImporter.h"
#include "compiler/Reference/Evaluator.h"
#include "test/unit/compiler/Import/onnx_writer.h"

#include "dialects/Graph/Graph.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <fstream>

namespace llmc::onnx {
namespace {

using onnx_writer::attribute;
using onnx_writer::bytesTensor;
using onnx_writer::floats;
using onnx_writer::Graph;
using onnx_writer::int64s;
using onnx_writer::node;
using onnx_writer::value;
using testing::AllOf;
using testing::HasSubstr;

/// The message with which a model is refused; "" when it is imported.
std::string refusal(const Graph &graph) {
  MLIRContext context;
  context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect>();
  auto file = OnnxFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(graph.model()), "m.onnx");
  if (!file)
    return llvm::toString(file.takeError());
  auto module = importOnnx(context, **file, {});
  return module ? "" : llvm::toString(module.takeError());
}

/// y = nodes(x), x [rows, 4].
Graph toy(std::vector<std::string> nodes, int64_t opset = 17) {
  Graph graph;
  graph.opsets = {{"", opset}};
  graph.inputs = {value("x", 1, {"rows", "4"})};
  graph.outputs = {value("y", 1, {"rows", "4"})};
  graph.nodes = std::move(nodes);
  return graph;
}

Graph withWeights(Graph graph) {
  graph.initializers = {floats("w", {4, 3}, std::vector<float>(12, 1)),
                        floats("v", {5}, std::vector<float>(5, 1)),
                        floats("one", {}, {1}), int64s("axes", {-1}),
                        int64s("shape", {3, -1})};
  return graph;
}

/// The message for one node.
std::string nodeRefusal(const std::string &op,
                        const std::vector<std::string> &inputs,
                        const std::vector<std::string> &attributes = {},
                        int64_t opset = 17) {
  return refusal(
      withWeights(toy({node(op, inputs, {"y"}, attributes)}, opset)));
}

TEST(OnnxImporter, OpsetsAreRefusedByDomain_B32) {
  EXPECT_EQ(refusal(toy({node("Relu", {"x"}, {"y"})}, 11)), "");
  EXPECT_EQ(refusal(toy({node("Relu", {"x"}, {"y"})}, 21)), "");
  for (int64_t opset : {10, 22, 99})
    EXPECT_THAT(refusal(toy({node("Relu", {"x"}, {"y"})}, opset)),
                AllOf(HasSubstr("opset " + std::to_string(opset) +
                                " of domain ai.onnx"),
                      HasSubstr("11 to 21")));
  Graph graph = toy({node("Gelu", {"x"}, {"y"}, {}, "com.microsoft")});
  EXPECT_THAT(refusal(graph), HasSubstr("imports no opset of this domain"));
  graph.opsets.push_back({"com.microsoft", 1});
  EXPECT_EQ(refusal(graph), "");
  graph.opsets.back().second = 7;
  EXPECT_THAT(refusal(graph),
              HasSubstr("opset 7 of domain com.microsoft, supported is 1"));
  graph = toy({node("Relu", {"x"}, {"y"}, {}, "x.y")});
  graph.opsets.push_back({"x.y", 3});
  EXPECT_THAT(refusal(graph),
              HasSubstr("node 'y_node' (Relu of domain x.y, opset 3): this op "
                        "is not supported"));
}

TEST(OnnxImporter, UnknownOpsAreNamed) {
  EXPECT_THAT(nodeRefusal("LSTM", {"x"}),
              HasSubstr("m.onnx: node 'y_node' (LSTM of domain ai.onnx, opset "
                        "17): this op is not supported"));
  // Nodes that no output needs may be anything.
  Graph graph = toy({node("Relu", {"x"}, {"y"}), node("LSTM", {"x"}, {"z"})});
  EXPECT_EQ(refusal(graph), "");
}

TEST(OnnxImporter, BrokenGraphsAreRefused) {
  EXPECT_THAT(
      refusal(toy({node("Add", {"x", "b"}, {"a"}), node("Relu", {"a"}, {"b"}),
                   node("Relu", {"b"}, {"y"})})),
      HasSubstr("depends on its own result"));
  EXPECT_THAT(refusal(toy({node("Relu", {"missing"}, {"y"})})),
              HasSubstr("reads 'missing', which no node computes"));
  EXPECT_THAT(refusal(toy({})), HasSubstr("'the graph's output' reads 'y'"));
  EXPECT_THAT(nodeRefusal("Add", {"x"}), HasSubstr("has no input 1"));
  EXPECT_THAT(nodeRefusal("Add", {"x", ""}), HasSubstr("has no input 1"));
}

TEST(OnnxImporter, ShapesThatDontFitAreRefused) {
  EXPECT_THAT(nodeRefusal("Add", {"x", "v"}), HasSubstr("can't combine"));
  EXPECT_THAT(nodeRefusal("MatMul", {"x", "v"}), HasSubstr("is no matrix"));
  EXPECT_THAT(
      nodeRefusal("Gemm", {"x", "w"}, {attribute("transB", int64_t{1})}),
      HasSubstr("inner dimensions differ"));
  EXPECT_THAT(nodeRefusal("Reshape", {"x", "shape"}),
              HasSubstr("no whole dimension for -1"));
  EXPECT_THAT(nodeRefusal("LayerNormalization", {"x", "v"}),
              HasSubstr("input 1 is a constant [5], but the last dimension is "
                        "4"));
  EXPECT_THAT(nodeRefusal("Transpose", {"x"},
                          {attribute("perm", std::vector<int64_t>{0, 0})}),
              HasSubstr("perm is no permutation"));
  EXPECT_THAT(nodeRefusal("Softmax", {"x"}, {attribute("axis", int64_t{2})}),
              HasSubstr("axis is 2, but the rank is 2"));
  EXPECT_THAT(nodeRefusal("ReduceMean", {"x"},
                          {attribute("axes", std::vector<int64_t>{0})}),
              HasSubstr("over other axes than the last one"));
}

TEST(OnnxImporter, TextsAreNotMixed) {
  // Softmax and sums over the rows of all texts would mix them.
  EXPECT_THAT(nodeRefusal("Softmax", {"x"}, {attribute("axis", int64_t{0})}),
              HasSubstr("is not supported"));
  Graph graph =
      toy({node("Transpose", {"x"}, {"t"}), node("MatMul", {"t", "x"}, {"y"})});
  EXPECT_THAT(refusal(graph), HasSubstr("would mix texts"));
  graph =
      toy({node("Transpose", {"x"}, {"t"}), node("MatMul", {"x", "t"}, {"y"})});
  EXPECT_THAT(refusal(graph), HasSubstr("no rows of texts alone"));
}

/// An encoder of one embedding, whose scores get `mask`.
Graph encoder(std::vector<std::string> mask) {
  Graph graph;
  graph.inputs = {value("input_ids", 7, {"b", "s"}),
                  value("attention_mask", 7, {"b", "s"})};
  graph.outputs = {value("y", 1, {"b", "s", "4"})};
  graph.initializers = {floats("table", {5, 4}, std::vector<float>(20, 1)),
                        floats("one", {}, {1}), floats("small", {}, {-10}),
                        floats("large", {}, {-10000}), int64s("axes", {1})};
  graph.nodes = {node("Gather", {"table", "input_ids"}, {"x"}),
                 node("Transpose", {"x"}, {"t"},
                      {attribute("perm", std::vector<int64_t>{0, 2, 1})}),
                 node("MatMul", {"x", "t"}, {"s"}),
                 node("Unsqueeze", {"attention_mask", "axes"}, {"m"}),
                 node("Cast", {"m"}, {"f"}, {attribute("to", int64_t{1})})};
  for (std::string &item : mask)
    graph.nodes.push_back(std::move(item));
  graph.nodes.push_back(node("Softmax", {"masked"}, {"p"}));
  graph.nodes.push_back(node("MatMul", {"p", "x"}, {"y"}));
  return graph;
}

TEST(OnnxImporter, AMaskMustHidePadding) {
  auto scaled = [](const std::string &number) {
    return encoder({node("Sub", {"one", "f"}, {"g"}),
                    node("Mul", {"g", number}, {"h"}),
                    node("Add", {"s", "h"}, {"masked"})});
  };
  EXPECT_EQ(refusal(scaled("large")), "");
  EXPECT_THAT(refusal(scaled("small")),
              HasSubstr("a mask of 0 for tokens and -10 for padding"));
  // The wrong way around: tokens are hidden.
  EXPECT_THAT(refusal(encoder({node("Mul", {"f", "large"}, {"h"}),
                               node("Add", {"s", "h"}, {"masked"})})),
              HasSubstr("for tokens and"));
}

/// Whatever a graph says, it is imported or refused.
//===----------------------------------------------------------------------===//
// Ops of com.microsoft
//===----------------------------------------------------------------------===//

/// y = op(x, …) of tokens [batch, sequence] looked up as [.., 32]. Further
/// values: `mask`, the attention mask; `last`, the last row of each text; w, a
/// matrix [32, 96]; `cosines` and `sines` [4, 8].
Graph microsoftToy(const std::string &op,
                   const std::vector<std::string> &inputs,
                   const std::vector<std::string> &attributes) {
  Graph graph;
  graph.opsets = {{"", 17}, {"com.microsoft", 1}};
  graph.inputs = {value("input_ids", 7, {"batch", "sequence"}),
                  value("attention_mask", 7, {"batch", "sequence"})};
  graph.outputs = {value("y", 1, {"batch", "sequence", "32"})};
  std::vector<float> cosines, sines;
  for (int row = 0; row < 4; ++row)
    for (int i = 0; i < 8; ++i) {
      double angle = row * std::pow(10000.0, -i / 8.0);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  graph.initializers = {floats("words", {9, 32}, std::vector<float>(288, 1)),
                        floats("w", {32, 96}, std::vector<float>(3072, 1)),
                        floats("wrong", {4, 8}, std::vector<float>(32, 0.5F)),
                        floats("cosines", {4, 8}, cosines),
                        floats("sines", {4, 8}, sines),
                        int64s("one", {1})};
  graph.nodes = {node("Gather", {"words", "input_ids"}, {"x"}),
                 node("ReduceSum", {"attention_mask", "one"}, {"lengths"},
                      {attribute("keepdims", int64_t{0})}),
                 node("Sub", {"lengths", "one"}, {"last"}),
                 node("Identity", {"attention_mask"}, {"mask"}),
                 node(op, inputs, {"y"}, attributes, "com.microsoft")};
  return graph;
}

TEST(OnnxImporter, AttentionOpsTakeMasksOfPaddingOnly) {
  auto heads = attribute("num_heads", int64_t{2});
  auto attention = [&](const std::string &mask) {
    return refusal(microsoftToy("Attention", {"x", "w", "", mask}, {heads}));
  };
  EXPECT_EQ(attention(""), "");
  EXPECT_EQ(attention("mask"), "");
  EXPECT_EQ(attention("lengths"), "");
  EXPECT_THAT(attention("last"),
              HasSubstr("input 3 is lengths of texts [batch], allowed is the "
                        "attention mask or what counts its tokens"));
  EXPECT_THAT(attention("one"), HasSubstr("input 3 is known numbers [1]"));
  EXPECT_THAT(
      refusal(microsoftToy("Attention", {"x", "w", "", "", "x"}, {heads})),
      HasSubstr("input 4 (a past, or a feature of decoders) is not supported; "
                "export the model without a cache"));
  EXPECT_THAT(refusal(microsoftToy("MultiHeadAttention", {"x", "x", "x"},
                                   {attribute("num_heads", int64_t{5})})),
              HasSubstr("with 5 heads"));
}

TEST(OnnxImporter, GroupQueryAttentionIsWithoutAPast) {
  auto attention = [&](std::vector<std::string> inputs, int64_t kvHeads = 2) {
    return refusal(microsoftToy("GroupQueryAttention", inputs,
                                {attribute("num_heads", int64_t{2}),
                                 attribute("kv_num_heads", kvHeads),
                                 attribute("do_rotary", int64_t{1})}));
  };
  EXPECT_EQ(attention({"x", "x", "x", "", "", "last", "", "cosines", "sines"}),
            "");
  Graph withCache = microsoftToy("Attention", {"x", "w"},
                                 {attribute("num_heads", int64_t{2})});
  withCache.inputs.push_back(
      value("past_key_values.0.key", 1, {"batch", "2", "past", "16"}));
  EXPECT_THAT(refusal(withCache),
              HasSubstr("input 'past_key_values.0.key' is a cache of keys and "
                        "values, which is not supported"));
  EXPECT_THAT(
      attention({"x", "x", "x", "x", "x", "last", "", "cosines", "sines"}),
      HasSubstr("input 3 (a past"));
  EXPECT_THAT(
      attention({"x", "x", "x", "", "", "lengths", "", "cosines", "sines"}),
      HasSubstr("input 5 is lengths of texts"));
  EXPECT_THAT(attention({"x", "x", "x", "", "", "last", "", "wrong", "sines"}),
              HasSubstr("turns by tables which are not the cosines and sines "
                        "of position * base^(-i / half)"));
  EXPECT_THAT(
      attention({"x", "x", "x", "", "", "last", "", "cosines", "sines"}, 1),
      HasSubstr("with 2 heads and 1 of keys is not supported"));
}

// microsoft/onnxruntime#28551: blocks without a kernel gave zeros. Codes are 5,
// zero points 2 or, without them, 8; scales 0.25, and x is ones.
TEST(OnnxImporter, NBitsBlocksAreComputedOrRefused_B21) {
  constexpr int64_t kColumns = 2048, kRows = 4;
  auto model = [&](int64_t block, bool hasZeros) {
    int64_t groups = kColumns / block;
    Graph graph;
    graph.opsets = {{"", 17}, {"com.microsoft", 1}};
    graph.inputs = {value("x", 1, {"rows", "2048"})};
    graph.outputs = {value("y", 1, {"rows", "4"})};
    graph.initializers = {
        bytesTensor("q", {kRows, groups, block / 2},
                    std::vector<uint8_t>(kRows * kColumns / 2, 0x55)),
        floats("s", {kRows * groups},
               std::vector<float>(static_cast<size_t>(kRows * groups), 0.25F)),
        bytesTensor(
            "z", {kRows * ((groups + 1) / 2)},
            std::vector<uint8_t>(
                static_cast<size_t>(kRows * ((groups + 1) / 2)), 0x22))};
    std::vector<std::string> inputs = {"x", "q", "s"};
    if (hasZeros)
      inputs.emplace_back("z");
    graph.nodes = {
        node("MatMulNBits", inputs, {"y"},
             {attribute("K", kColumns), attribute("N", kRows),
              attribute("bits", int64_t{4}), attribute("block_size", block)},
             "com.microsoft")};
    return graph;
  };
  EXPECT_THAT(refusal(model(16, true)), HasSubstr("4 bits in blocks of 16"));
  for (int64_t block : {32, 64, 128, 256, 512, 2048})
    for (bool hasZeros : {true, false}) {
      SCOPED_TRACE(block);
      MLIRContext context;
      context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect>();
      llvm::SmallString<64> path;
      llvm::sys::fs::createTemporaryFile("nbits", "onnx", path);
      std::ofstream(path.c_str(), std::ios::binary)
          << model(block, hasZeros).model();
      auto module = importer::importModel(context, path, {});
      ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
      auto evaluator = reference::Evaluator::create(**module);
      ASSERT_TRUE(bool(evaluator)) << llvm::toString(evaluator.takeError());
      auto results = evaluator->run(
          "main", {reference::Tensor({1, kColumns},
                                     std::vector<double>(kColumns, 1.0))});
      ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
      EXPECT_THAT(results->front().values,
                  testing::Each(hasZeros ? 1536.0 : -1536.0));
      llvm::sys::fs::remove(path);
    }
}

TEST(OnnxImporter, SurvivesEveryChangedByte) {
  MLIRContext context;
  context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect>();
  std::string text = encoder({node("Sub", {"one", "f"}, {"g"}),
                              node("Mul", {"g", "large"}, {"h"}),
                              node("Add", {"s", "h"}, {"masked"})})
                         .model();
  int numImported = 0;
  for (size_t i = 0; i != text.size(); ++i)
    for (int change : {1, 6, 128}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ change);
      auto file = OnnxFile::parse(llvm::MemoryBuffer::getMemBufferCopy(changed),
                                  "m.onnx");
      if (!file) {
        llvm::consumeError(file.takeError());
        continue;
      }
      auto module = importOnnx(context, **file, {});
      if (module)
        ++numImported;
      else
        llvm::consumeError(module.takeError());
    }
  EXPECT_GT(numImported, 0);
}

TEST(OnnxImporter, AnEncoderNeedsDynamicLengths) {
  Graph graph = encoder({node("Identity", {"s"}, {"masked"})});
  EXPECT_EQ(refusal(graph), "");
  for (std::string &input : graph.inputs)
    input =
        value(input.find("input_ids") != std::string::npos ? "input_ids"
                                                           : "attention_mask",
              7, {"1", "128"});
  EXPECT_THAT(refusal(graph), HasSubstr("has no dynamic dimension"));
}

} // namespace
} // namespace llmc::onnx
