// SPDX-License-Identifier: Apache-2.0
//
// Whole imports: the graph that a model becomes, .mlir files, and paths that
// are no model.

#include "compiler/Import/Import.h"
#include "test/unit/compiler/Import/toy_decoder.h"

#include "dialects/Graph/Graph.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fstream>

namespace {

using llmc::test::ToyDecoder;
using testing::HasSubstr;

class ImportTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::sys::fs::createUniqueDirectory("llmc-import", folder);
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string write(llvm::StringRef name, const std::string &bytes) {
    llvm::SmallString<128> path = folder;
    llvm::sys::path::append(path, name);
    std::ofstream(path.c_str(), std::ios::binary) << bytes;
    return path.str().str();
  }
  std::string refusal(const std::string &path) {
    auto module = llmc::importer::importModel(context, path);
    return module ? "" : llvm::toString(module.takeError());
  }
  static std::string print(mlir::Operation *op) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    op->print(stream);
    return text;
  }

  llvm::SmallString<128> folder;
  mlir::MLIRContext context;
};

/// The ops of a function by name, without the decoding of weights.
std::vector<std::string> opNames(mlir::ModuleOp module,
                                 llvm::StringRef function) {
  std::vector<std::string> names;
  module.lookupSymbol<mlir::func::FuncOp>(function).walk(
      [&](mlir::Operation *op) {
        if (!llvm::isa<llmc::graph::LoadWeightOp, llmc::graph::DequantizeOp,
                       mlir::func::FuncOp>(op))
          names.push_back(op->getName().stripDialect().str());
      });
  return names;
}

TEST_F(ImportTest, ModelBecomesPrimitives) {
  std::string path = write("toy.gguf", ToyDecoder("qwen3").file().build());
  auto module = llmc::importer::importModel(context, path);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  EXPECT_TRUE(mlir::succeeded(mlir::verify(**module)));

  const std::vector<std::string> heads = {"reshape", "rms_norm", "rotary"};
  const std::vector<std::string> cache = {"kv_append", "transpose", "reshape"};
  std::vector<std::string> expected = {"embedding"};
  auto add = [&](const std::vector<std::string> &names) {
    expected.insert(expected.end(), names.begin(), names.end());
  };
  for (int layer = 0; layer < 2; ++layer) {
    add({"rms_norm", "matmul", "matmul", "matmul"});
    add(heads);
    add(heads);
    add({"reshape"});
    add(cache);
    add(cache);
    add({"reshape", "transpose", "matmul", "constant", "mul", "causal_mask",
         "softmax", "matmul", "transpose", "reshape", "matmul", "add"});
    add({"rms_norm", "matmul", "silu", "matmul", "mul", "matmul", "add"});
  }
  add({"return"});
  EXPECT_EQ(opNames(**module, "forward"), expected);
  EXPECT_EQ(opNames(**module, "logits"),
            (std::vector<std::string>{"select_rows", "rms_norm", "matmul",
                                      "return"}));
}

TEST_F(ImportTest, FunctionsAndModuleSayWhatTheyAre) {
  std::string path = write("toy.gguf", ToyDecoder("llama").file().build());
  auto module =
      llvm::cantFail(llmc::importer::importModel(context, path, {32}));
  std::string text = print(*module);
  for (const char *part :
       {"graph.architecture = \"llama\"", "graph.context_length = 32 : i64",
        "graph.name = \"toy\"",
        "@forward(%arg0: tensor<?xi32> {graph.name = \"tokens\"}, %arg1: "
        "tensor<i32> {graph.name = \"position\"}) -> (tensor<?x8xf32> "
        "{graph.name = \"hidden\"})",
        "@logits(%arg0: tensor<?x8xf32> {graph.name = \"hidden\"}, %arg1: "
        "tensor<i32> {graph.name = \"first_row\"}) -> (tensor<?x16xf32> "
        "{graph.name = \"logits\"}) attributes {graph.max_rows = 32 : i64}",
        "graph.state @blk.1.v : tensor<1x32x4xf32>",
        "graph.weight @blk.0.ffn_down.weight : "
        "tensor<8x12x!graph.encoded<f32>> from",
        "graph.constant 5.000000e-01 : tensor<f32>",
        "pairs  adjacent base 1.000000e+04 dim 4",
        "tensor<1x2x?x4xf32>, tensor<1x1x?x4xf32> -> tensor<1x2x?x?xf32>"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, HasSubstr("graph.files = [\"" + path + "\"]"));
}

TEST_F(ImportTest, MlirFilesFindTheirWeightsBesideThem) {
  std::string path = write("graph.mlir", R"mlir(
    module attributes {graph.files = ["sub/weights.bin", "/elsewhere/weights.bin"]} {
      func.func @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
        return %x : tensor<?x4xf32>
      }
    })mlir");
  auto module = llmc::importer::importModel(context, path);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  auto files = (**module)->getAttrOfType<mlir::ArrayAttr>("graph.files");
  EXPECT_EQ(llvm::cast<mlir::StringAttr>(files[0]).getValue(),
            (folder + "/sub/weights.bin").str());
  EXPECT_EQ(llvm::cast<mlir::StringAttr>(files[1]).getValue(),
            "/elsewhere/weights.bin");
}

TEST_F(ImportTest, MlirErrorsNameTheLine) {
  std::string path = write("graph.mlir", "\nfunc.func @f( {\n}\n");
  EXPECT_THAT(refusal(path),
              HasSubstr("graph.mlir:2:14: expected non-function type"));
  path = write("graph.mlir", "module attributes {graph.files = [1]} {}");
  EXPECT_THAT(refusal(path), HasSubstr("something else than strings"));
  path = write("graph.mlir", "graph.state @s : tensor<?xf32>");
  EXPECT_THAT(refusal(path), HasSubstr("state_c1"));
}

TEST_F(ImportTest, RefusesWhatIsNoModel) {
  EXPECT_THAT(refusal(folder.str().str()),
              HasSubstr("is a folder without config.json"));
  EXPECT_THAT(refusal(write("a.onnx", "GGUF")),
              HasSubstr("a.onnx: the model: "));
  EXPECT_THAT(refusal(write("a.safetensors", "x")), HasSubstr("not supported"));
  EXPECT_THAT(refusal(write("a.txt", "hello")),
              HasSubstr("'hell', allowed is 'GGUF'"));
  EXPECT_THAT(refusal(write("empty.gguf", "")), HasSubstr("truncated"));
  EXPECT_THAT(refusal("/nonexistent.gguf"), HasSubstr("can't be read"));
  EXPECT_THAT(refusal("/nonexistent.mlir"), HasSubstr("/nonexistent.mlir"));
}

} // namespace
