// SPDX-License-Identifier: Apache-2.0
//
// Once a session is warm, a token costs no allocation. A program of its own,
// since it counts every `new` of the process; what the driver does below
// Vulkan's functions is the driver's.

#include "runtime/session/LanguageModel.h"
#include "runtime/text/Sampler.h"
#include "test/e2e/runtime/CountingModel.h"
#include "test/support/AllocationCounter.h"

#include <gtest/gtest.h>

namespace llmc::test {
namespace {

/// Allocations while `body` runs, the driver's in C++ among them.
template <typename Body>
uint64_t allocationsOf(const Body &body) {
  const uint64_t before = allocationsOfProcess();
  body();
  return allocationsOfProcess() - before;
}

TEST(Allocations, theCounterCounts) {
  // Called as functions: a compiler may leave out a pair of expressions.
  EXPECT_EQ(allocationsOf([] { ::operator delete(::operator new(1)); }), 1);
}

TEST(Allocations, noneForADecodedToken) {
  LLMC_NEED_DEVICE();
  auto module = load(makeCountingModel());
  ASSERT_TRUE(module.ok()) << module.status().message();
  auto model = runtime::LanguageModel::create(*module, {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  std::vector<float> logits((*model)->vocabularySize());
  for (int32_t token : {1, 2})
    ASSERT_TRUE((*model)->decode(token, logits.data()).ok());
  bool isOk = true;
  const int count = allocationsOf([&] {
    for (int step = 0; step < 20; ++step)
      isOk &= (*model)->decode(3, logits.data()).ok();
  });
  EXPECT_TRUE(isOk);
  EXPECT_EQ(count, 0);
}

TEST(Allocations, noneForASampledToken) {
  text::SamplerOptions options;
  std::vector<float> logits(1000);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>(i % 37);
  for (float temperature : {0.0f, 0.8f})
    for (float penalty : {1.0f, 1.2f}) {
      options.temperature = temperature;
      options.repetitionPenalty = penalty;
      options.topP = 0.9f;
      auto sampler = text::Sampler::create(options, 1000);
      ASSERT_TRUE(sampler.ok());
      const int count = allocationsOf([&] {
        for (int step = 0; step < 100; ++step)
          sampler->accept(*sampler->sample(logits.data(), logits.size()));
      });
      EXPECT_EQ(count, 0) << temperature << " " << penalty;
    }
}

} // namespace
} // namespace llmc::test
