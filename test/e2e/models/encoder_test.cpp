// SPDX-License-Identifier: Apache-2.0
//
// Text encoders on a device: hidden states and embeddings against those of an
// independent implementation (test/data/golden), texts in batches and alone,
// what is refused, and the command line.

#include "test/e2e/models/GoldenTest.h"

#include <cmath>
#include <cstring>

namespace llmc::test {
namespace {

using runtime::EmbeddingModel;
using runtime::TokenList;

/// Of the largest number; the README beside the numbers says why no more.
constexpr double kTolerance = 5e-5;

using Case = ModelOnTarget;

class GoldenEncoders : public testing::TestWithParam<Case> {};

TEST_P(GoldenEncoders, HiddenStatesAndEmbeddingsAgree) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const std::string name = GetParam().model, path = findGolden(name, folder),
                    file = folder.file("model.llmc");
  if (path.empty())
    GTEST_SKIP() << "no Python with numpy to make the f16 model";
  LLMC_E2E_OK(compile(path, file, {GetParam().target}));
  auto model = loadEmbeddingModel(file);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const TokenList tokens = readGoldenTokens();
  std::vector<float> rows(tokens.size() * (*model)->size()),
      pooled((*model)->size());
  LLMC_E2E_OK((*model)->encode(tokens, rows.data()));
  LLMC_E2E_OK((*model)->embed({tokens}, pooled.data()));
  EXPECT_LE(relativeDifference(rows, readGoldenNumbers(name)), kTolerance);
  EXPECT_LE(relativeDifference(pooled, readGoldenNumbers(name + "-pooled")),
            kTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Models, GoldenEncoders,
    testing::Values(Case{"tiny-bert-f16", "lavapipe"},
                    Case{"tiny-bert-Q8_0", "lavapipe"},
                    Case{"tiny-bert-Q4_K_M", "lavapipe"},
                    Case{"tiny-bert-Q4_0", "lavapipe"},
                    Case{"tiny-bert-Q4_0", "vulkan-1.1"},
                    Case{"tiny-lfm2-embedding-f16", "lavapipe"},
                    Case{"tiny-lfm2-embedding-f16", "vulkan-1.1"}),
    nameOfModelOnTarget);

/// Ids of a text of `length` tokens.
TokenList textOf(int length) {
  TokenList tokens;
  for (int i = 0; i < length; ++i)
    tokens.push_back((length * 131 + i * 37) % 512);
  return tokens;
}

std::vector<float> embedWith(EmbeddingModel &model,
                             const std::vector<TokenList> &texts) {
  std::vector<float> all(texts.size() * model.size());
  const Status status = model.embed(texts, all.data());
  EXPECT_TRUE(status.ok()) << status.message();
  return all;
}

bool haveSameBits(const float *a, const float *b, size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

void expectBitsOfSingleTexts(EmbeddingModel &model) {
  std::vector<TokenList> texts;
  for (int length : {5, 1, 254, 48, 130, 64, 65, 7, 512, 128, 33})
    texts.push_back(textOf(length));
  const std::vector<float> batch = embedWith(model, texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE(texts[i].size());
    const std::vector<float> alone = embedWith(model, {texts[i]});
    EXPECT_TRUE(
        haveSameBits(alone.data(), &batch[i * model.size()], model.size()));
  }
}

// Convolutions end with their text, too.
TEST(Lfm2Embedding, BatchesGiveTheBitsOfSingleTexts_B19) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const std::string path = findGolden("tiny-lfm2-embedding-f16", folder),
                    file = folder.file("model.llmc");
  if (path.empty())
    GTEST_SKIP() << "no Python with numpy to make the f16 model";
  LLMC_E2E_OK(compile(path, file));
  auto model = loadEmbeddingModel(file);
  ASSERT_TRUE(model.ok()) << model.status().message();
  expectBitsOfSingleTexts(**model);
}

/// tiny-bert-Q4_0, compiled once for all tests.
class Encoder : public testing::Test {
protected:
  static void SetUpTestSuite() {
    if (!hasDevice())
      return;
    folder = new TemporaryFolder;
    LLMC_E2E_OK(compile(findGolden("tiny-bert-Q4_0", *folder), file()));
  }
  static void TearDownTestSuite() { delete folder; }
  void SetUp() override {
    LLMC_E2E_NEED_DEVICE();
    auto loaded = loadEmbeddingModel(file());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model = std::move(*loaded);
  }

  static std::string file() { return folder->file("model.llmc"); }
  static TokenList text(int length) { return textOf(length); }
  std::vector<float> embed(const std::vector<TokenList> &texts) {
    return embedWith(*model, texts);
  }

  static TemporaryFolder *folder;
  std::unique_ptr<EmbeddingModel> model;
};

TemporaryFolder *Encoder::folder = nullptr;

TEST_F(Encoder, BatchesGiveTheBitsOfSingleTexts_B19) {
  expectBitsOfSingleTexts(*model);
}

// BUGS: extents of an earlier step must not be seen by a later one.
TEST_F(Encoder, LengthsInAnyOrderGiveTheSame) {
  const std::vector<float> first = embed({text(7)});
  embed({text(254)});
  embed({text(1)});
  const std::vector<float> again = embed({text(7)});
  EXPECT_TRUE(haveSameBits(first.data(), again.data(), first.size()));
}

TEST_F(Encoder, MeansOfRowsAreTheEmbedding) {
  const TokenList tokens = text(100);
  std::vector<float> rows(tokens.size() * model->size()), mean(model->size());
  LLMC_E2E_OK(model->encode(tokens, rows.data()));
  for (size_t i = 0; i < model->size(); ++i) {
    double sum = 0;
    for (size_t row = 0; row < tokens.size(); ++row)
      sum += rows[row * model->size() + i];
    mean[i] = static_cast<float>(sum / static_cast<double>(tokens.size()));
  }
  EXPECT_LE(relativeDifference(embed({tokens}), mean), 1e-6);
}

TEST_F(Encoder, RefusesTextsThatDoNotFit_B41) {
  std::vector<float> out(2 * model->size());
  EXPECT_EQ(model->maxTokens(), 512u);
  Status status = model->embed({text(3), {}}, out.data());
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(), "text 1 has no token");
  status = model->embed({text(513)}, out.data());
  EXPECT_EQ(status.code(), StatusCode::ContextFull);
  EXPECT_EQ(status.message(), "text 0 has 513 tokens, the model takes 512");
  status = model->embed({text(2), {3, 512}}, out.data());
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(), "text 1 has token 512, allowed is 0 to 511");
  EXPECT_EQ(loadLanguageModel(file()).status().code(), StatusCode::Unsupported);
}

TEST_F(Encoder, NormalizedAndUnpooledFilesByOption) {
  const std::string path = findGolden("tiny-bert-Q4_0", *folder);
  const std::string normalized = folder->file("normalized.llmc"),
                    plain = folder->file("plain.llmc");
  ASSERT_EQ(runTool({"compile", path, "--target=lavapipe", "--pooling=first",
                     "--normalize", "-o", normalized})
                .exitCode,
            0);
  ASSERT_EQ(runTool({"compile", path, "--target=lavapipe", "--pooling=none",
                     "-o", plain})
                .exitCode,
            0);
  const TokenList tokens = text(20);
  std::vector<float> rows(tokens.size() * model->size());
  LLMC_E2E_OK(model->encode(tokens, rows.data()));
  double squares = 0;
  for (size_t i = 0; i < model->size(); ++i)
    squares += double(rows[i]) * rows[i];
  std::vector<float> first(rows.begin(),
                           rows.begin() + ptrdiff_t(model->size()));
  for (float &number : first)
    number = static_cast<float>(number / std::sqrt(squares));
  auto other = loadEmbeddingModel(normalized);
  ASSERT_TRUE(other.ok()) << other.status().message();
  std::vector<float> found(first.size());
  LLMC_E2E_OK((*other)->embed({tokens}, found.data()));
  EXPECT_LE(relativeDifference(found, first), 1e-5);
  auto unpooled = loadEmbeddingModel(plain);
  ASSERT_TRUE(unpooled.ok()) << unpooled.status().message();
  EXPECT_EQ((*unpooled)->embed({tokens}, found.data()).code(),
            StatusCode::Unsupported);
}

TEST_F(Encoder, CommandLineGivesTheSameNumbers) {
  const std::string rows = folder->file("rows.f32"),
                    pooled = folder->file("pooled.f32"),
                    cache = folder->file("cache");
  const ToolResult printed =
      runTool({"embed", file(), "--tokens=1,2,3", "--tokens=4", "--json",
               "--cache-dir", cache});
  ASSERT_EQ(printed.exitCode, 0) << printed.errors;
  ASSERT_EQ(runTool({"embed", file(), "--tokens=1,2,3", "--tokens=4", "-o",
                     pooled, "--cache-dir", cache})
                .exitCode,
            0);
  const std::vector<float> wanted = embed({{1, 2, 3}, {4}});
  const std::string bytes = readFile(pooled);
  ASSERT_EQ(bytes.size(), wanted.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data(), wanted.data(), bytes.size()), 0);
  EXPECT_EQ(std::count(printed.output.begin(), printed.output.end(), '['), 3);
  EXPECT_EQ(std::count(printed.output.begin(), printed.output.end(), ','),
            ptrdiff_t(wanted.size()) - 1);
  ASSERT_EQ(runTool({"logits", file(), "--tokens=1,2,3", "-o", rows,
                     "--cache-dir", cache})
                .exitCode,
            0);
  EXPECT_EQ(readFile(rows).size(), 3 * model->size() * sizeof(float));
  ASSERT_EQ(runTool({"logits", file(), "--tokens=1,2,3", "--pooled", "-o", rows,
                     "--cache-dir", cache})
                .exitCode,
            0);
  EXPECT_EQ(readFile(rows), bytes.substr(0, bytes.size() / 2));
}

} // namespace
} // namespace llmc::test
