// SPDX-License-Identifier: Apache-2.0
//
// Prompt lookup on a real decoder: the tokens of plain greedy decoding, and
// logits of the same bits however tokens are dealt to steps.

#include "runtime/session/Generator.h"
#include "test/e2e/models/GoldenTest.h"

#include <numeric>

namespace llmc::test {
namespace {

using PromptLookup = GoldenTest;
using Tokens = std::vector<int32_t>;

/// The first prompts repeat themselves, the others do not.
Tokens makePrompt(int32_t number) {
  Tokens prompt;
  const int32_t period = number < 25 ? 3 + number % 6 : 1000;
  for (int32_t i = 0; i < 8 + number % 23; ++i)
    prompt.push_back((number * 131 + (i % period) * 37 + 5) % 512);
  return prompt;
}

runtime::GenerateResult run(runtime::LanguageModel &model, const Tokens &prompt,
                            std::optional<uint32_t> draftLength) {
  runtime::GenerateOptions options;
  options.maxTokens = 24;
  options.draftLength = draftLength;
  EXPECT_TRUE(model.reset().ok());
  auto result = runtime::generate(model, nullptr, prompt, options, {});
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : runtime::GenerateResult();
}

TEST_F(PromptLookup, GivesTheTokensOfPlainGreedyDecoding) {
  loadGolden("tiny-qwen3-Q4_K_M");
  if (!model)
    return;
  ASSERT_GT(model->draftRows(), 1u);
  uint32_t numPlain = 0, numGuessed = 0;
  for (int32_t number = 0; number < 50; ++number) {
    const Tokens prompt = makePrompt(number);
    const auto plain = run(*model, prompt, std::nullopt);
    const auto guessed = run(*model, prompt, 7);
    EXPECT_EQ(run(*model, prompt, 0).ids, guessed.ids) << "prompt " << number;
    EXPECT_EQ(guessed.ids, plain.ids) << "prompt " << number;
    EXPECT_LE(guessed.numSteps, plain.numSteps);
    numPlain += plain.numSteps;
    numGuessed += guessed.numSteps;
  }
  EXPECT_LT(numGuessed, numPlain);
}

// Why guessing changes nothing: a row has the same bits in every step.
TEST_F(PromptLookup, RowsHaveTheBitsOfSingleRows) {
  loadGolden("tiny-llama-Q4_0");
  if (!model)
    return;
  const auto rowsOf = [&](const std::vector<size_t> &steps) {
    EXPECT_TRUE(model->reset().ok());
    std::vector<float> rows;
    const int32_t *next = golden.prompt.data();
    for (const size_t count : steps) {
      const Status status =
          model->decodeDraft(next, count, [&](const float *row) {
            rows.insert(rows.end(), row, row + model->vocabularySize());
            return okStatus();
          });
      EXPECT_TRUE(status.ok()) << status.message();
      next += count;
    }
    return rows;
  };
  const std::vector<float> alone = rowsOf(std::vector<size_t>(40, 1));
  EXPECT_TRUE(rowsOf({8, 8, 8, 8, 8}) == alone);
  EXPECT_TRUE(rowsOf({3, 7, 1, 5, 8, 2, 6, 8}) == alone);
}

} // namespace
} // namespace llmc::test
