// SPDX-License-Identifier: Apache-2.0
//
// Prompts of no token, of all the tokens that fit, and of one more.

#include "test/e2e/compiled/EndToEnd.h"

namespace llmc::test {
namespace {

constexpr uint32_t kContext = 32;

std::vector<int32_t> makeTokens(size_t count) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i)
    tokens[i] = static_cast<int32_t>((91 * i + 5) % 512);
  return tokens;
}

class ContextLimit : public testing::Test {
protected:
  void SetUp() override {
    LLMC_E2E_NEED_DEVICE();
    const Golden golden = readGolden("tiny-llama-Q8_0", folder);
    file = folder.file("model.llmc");
    LLMC_E2E_OK(compile(golden.modelPath, file, {"lavapipe"}, kContext));
    auto loaded = loadLanguageModel(file);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model = std::move(*loaded);
    ASSERT_EQ(model->contextLength(), kContext);
    auto rows = prefillAll(*model, makeTokens(5));
    ASSERT_TRUE(rows.ok());
    healthy = *rows;
  }

  /// The session gives what it gave at first.
  void expectHealthy() {
    ASSERT_TRUE(model->reset().ok());
    auto rows = prefillAll(*model, makeTokens(5));
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    EXPECT_EQ(*rows, healthy);
    ASSERT_TRUE(model->reset().ok());
  }

  TemporaryFolder folder;
  std::string file;
  std::unique_ptr<runtime::LanguageModel> model;
  std::vector<float> healthy;
};

TEST_F(ContextLimit, IsExactForEveryLength_B41) {
  std::vector<float> row(model->vocabularySize());
  LLMC_E2E_OK(model->reset());
  EXPECT_EQ(model->prefill({}, row.data()).code(), StatusCode::InvalidArgument);
  expectHealthy();
  for (uint32_t length : {1u, kContext - 1, kContext}) {
    LLMC_E2E_OK(model->prefill(makeTokens(length), row.data()));
    EXPECT_EQ(model->position(), length);
    const Status status = model->decode(1, row.data());
    if (length < kContext) {
      EXPECT_TRUE(status.ok()) << status.message();
    } else {
      EXPECT_EQ(status.code(), StatusCode::ContextFull);
    }
    expectHealthy();
  }
}

TEST_F(ContextLimit, IsToldWithBothNumbers_B41) {
  std::vector<float> row(model->vocabularySize());
  LLMC_E2E_OK(model->reset());
  const Status status = model->prefill(makeTokens(kContext + 1), row.data());
  EXPECT_EQ(status.code(), StatusCode::ContextFull);
  EXPECT_NE(status.message().find("33"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("32"), std::string::npos) << status.message();
  EXPECT_EQ(model->position(), 0u);
  expectHealthy();
}

TEST_F(ContextLimit, HoldsOnTheCommandLine_B41) {
  const std::string output = folder.file("logits.f32");
  const auto logits = [&](size_t count) {
    std::string list;
    for (int32_t token : makeTokens(count))
      list += std::to_string(token) + " ";
    writeFile(folder.file("tokens.txt"), list);
    return runTool({"logits", file, "--tokens-file", folder.file("tokens.txt"),
                    "--cache-dir", folder.file("cache"), "-o", output});
  };
  EXPECT_EQ(logits(0).exitCode, 2);
  const ToolResult tooMany = logits(kContext + 1);
  EXPECT_EQ(tooMany.exitCode, 3);
  EXPECT_NE(tooMany.errors.find("33"), std::string::npos) << tooMany.errors;
  EXPECT_NE(tooMany.errors.find("32"), std::string::npos) << tooMany.errors;
  EXPECT_FALSE(exists(output));
  EXPECT_EQ(logits(kContext).exitCode, 0);
  EXPECT_EQ(readFile(output).size(), kContext * 512 * sizeof(float));
}

} // namespace
} // namespace llmc::test
