// SPDX-License-Identifier: Apache-2.0
//
// KV caches of int8 and activations of f16: how far logits move, in prompts and
// token by token, and what sessions do with such caches.

#include "test/e2e/models/GoldenTest.h"

namespace llmc::test {
namespace {

struct Case {
  const char *model;
  const char *activations;
  const char *kv;
  /// Of the largest logit; docs/decisions/0009-int8-kv-cache.md and
  /// 0013-f16-activations.md have the measured differences.
  double tolerance;
};

std::string nameOf(const Case &one) {
  return asTestName(std::string(one.model) + "_" + one.activations + one.kv);
}

class StorageTypes : public GoldenTest,
                     public testing::WithParamInterface<Case> {};

TEST_P(StorageTypes, MoveLogitsALittle) {
  loadGolden(GetParam().model, {"lavapipe"}, 0, GetParam().activations,
             GetParam().kv);
  if (!model)
    return;
  auto all = prefillAll(*model, golden.allTokens());
  ASSERT_TRUE(all.ok()) << all.status().message();
  LLMC_E2E_OK(model->reset());
  auto single = decodeAll(*model, golden.allTokens());
  ASSERT_TRUE(single.ok()) << single.status().message();
  for (const std::vector<float> *logits : {&*all, &*single}) {
    const double difference = relativeDifference(*logits, golden.logits);
    RecordProperty(logits == &*all ? "prompt" : "token_by_token",
                   std::to_string(difference));
    EXPECT_LE(difference, GetParam().tolerance);
    EXPECT_GT(difference, 5e-5) << "as exact as f32";
  }
}

constexpr double kKv = 0.02, kStressKv = 0.05;
constexpr double kHalf = 0.004, kStressHalf = 0.01;

INSTANTIATE_TEST_SUITE_P(
    Int8Cache, StorageTypes,
    testing::Values(Case{"tiny-llama-f16", "", "int8", kKv},
                    Case{"tiny-llama-Q4_K_M", "", "int8", kKv},
                    Case{"tiny-qwen2-f16", "", "int8", kKv},
                    Case{"tiny-qwen2-Q8_0", "", "int8", kKv},
                    Case{"tiny-qwen3-f16", "", "int8", kKv},
                    Case{"tiny-qwen3-Q4_0", "", "int8", kKv},
                    Case{"stress-qwen3-f16", "", "int8", kStressKv},
                    Case{"tiny-gemma2-f16", "", "int8", kKv},
                    Case{"tiny-gemma2-Q4_K_M", "", "int8", kKv},
                    Case{"tiny-gemma3-f16", "", "int8", kKv},
                    Case{"stress-gemma3-f16", "", "int8", kStressKv},
                    Case{"tiny-lfm2-f16", "", "int8", kKv},
                    Case{"tiny-lfm2-Q8_0", "", "int8", kKv}),
    [](const auto &info) { return nameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(
    HalfActivations, StorageTypes,
    testing::Values(Case{"tiny-llama-f16", "f16", "", kHalf},
                    Case{"tiny-llama-Q4_K_M", "f16", "", kHalf},
                    Case{"tiny-qwen2-f16", "f16", "", kHalf},
                    Case{"tiny-qwen2-Q8_0", "f16", "", kHalf},
                    Case{"tiny-qwen3-f16", "f16", "", kHalf},
                    Case{"stress-qwen3-f16", "f16", "", kStressHalf},
                    Case{"stress-qwen3-Q8_0", "f16", "", kStressHalf},
                    Case{"tiny-gemma2-f16", "f16", "", kHalf},
                    Case{"tiny-gemma3-f16", "f16", "", kHalf},
                    Case{"tiny-gemma3-Q4_0", "f16", "", kHalf},
                    Case{"stress-gemma3-f16", "f16", "", kStressHalf},
                    Case{"tiny-lfm2-f16", "f16", "", kHalf},
                    Case{"tiny-lfm2-Q4_K_M", "f16", "", kHalf},
                    Case{"tiny-llama-Q8_0", "f16", "int8", kKv}),
    [](const auto &info) { return nameOf(info.param); });

using Int8CacheSessions = GoldenTest;

// Going back, a fork and a saved session see the same codes and scales.
TEST_F(Int8CacheSessions, GoBackForkAndRestore) {
  loadGolden("tiny-gemma3-Q4_0", {"lavapipe"}, 0, "", "int8");
  if (!model)
    return;
  const std::vector<int32_t> begin(golden.prompt.begin(),
                                   golden.prompt.begin() + 20),
      rest(golden.prompt.begin() + 20, golden.prompt.begin() + 25);
  LLMC_E2E_OK(model->prefill(begin, nullptr));
  LLMC_E2E_OK(model->save(folder.file("session")));
  auto fork = model->fork();
  ASSERT_TRUE(fork.ok()) << fork.status().message();
  auto wanted = decodeAll(*model, rest);
  ASSERT_TRUE(wanted.ok()) << wanted.status().message();

  LLMC_E2E_OK(model->truncate(20));
  auto again = decodeAll(*model, rest);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *wanted);
  auto forked = decodeAll(**fork, rest);
  ASSERT_TRUE(forked.ok());
  EXPECT_EQ(*forked, *wanted);
  auto other = loadLanguageModel(file);
  ASSERT_TRUE(other.ok());
  LLMC_E2E_OK((*other)->restore(folder.file("session")));
  auto restored = decodeAll(**other, rest);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(*restored, *wanted);
}

} // namespace
} // namespace llmc::test
