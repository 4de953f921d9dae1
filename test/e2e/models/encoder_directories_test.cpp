// SPDX-License-Identifier: Apache-2.0
//
// Text encoders in Hugging Face directories on a device: BERT, MPNet and
// LFM2.5-Embedding against other implementations' numbers.

#include "test/e2e/compiled/HuggingFaceFolder.h"

#include <cstring>

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

} // namespace
} // namespace llmc::test
