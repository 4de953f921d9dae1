// SPDX-License-Identifier: Apache-2.0
//
// The evaluator on small modules: states, views, regions, weights of several
// sources, and the errors for calls that don't fit.

#include "compiler/Reference/Evaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fstream>

namespace {

using llmc::reference::Evaluator;
using llmc::reference::Tensor;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

/// A parsed module, the evaluator on it, and the file of floats 1, 2, 3, … that
/// its weights lie in.
class EvaluatorTest : public testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<llmc::graph::GraphDialect, mlir::func::FuncDialect>();
    llvm::sys::fs::createTemporaryFile("weights", "bin", path);
    std::ofstream file(path.c_str(), std::ios::binary);
    for (int i = 1; i <= 32; ++i) {
      auto number = static_cast<float>(i);
      file.write(reinterpret_cast<const char *>(&number), sizeof(number));
    }
  }
  void TearDown() override { llvm::sys::fs::remove(path); }

  Evaluator load(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    setFile(path.str());
    return llvm::cantFail(Evaluator::create(*module));
  }
  void setFile(llvm::StringRef name) {
    mlir::Builder builder(&context);
    (*module)->setAttr("graph.files", builder.getStrArrayAttr({name}));
  }

  /// The first result's numbers.
  static std::vector<double> call(Evaluator &evaluator, llvm::StringRef name,
                                  llvm::ArrayRef<Tensor> arguments) {
    return llvm::cantFail(evaluator.run(name, arguments)).front().values;
  }
  static std::string error(Evaluator &evaluator, llvm::StringRef name,
                           llvm::ArrayRef<Tensor> arguments) {
    auto result = evaluator.run(name, arguments);
    return result ? "" : llvm::toString(result.takeError());
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallString<128> path;
};

constexpr const char *kCache = R"mlir(
  graph.state @s : tensor<2x4x1xf32>
  func.func @append(%x: tensor<?x2x1xf32>, %p: tensor<i32>) -> tensor<?x2x1xf32> {
    %y = graph.kv_append @s, %x, %p : tensor<?x2x1xf32> -> tensor<?x2x1xf32>
    return %y : tensor<?x2x1xf32>
  })mlir";

TEST_F(EvaluatorTest, StatesLiveFromCallToCall) {
  Evaluator evaluator = load(kCache);
  Tensor two({2, 2, 1}, {1, 2, 3, 4}), one({1, 2, 1}, {5, 6});
  EXPECT_THAT(call(evaluator, "append", {two, Tensor::scalar(0)}),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(call(evaluator, "append", {one, Tensor::scalar(2)}),
              ElementsAre(1, 2, 3, 4, 5, 6));
  // Going back overwrites, and shows no later rows.
  EXPECT_THAT(call(evaluator, "append", {one, Tensor::scalar(1)}),
              ElementsAre(1, 2, 5, 6));
  evaluator.reset();
  EXPECT_THAT(call(evaluator, "append", {one, Tensor::scalar(1)}),
              ElementsAre(0, 0, 5, 6));
}

// A scale for each row of a head: of the two heads, one reaches 127, the other
// 254 and nothing.
TEST_F(EvaluatorTest, CachesKeepWhatTheirTypeHolds) {
  const std::string text = R"mlir(
    graph.state @s : tensor<2x4x4xTYPE>
    func.func @append(%x: tensor<?x2x4xf32>, %p: tensor<i32>) -> tensor<?x2x4xf32> {
      %y = graph.kv_append @s, %x, %p : tensor<?x2x4xf32> -> tensor<?x2x4xf32>
      return %y : tensor<?x2x4xf32>
    })mlir";
  Tensor x({2, 2, 4},
           {127, 0.5, 1.5, -2.5, 254, 1, 3, 5, 1, 2049, 0, 0, 0, 0, 0, 0});
  auto keep = [&](const char *type) {
    std::string typed = text;
    typed.replace(typed.find("TYPE"), 4, type);
    Evaluator evaluator = load(typed.c_str());
    return call(evaluator, "append", {x, Tensor::scalar(0)});
  };
  EXPECT_THAT(keep("i8"), ElementsAre(127, 0, 2, -2, 254, 0, 4, 4, 0,
                                      DoubleEq(2049), 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(keep("f16"), ElementsAre(127, 0.5, 1.5, -2.5, 254, 1, 3, 5, 1,
                                       2048, 0, 0, 0, 0, 0, 0));
}

TEST_F(EvaluatorTest, RoundsWhatIsConverted) {
  Evaluator evaluator = load(R"mlir(
    func.func @f(%x: tensor<?x2xf32>) -> tensor<?x2xf16> {
      %y = graph.convert %x : tensor<?x2xf32> -> tensor<?x2xf16>
      return %y : tensor<?x2xf16>
    })mlir");
  EXPECT_THAT(call(evaluator, "f", {Tensor({1, 2}, {2049, 0.1})}),
              ElementsAre(2048, 0.0999755859375));
}

TEST_F(EvaluatorTest, RefusesPositionsBeyondTheState) {
  Evaluator evaluator = load(kCache);
  Tensor one({1, 2, 1}, {5, 6});
  EXPECT_EQ(error(evaluator, "append", {one, Tensor::scalar(3)}), "");
  EXPECT_THAT(error(evaluator, "append", {one, Tensor::scalar(4)}),
              HasSubstr("writes positions 4 to 4, allowed are 0 to 3"));
  EXPECT_THAT(error(evaluator, "append", {one, Tensor::scalar(-1)}),
              HasSubstr("allowed are 0 to 3"));
}

TEST_F(EvaluatorTest, AConvolutionRemembersItsLastInputs) {
  // One channel; taps 1, 2, 3 from the file.
  Evaluator evaluator = load(R"mlir(
    graph.weight @taps : tensor<3x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 3>]
    graph.state @s : tensor<2x1xf32>
    func.func @conv(%x: tensor<?x1xf32>, %p: tensor<i32>) -> tensor<?x1xf32> {
      %w = graph.load_weight @taps : tensor<3x!graph.encoded<f32>>
      %t = graph.dequantize %w : tensor<3x!graph.encoded<f32>> -> tensor<3xf32>
      %y = graph.short_conv %x, %t state @s, %p : tensor<?x1xf32>, tensor<3xf32>
      return %y : tensor<?x1xf32>
    })mlir");
  Tensor three({3, 1}, {1, 10, 100}), one({1, 1}, {1000});
  EXPECT_THAT(call(evaluator, "conv", {three, Tensor::scalar(0)}),
              ElementsAre(3, 32, 321));
  EXPECT_THAT(call(evaluator, "conv", {one, Tensor::scalar(3)}),
              ElementsAre(10 + 200 + 3000));
  EXPECT_THAT(call(evaluator, "conv", {one, Tensor::scalar(4)}),
              ElementsAre(100 + 2000 + 3000));
  // A new text: nothing of the old one is seen.
  EXPECT_THAT(call(evaluator, "conv", {one, Tensor::scalar(0)}),
              ElementsAre(3000));
}

TEST_F(EvaluatorTest, RefusesSpansAndRangesThatDoNotFit) {
  Evaluator evaluator = load(R"mlir(
    func.func @pool(%x: tensor<?x1xf32>, %s: tensor<?x2xi32>) -> tensor<?x1xf32> {
      %y = graph.pool mean %x, %s : tensor<?x1xf32>, tensor<?x2xi32> -> tensor<?x1xf32>
      return %y : tensor<?x1xf32>
    }
    func.func @bias(%x: tensor<1x?x?xf32>, %t: tensor<3xf32>) -> tensor<1x?x?xf32> {
      %y = graph.relative_bias %x, %t : tensor<1x?x?xf32>, tensor<3xf32>
      return %y : tensor<1x?x?xf32>
    })mlir");
  Tensor x({3, 1}, {1, 2, 6});
  EXPECT_THAT(call(evaluator, "pool", {x, Tensor({1, 2}, {0, 3})}),
              ElementsAre(3));
  EXPECT_THAT(error(evaluator, "pool", {x, Tensor({1, 2}, {1, 4})}),
              HasSubstr("allowed are rows 0 to 3"));
  EXPECT_THAT(error(evaluator, "pool", {x, Tensor({1, 2}, {2, 1})}),
              HasSubstr("allowed are rows 0 to 3"));
  EXPECT_THAT(error(evaluator, "bias", {Tensor({1, 2, 3}), Tensor({3})}),
              HasSubstr("3 rows or keys, its table serves 2"));
}

TEST_F(EvaluatorTest, RefusesArgumentsThatDoNotFit) {
  Evaluator evaluator = load(kCache);
  EXPECT_THAT(error(evaluator, "append", {Tensor({1, 3, 1})}),
              HasSubstr("takes 2 arguments, but got 1"));
  EXPECT_THAT(
      error(evaluator, "append", {Tensor({1, 3, 1}), Tensor::scalar(0)}),
      HasSubstr("argument 0 has shape [1, 3, 1], allowed is [?, 2, 1]"));
  EXPECT_THAT(error(evaluator, "other", {}), HasSubstr("no function 'other'"));
}

TEST_F(EvaluatorTest, WeightsOfSeveralSourcesFollowOneAnother) {
  Evaluator evaluator = load(R"mlir(
    graph.weight @w : tensor<3x2x!graph.encoded<f32>> from [
      #graph.source<file = 0, offset = 16, rows = 1>, #graph.source<file = 0, offset = 0, rows = 2>]
    graph.weight @b : tensor<3x!graph.encoded<f32>> from [
      #graph.source<file = 0, offset = 32, rows = 1>, #graph.source<file = 0, offset = 40, rows = 2>]
    func.func @f(%x: tensor<?x2xf32>) -> tensor<?x3xf32> {
      %w = graph.load_weight @w : tensor<3x2x!graph.encoded<f32>>
      %y = graph.quantized_linear %x, %w : tensor<?x2xf32>, tensor<3x2x!graph.encoded<f32>> -> tensor<?x3xf32>
      %b = graph.load_weight @b : tensor<3x!graph.encoded<f32>>
      %d = graph.dequantize %b : tensor<3x!graph.encoded<f32>> -> tensor<3xf32>
      %z = graph.add %y, %d : tensor<?x3xf32>, tensor<3xf32> -> tensor<?x3xf32>
      return %z : tensor<?x3xf32>
    })mlir");
  // Rows (5 6), (1 2), (3 4); bias 9, 11, 12.
  EXPECT_THAT(call(evaluator, "f", {Tensor({1, 2}, {1, 100})}),
              ElementsAre(605 + 9, 201 + 11, 403 + 12));
}

TEST_F(EvaluatorTest, LinearsReadQuantizedActivations) {
  Evaluator evaluator = load(R"mlir(
    graph.weight @w : tensor<1x32x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 1>]
    func.func @f(%x: tensor<?x32xf32>) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
      %w = graph.load_weight @w : tensor<1x32x!graph.encoded<f32>>
      %q, %s, %t = graph.quantize_activations %x group 0 : tensor<?x32xf32> -> tensor<?x32xi8>, tensor<?xf32>, tensor<?x1xf32>
      %y = graph.quantized_linear %q, %w scales %s : tensor<?xf32> sums %t : tensor<?x1xf32>
        : tensor<?x32xi8>, tensor<1x32x!graph.encoded<f32>> -> tensor<?x1xf32>
      return %y, %t : tensor<?x1xf32>, tensor<?x1xf32>
    })mlir");
  // Weights 1, 2, 3, 4, …; scale 2, codes 127 and 2 (5 / 2 rounds to even).
  Tensor x({1, 32});
  x.values[0] = 254;
  x.values[1] = 5;
  auto results = evaluator.run("f", {x});
  ASSERT_TRUE(static_cast<bool>(results));
  EXPECT_THAT((*results)[0].values, ElementsAre(254 + 4 * 2));
  EXPECT_THAT((*results)[1].values, ElementsAre(254 + 4));
}

TEST_F(EvaluatorTest, PrimitivesAndFusedOpsAgree) {
  Evaluator evaluator = load(R"mlir(
    graph.weight @w : tensor<4x4x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 4>]
    func.func @primitive(%t: tensor<?xi32>) -> tensor<?x4xf32> {
      %w = graph.load_weight @w : tensor<4x4x!graph.encoded<f32>>
      %m = graph.dequantize %w : tensor<4x4x!graph.encoded<f32>> -> tensor<4x4xf32>
      %x = graph.embedding %t, %m : tensor<?xi32>, tensor<4x4xf32> -> tensor<?x4xf32>
      %y = graph.matmul %x, %m transpose_rhs : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
      %z = graph.silu %y : tensor<?x4xf32>
      return %z : tensor<?x4xf32>
    }
    func.func @fused(%t: tensor<?xi32>) -> tensor<?x4xf32> {
      %w = graph.load_weight @w : tensor<4x4x!graph.encoded<f32>>
      %x = graph.quantized_embedding %t, %w : tensor<?xi32>, tensor<4x4x!graph.encoded<f32>> -> tensor<?x4xf32>
      %z = graph.region (%a = %x : tensor<?x4xf32>, %b = %w : tensor<4x4x!graph.encoded<f32>>) -> (tensor<?x4xf32>) {
        %y = graph.quantized_linear %a, %b : tensor<?x4xf32>, tensor<4x4x!graph.encoded<f32>> -> tensor<?x4xf32>
        %s = graph.silu %y : tensor<?x4xf32>
        graph.yield %s : tensor<?x4xf32>
      }
      return %z : tensor<?x4xf32>
    })mlir");
  Tensor tokens = Tensor::vector({2, 0});
  std::vector<double> expected = call(evaluator, "primitive", {tokens});
  EXPECT_EQ(expected[0], 9 + 20 + 33 + 48); // silu is the identity so far out
  EXPECT_EQ(call(evaluator, "fused", {tokens}), expected);
  for (int32_t token : {-1, 4})
    for (const char *name : {"primitive", "fused"})
      EXPECT_THAT(error(evaluator, name, {Tensor::vector({token})}),
                  HasSubstr("has token " + std::to_string(token) +
                            ", allowed are 0 to 3"));
}

TEST_F(EvaluatorTest, MatmulWithoutTransposeReadsTheWeightDownwards) {
  Evaluator evaluator = load(R"mlir(
    graph.weight @w : tensor<2x3x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 2>]
    func.func @f(%x: tensor<?x2xf32>) -> tensor<?x3xf32> {
      %w = graph.load_weight @w : tensor<2x3x!graph.encoded<f32>>
      %m = graph.dequantize %w : tensor<2x3x!graph.encoded<f32>> -> tensor<2x3xf32>
      %y = graph.matmul %x, %m : tensor<?x2xf32>, tensor<2x3xf32> -> tensor<?x3xf32>
      return %y : tensor<?x3xf32>
    })mlir");
  EXPECT_THAT(call(evaluator, "f", {Tensor({1, 2}, {1, 10})}),
              ElementsAre(41, 52, 63));
}

TEST_F(EvaluatorTest, SelectRowsBeginsAtFirst) {
  Evaluator evaluator = load(R"mlir(
    func.func @rest(%x: tensor<?x1xf32>, %first: tensor<i32>) -> tensor<?x1xf32> {
      %y = graph.select_rows %x, %first : tensor<?x1xf32> -> tensor<?x1xf32>
      return %y : tensor<?x1xf32>
    }
    func.func @two(%x: tensor<?x1xf32>, %first: tensor<i32>) -> tensor<2x1xf32> {
      %y = graph.select_rows %x, %first : tensor<?x1xf32> -> tensor<2x1xf32>
      return %y : tensor<2x1xf32>
    })mlir");
  Tensor x({3, 1}, {1, 2, 3});
  EXPECT_THAT(call(evaluator, "rest", {x, Tensor::scalar(1)}),
              ElementsAre(2, 3));
  EXPECT_THAT(call(evaluator, "two", {x, Tensor::scalar(0)}),
              ElementsAre(1, 2));
  EXPECT_THAT(call(evaluator, "two", {x, Tensor::scalar(2)}),
              ElementsAre(3, 0));
  EXPECT_THAT(error(evaluator, "rest", {x, Tensor::scalar(4)}),
              HasSubstr("begins at row 4 of 3"));
}

TEST_F(EvaluatorTest, RefusesDynamicSizesThatDiffer) {
  Evaluator evaluator = load(R"mlir(
    func.func @f(%x: tensor<?x1xf32>, %y: tensor<?x1xf32>) -> tensor<?x1xf32> {
      %z = graph.add %x, %y : tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
      return %z : tensor<?x1xf32>
    })mlir");
  EXPECT_THAT(error(evaluator, "f", {Tensor({2, 1}), Tensor({3, 1})}),
              HasSubstr("gets shapes [2, 1] and [3, 1]"));
}

TEST_F(EvaluatorTest, HalfResultsAreRounded) {
  Evaluator evaluator = load(R"mlir(
    func.func @f(%x: tensor<1xf16>, %y: tensor<1xf16>) -> tensor<1xf16> {
      %z = graph.div %x, %y : tensor<1xf16>, tensor<1xf16> -> tensor<1xf16>
      return %z : tensor<1xf16>
    })mlir");
  EXPECT_THAT(call(evaluator, "f", {Tensor({1}, {1}), Tensor({1}, {3})}),
              ElementsAre(0.333251953125));
}

TEST_F(EvaluatorTest, NamesWeightsOutsideTheirFile) {
  load(R"mlir(
    graph.weight @w : tensor<4x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 4>]
  )mlir");
  auto refusal = [&](const std::string &attributes) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "graph.weight @w : tensor<4x!graph.encoded<f32>> from "
        "[#graph.source<" +
            attributes + ", rows = 4>]",
        &context);
    setFile(path.str());
    auto evaluator = Evaluator::create(*module);
    return evaluator ? "" : llvm::toString(evaluator.takeError());
  };
  EXPECT_EQ(refusal("file = 0, offset = 112"), "");
  EXPECT_THAT(refusal("file = 0, offset = 116"),
              HasSubstr("weight 'w' has 16 bytes at offset 116, but the file "
                        "has 128 bytes"));
  EXPECT_THAT(refusal("file = 0, offset = 9223372036854775807"),
              HasSubstr("weight 'w'"));
  EXPECT_THAT(refusal("file = 1, offset = 0"),
              HasSubstr("weight 'w' names file 1, but graph.files has 1"));
  setFile("/nonexistent/weights.bin");
  EXPECT_THAT(llvm::toString(Evaluator::create(*module).takeError()),
              HasSubstr("/nonexistent/weights.bin: can't be read"));
}

} // namespace
