// SPDX-License-Identifier: Apache-2.0
//
// Vocabularies of sizes that are a multiple of nothing: no padding row may win,
// not even when every logit is negative.

#include "test/e2e/compiled/GraphFile.h"

#include "runtime/text/Sampler.h"

#include <algorithm>
#include <numeric>

namespace llmc::test {
namespace {

/// fp16 bits of an integer up to 2048.
uint16_t halfBits(uint32_t number) {
  if (number == 0)
    return 0;
  uint16_t exponent = 0;
  while (number >> (exponent + 1))
    ++exponent;
  const uint32_t fraction = (number << (10 - exponent)) & 0x3ff;
  return static_cast<uint16_t>((exponent + 15) << 10 | fraction);
}

class Vocabularies : public testing::TestWithParam<int32_t> {};

/// Row i of the output matrix is 1 + min(|i - 777|, 1000) and zeros; the hidden
/// state is -1 and zeros, so logit 777 is -1 and the largest.
TEST_P(Vocabularies, EveryIdIsOfTheVocabulary) {
  LLMC_E2E_NEED_DEVICE();
  const int32_t size = GetParam();
  std::string bytes;
  for (int32_t i = 0; i < size; ++i) {
    bytes += bytesOf(
        halfBits(static_cast<uint32_t>(1 + std::min(std::abs(i - 777), 1000))));
    bytes += std::string(14, '\0');
  }
  TemporaryFolder folder;
  GraphFile graph;
  const uint64_t rows = static_cast<uint64_t>(size);
  graph.addWeight("w", rows, 8, "f16", bytes);
  graph.addLinear("logits", "1", 8, rows, "w", "f16");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  auto logits = runner->run("logits", 1, {{"x", {-1, 0, 0, 0, 0, 0, 0, 0}}},
                            static_cast<size_t>(size));
  ASSERT_TRUE(logits.ok()) << logits.status().message();
  for (int32_t i = 0; i < size; ++i)
    ASSERT_EQ((*logits)[static_cast<size_t>(i)],
              -static_cast<float>(1 + std::min(std::abs(i - 777), 1000)));

  std::vector<int32_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + 5, order.end(),
                    [&](int32_t a, int32_t b) {
                      const float first = (*logits)[static_cast<size_t>(a)];
                      const float second = (*logits)[static_cast<size_t>(b)];
                      return first > second || (first == second && a < b);
                    });
  order.resize(5);
  EXPECT_EQ(order, (std::vector<int32_t>{777, 776, 778, 775, 779}));

  auto greedy = text::Sampler::create({}, size);
  ASSERT_TRUE(greedy.ok());
  EXPECT_EQ(*greedy->sample(logits->data(), logits->size()), 777);
  text::SamplerOptions warm;
  warm.temperature = 2.0f;
  auto sampler = text::Sampler::create(warm, size);
  ASSERT_TRUE(sampler.ok());
  for (int i = 0; i < 1000; ++i) {
    auto id = sampler->sample(logits->data(), logits->size());
    ASSERT_TRUE(id.ok());
    ASSERT_LT(*id, size);
    ASSERT_GE(*id, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Vocabularies,
                         testing::Values(1003, 32001, 50257, 151669));

} // namespace
} // namespace llmc::test
