// SPDX-License-Identifier: Apache-2.0
//
// Text encoders in Hugging Face directories on a device: BERT and MPNet against
// other implementations' numbers, and a trained model.

#include "test/e2e/compiled/HuggingFaceFolder.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>

namespace llmc::test {
namespace {

using runtime::EmbeddingModel;

/// Of the largest number; the README beside the golden numbers says why no
/// more.
constexpr double kTolerance = 5e-5;

std::vector<float> readFloats(const std::string &path) {
  const std::string bytes = readFile(path);
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

/// Hidden states of the golden tokens, and the embedding of their text.
struct Encoded {
  std::vector<float> rows, pooled;
};

StatusOr<Encoded> encodeGoldenTokens(const std::string &model,
                                     const TemporaryFolder &folder) {
  const std::string file = folder.file("model.llmc");
  LLMC_RETURN_IF_ERROR(compile(model, file));
  LLMC_ASSIGN_OR_RETURN(auto loaded, loadEmbeddingModel(file));
  const std::vector<int32_t> tokens = readGoldenTokens();
  Encoded result;
  result.rows.resize(tokens.size() * loaded->size());
  result.pooled.resize(loaded->size());
  LLMC_RETURN_IF_ERROR(loaded->encode(tokens, result.rows.data()));
  LLMC_RETURN_IF_ERROR(loaded->embed({tokens}, result.pooled.data()));
  return result;
}

TEST(EncoderDirectories, BertGivesTheGoldenNumbers) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const std::string path = writeHuggingFaceFolder(
      findGolden("tiny-bert-f16", folder), folder, "hf", {});
  if (path.empty())
    GTEST_SKIP() << "no Python with numpy to make the model";
  auto found = encodeGoldenTokens(path, folder);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_LE(relativeDifference(found->rows, readGoldenNumbers("tiny-bert-f16")),
            kTolerance);
  EXPECT_LE(relativeDifference(found->pooled,
                               readGoldenNumbers("tiny-bert-f16-pooled")),
            kTolerance);
}

TEST(EncoderDirectories, Lfm2EmbeddingGivesTheNumbersOfItsDefinition) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const std::string path =
      writeHuggingFaceFolder(findGolden("tiny-lfm2-embedding-f16", folder),
                             folder, "hf", {"--shards", "2"});
  if (path.empty())
    GTEST_SKIP() << "no Python with numpy to make the model";
  auto found = encodeGoldenTokens(path, folder);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_LE(relativeDifference(found->rows,
                               readGoldenNumbers("tiny-lfm2-embedding-f16")),
            kTolerance);
  EXPECT_LE(
      relativeDifference(found->pooled,
                         readGoldenNumbers("tiny-lfm2-embedding-f16-pooled")),
      kTolerance);
}

TEST(EncoderDirectories, MpnetGivesTheNumbersOfItsDefinition) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const std::string path = writeMpnetFolder(folder, "mpnet");
  if (path.empty())
    GTEST_SKIP() << "no Python with numpy to make the model";
  auto found = encodeGoldenTokens(path, folder);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_LE(relativeDifference(found->rows, readFloats(path + "/hidden.f32")),
            kTolerance);
}

double cosine(const std::vector<float> &a, const std::vector<float> &b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double(a[i]) * b[i];
    aa += double(a[i]) * a[i];
    bb += double(b[i]) * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

TEST(EncoderDirectories, MiniLmEmbedsAsOnnxRuntime) {
  LLMC_E2E_NEED_DEVICE();
  const std::string source =
      std::string(LLMC_SHARED_DIR) + "/models/all-MiniLM-L6-v2/";
  if (!exists(source + "model.safetensors.gz"))
    GTEST_SKIP() << "no " << source << "; set LLMC_SHARED_DIR";
  TemporaryFolder folder;
  const std::string path = folder.file("minilm");
  std::filesystem::create_directory(path);
  const ToolResult unpacked =
      runProgram({"gzip", "-dc", source + "model.safetensors.gz"});
  ASSERT_EQ(unpacked.exitCode, 0) << unpacked.errors;
  writeFile(path + "/model.safetensors", unpacked.output);
  writeFile(path + "/config.json", readFile(source + "config.json"));
  const std::string file = folder.file("model.llmc");
  LLMC_E2E_OK(compile(path, file));
  auto model = loadEmbeddingModel(file);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto golden = nlohmann::json::parse(readFile(source + "golden.json"));
  ASSERT_EQ(golden.size(), 8u);
  for (const auto &text : golden) {
    SCOPED_TRACE(text["text"].get<std::string>());
    std::vector<float> found((*model)->size());
    LLMC_E2E_OK((*model)->embed({text["ids"].get<std::vector<int32_t>>()},
                                found.data()));
    EXPECT_GE(cosine(found, text["embedding"].get<std::vector<float>>()),
              0.9999);
  }
}

} // namespace
} // namespace llmc::test
