// SPDX-License-Identifier: Apache-2.0
//
// all-MiniLM-L6-v2 as ONNX, with layer normalisation as an op and in pieces:
// embeddings against those that onnxruntime computed. Skipped where the weights
// or Python are absent.

#include "compiler/Import/Import.h"
#include "compiler/Reference/Evaluator.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>

namespace llmc {
namespace {

using reference::Evaluator;
using reference::Tensor;

std::vector<double> numbersOf(const llvm::json::Array &array) {
  std::vector<double> numbers;
  for (const llvm::json::Value &value : array)
    numbers.push_back(*value.getAsNumber());
  return numbers;
}

double cosine(const std::vector<double> &a, const std::vector<double> &b) {
  double product = 0, aa = 0, bb = 0;
  for (size_t i = 0; i != a.size(); ++i) {
    product += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return product / std::sqrt(aa * bb);
}

class OnnxMiniLm : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    const std::string folder = LLMC_SHARED_DIR "/models/all-MiniLM-L6-v2";
    if (!llvm::sys::fs::exists(folder + "/golden.json"))
      GTEST_SKIP() << folder << " is not here";
    llvm::sys::fs::createTemporaryFile("minilm", "onnx", path);
    std::string command = "python3 " + folder + "/minilm_onnx.py " + folder +
                          "/model.safetensors.gz " + path.str().str() + " " +
                          GetParam();
    if (std::system(command.c_str()) != 0)
      GTEST_SKIP() << "python3 can't write the model";
    golden = llvm::cantFail(llvm::json::parse(
        (*llvm::MemoryBuffer::getFile(folder + "/golden.json"))->getBuffer()));
  }
  void TearDown() override { llvm::sys::fs::remove(path); }

  llvm::SmallString<128> path;
  llvm::json::Value golden = nullptr;
};

TEST_P(OnnxMiniLm, EmbeddingsAreOnnxruntimes) {
  MLIRContext context;
  importer::ImportOptions options;
  options.pooling = {graph::Pooling::Mean, /*isNormalized=*/true};
  auto module = importer::importModel(context, path, options);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  auto evaluator = Evaluator::create(**module);
  ASSERT_TRUE(bool(evaluator)) << llvm::toString(evaluator.takeError());
  for (const llvm::json::Value &item : *golden.getAsArray()) {
    const llvm::json::Object &text = *item.getAsObject();
    std::vector<double> tokens = numbersOf(*text.getArray("ids"));
    auto count = static_cast<int64_t>(tokens.size());
    std::vector<double> positions, ranges;
    for (int64_t t = 0; t != count; ++t) {
      positions.push_back(static_cast<double>(t));
      ranges.insert(ranges.end(), {0.0, static_cast<double>(count)});
    }
    auto results = evaluator->run(
        "encode",
        {Tensor({count}, tokens), Tensor({count}, positions),
         Tensor({count, 2}, ranges), Tensor({1, 2}, {0, double(count)})});
    ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
    ASSERT_EQ(results->size(), 2u);
    EXPECT_GE(
        cosine((*results)[1].values, numbersOf(*text.getArray("embedding"))),
        0.99999)
        << text.getString("text")->str();
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, OnnxMiniLm, testing::Values("", "--decomposed"),
                         [](const testing::TestParamInfo<std::string> &info) {
                           return info.param.empty() ? "LayerNormOp" : "Pieces";
                         });

} // namespace
} // namespace llmc
