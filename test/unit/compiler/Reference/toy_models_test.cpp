// SPDX-License-Identifier: Apache-2.0
//
// What must not change a model's answers: how a prompt is cut into steps, where
// tensors lie in the file, and whether the output matrix is a copy.

#include "compiler/Import/Import.h"
#include "compiler/Reference/Evaluator.h"
#include "test/unit/compiler/Import/toy_decoder.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <fstream>

namespace {

using llmc::reference::Evaluator;
using llmc::reference::Tensor;
using llmc::test::GgufBuilder;
using llmc::test::littleEndian;
using llmc::test::ToyDecoder;

/// A [16, 8] matrix of small numbers that depend on `seed`.
std::string matrix(int seed) {
  std::string bytes;
  for (int i = 0; i < 16 * 8; ++i)
    bytes += littleEndian(static_cast<float>((i * 7 + seed * 3) % 11 - 5));
  return bytes;
}

/// A toy with an embedding that tells tokens apart.
GgufBuilder toy(size_t alignment = 32) {
  ToyDecoder decoder("llama");
  decoder.alignment = alignment;
  decoder.leftOut = "token_embd.weight";
  GgufBuilder file = decoder.file();
  if (alignment != 32)
    file.number("general.alignment", static_cast<uint32_t>(alignment));
  return file.tensor("token_embd.weight", {8, 16}, 0, matrix(1));
}

/// Logits of all rows, with the tokens fed in steps of these sizes.
std::vector<double> logits(const GgufBuilder &file,
                           const std::vector<int> &steps) {
  llvm::SmallString<128> path;
  llvm::sys::fs::createTemporaryFile("toy", "gguf", path);
  std::ofstream(path.c_str(), std::ios::binary) << file.build();
  mlir::MLIRContext context;
  auto module = llvm::cantFail(llmc::importer::importModel(context, path));
  auto evaluator = llvm::cantFail(Evaluator::create(*module));
  std::vector<double> rows;
  int32_t position = 0;
  for (int step : steps) {
    std::vector<int32_t> tokens;
    for (int i = 0; i < step; ++i)
      tokens.push_back((position + i) * 5 % 16);
    auto hidden = llvm::cantFail(evaluator.run(
        "forward", {Tensor::vector(tokens), Tensor::scalar(position)}));
    auto result = llvm::cantFail(
        evaluator.run("logits", {hidden.front(), Tensor::scalar(0)}));
    rows.insert(rows.end(), result.front().values.begin(),
                result.front().values.end());
    position += step;
  }
  llvm::sys::fs::remove(path);
  return rows;
}

TEST(ToyModelsTest, StepsOfAPromptDoNotMatter) {
  std::vector<double> whole = logits(toy(), {7});
  EXPECT_EQ(whole.size(), 7u * 16);
  EXPECT_EQ(logits(toy(), {3, 4}), whole);
  EXPECT_EQ(logits(toy(), {1, 1, 1, 1, 1, 1, 1}), whole);
}

TEST(ToyModelsTest, AlignmentDoesNotMatter) {
  EXPECT_EQ(logits(toy(64), {5}), logits(toy(), {5}));
}

TEST(ToyModelsTest, CopyOfTheEmbeddingIsTheTiedOutput) {
  GgufBuilder copied = toy(), other = toy();
  copied.tensor("output.weight", {8, 16}, 0, matrix(1));
  other.tensor("output.weight", {8, 16}, 0, matrix(2));
  EXPECT_EQ(logits(copied, {5}), logits(toy(), {5}));
  EXPECT_NE(logits(other, {5}), logits(toy(), {5}));
}

} // namespace
