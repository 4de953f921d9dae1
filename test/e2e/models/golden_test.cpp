// SPDX-License-Identifier: Apache-2.0
//
// Logits of the golden models on a device, against those of an independent
// implementation (test/data/golden), for whole prompts and token by token.

#include "test/e2e/models/GoldenTest.h"

namespace llmc::test {
namespace {

/// Of the largest logit; the README beside the numbers says why no more.
constexpr double kTolerance = 5e-5;

using Case = ModelOnTarget;

class GoldenLogits : public GoldenTest,
                     public testing::WithParamInterface<Case> {};

/// The ids that greedy decoding gives, from the row of the last prompt token
/// on.
std::vector<int32_t> greedyIds(runtime::LanguageModel &model,
                               std::vector<float> row, size_t count) {
  std::vector<int32_t> ids;
  while (ids.size() < count) {
    ids.push_back(argmax(row.data(), row.size()));
    if (!model.decode(ids.back(), row.data()).ok())
      break;
  }
  return ids;
}

TEST_P(GoldenLogits, AgreeForPromptsAndTokenByToken) {
  loadGolden(GetParam().model, {GetParam().target});
  if (!model)
    return;
  ASSERT_EQ(golden.prompt.size(), 48u);
  ASSERT_EQ(golden.greedy.size(), 16u);
  const size_t vocabulary = model->vocabularySize();
  ASSERT_EQ(golden.logits.size(), 64 * vocabulary);

  auto prefilled = prefillAll(*model, golden.prompt);
  ASSERT_TRUE(prefilled.ok()) << prefilled.status().message();
  EXPECT_EQ(greedyIds(*model,
                      {prefilled->end() - static_cast<ptrdiff_t>(vocabulary),
                       prefilled->end()},
                      golden.greedy.size()),
            golden.greedy);

  LLMC_E2E_OK(model->reset());
  auto all = prefillAll(*model, golden.allTokens());
  ASSERT_TRUE(all.ok()) << all.status().message();
  LLMC_E2E_OK(model->reset());
  auto single = decodeAll(*model, golden.allTokens());
  ASSERT_TRUE(single.ok()) << single.status().message();

  EXPECT_LE(relativeDifference(*all, golden.logits), kTolerance);
  EXPECT_LE(relativeDifference(*single, golden.logits), kTolerance);
  EXPECT_LE(relativeDifference(*single, *all), kTolerance);
  prefilled->insert(prefilled->end(), single->begin() + 48 * vocabulary,
                    single->end());
  EXPECT_LE(relativeDifference(*prefilled, golden.logits), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Models, GoldenLogits,
    testing::Values(
        Case{"tiny-llama-f16", "lavapipe"}, Case{"tiny-llama-Q8_0", "lavapipe"},
        Case{"tiny-llama-Q6_K", "lavapipe"},
        Case{"tiny-llama-Q3_K_M", "lavapipe"},
        Case{"tiny-llama-Q4_1", "lavapipe"},
        Case{"tiny-llama-Q5_0", "lavapipe"},
        Case{"tiny-llama-Q5_1", "lavapipe"},
        Case{"tiny-llama-IQ4_NL", "lavapipe"},
        Case{"tiny-llama-IQ4_XS", "lavapipe"},
        Case{"tiny-llama-Q5_K_M", "lavapipe"},
        Case{"tiny-llama-Q4_K_M", "lavapipe"},
        Case{"tiny-llama-Q4_0", "lavapipe"},
        Case{"tiny-llama-Q2_K", "lavapipe"}, Case{"tiny-qwen2-f16", "lavapipe"},
        Case{"tiny-qwen2-Q8_0", "lavapipe"},
        Case{"tiny-qwen2-Q4_K_M", "lavapipe"},
        Case{"tiny-qwen2-Q4_0", "lavapipe"}, Case{"tiny-qwen3-f16", "lavapipe"},
        Case{"tiny-qwen3-Q8_0", "lavapipe"},
        Case{"tiny-qwen3-Q4_K_M", "lavapipe"},
        Case{"tiny-qwen3-Q4_0", "lavapipe"},
        Case{"tiny-qwen3moe-f16", "lavapipe"},
        Case{"tiny-qwen3moe-Q4_0", "lavapipe"},
        Case{"tiny-qwen3moe-Q4_K_M", "lavapipe"},
        Case{"tiny-qwen3moe-Q4_K_M", "vulkan-1.1"},
        Case{"stress-qwen3-f16", "lavapipe"},
        Case{"stress-qwen3-Q8_0", "lavapipe"},
        Case{"tiny-gemma2-f16", "lavapipe"},
        Case{"tiny-gemma2-Q4_K_M", "lavapipe"},
        Case{"tiny-gemma3-f16", "lavapipe"},
        Case{"tiny-gemma3-Q4_0", "lavapipe"},
        Case{"stress-gemma3-f16", "lavapipe"},
        Case{"tiny-lfm2-f16", "lavapipe"}, Case{"tiny-lfm2-Q8_0", "lavapipe"},
        Case{"tiny-lfm2-Q4_K_M", "lavapipe"},
        Case{"tiny-lfm2-Q4_0", "lavapipe"},
        Case{"tiny-lfm2-Q4_0", "vulkan-1.1"},
        Case{"tiny-gemma3-Q4_0", "vulkan-1.1"},
        Case{"tiny-llama-Q2_K", "vulkan-1.1"},
        Case{"tiny-llama-Q5_K_M", "vulkan-1.1"},
        Case{"tiny-qwen2-f16", "vulkan-1.1"},
        Case{"tiny-qwen3-Q4_K_M", "vulkan-1.1"},
        Case{"tiny-qwen3-Q4_0", "vulkan-1.1"},
        Case{"stress-qwen3-Q8_0", "vulkan-1.1"}),
    nameOfModelOnTarget);

} // namespace
} // namespace llmc::test
