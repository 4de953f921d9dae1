// SPDX-License-Identifier: Apache-2.0
//
// Prefill with int8 activations: how far logits move, and from what.

#include "test/e2e/models/GoldenTest.h"

namespace llmc::test {
namespace {

/// Of the largest logit: docs/decisions/0006-int8-activations.md.
constexpr double kTolerance = 0.03, kStressTolerance = 0.05;

class Int8Activations : public GoldenTest,
                        public testing::WithParamInterface<const char *> {};

TEST_P(Int8Activations, MoveLogitsALittle) {
  loadGolden(GetParam(), {"lavapipe"}, 0, "i8");
  if (!model)
    return;
  auto logits = prefillAll(*model, golden.allTokens());
  ASSERT_TRUE(logits.ok()) << logits.status().message();
  const double difference = relativeDifference(*logits, golden.logits);
  RecordProperty("relative_difference", std::to_string(difference));
  const bool isStress = std::string(GetParam()).rfind("stress", 0) == 0;
  EXPECT_LE(difference, isStress ? kStressTolerance : kTolerance);
  EXPECT_GT(difference, 5e-5) << "as exact as floats";

  // Token by token, everything is read as floats.
  LLMC_E2E_OK(model->reset());
  auto single = decodeAll(*model, golden.prompt);
  ASSERT_TRUE(single.ok()) << single.status().message();
  EXPECT_LE(
      relativeDifference(*single, {golden.logits.begin(),
                                   golden.logits.begin() +
                                       static_cast<ptrdiff_t>(single->size())}),
      5e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Int8Activations,
    testing::Values("tiny-llama-Q8_0", "tiny-llama-Q6_K", "tiny-llama-Q5_K_M",
                    "tiny-llama-Q4_K_M", "tiny-llama-Q4_0", "tiny-llama-Q2_K",
                    "tiny-qwen2-Q8_0", "tiny-qwen2-Q4_K_M", "tiny-qwen2-Q4_0",
                    "tiny-qwen3-Q8_0", "tiny-qwen3-Q4_K_M", "tiny-qwen3-Q4_0",
                    "stress-qwen3-Q8_0"),
    [](const auto &info) { return asTestName(info.param); });

} // namespace
} // namespace llmc::test
