// SPDX-License-Identifier: Apache-2.0
//
// The counting model run through prefill and decode.

#include "runtime/session/LanguageModel.h"

#include "test/e2e/runtime/CountingModel.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <numeric>
#include <thread>

namespace llmc::test {
namespace {

using runtime::LanguageModel;
using Logits = std::vector<float>;
using Tokens = std::vector<int32_t>;

/// `count` tokens 0, 1, … 4, 0, 1, …
Tokens someTokens(uint32_t count) {
  Tokens tokens(count);
  for (uint32_t i = 0; i < count; ++i)
    tokens[i] = static_cast<int32_t>(i % 5);
  return tokens;
}

int32_t sumOf(const Tokens &tokens) {
  return std::accumulate(tokens.begin(), tokens.end(), 0);
}

std::unique_ptr<LanguageModel>
createModel(const CountingModelOptions &options = {}) {
  auto module = load(makeCountingModel(options));
  EXPECT_TRUE(module.ok()) << module.status().message();
  auto model = LanguageModel::create(*module, {});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return std::move(*model);
}

void expectPrefill(LanguageModel &model, const Tokens &tokens, int32_t sum,
                   const CountingModelOptions &options = {}) {
  Logits logits(model.vocabularySize());
  const Status status = model.prefill(tokens, logits.data());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(logits, expectedLogits(options, sum)) << tokens.size();
}

TEST(LanguageModel, prefillsAnyNumberOfTokens) {
  LLMC_NEED_DEVICE();
  auto model = createModel();
  for (uint32_t count = 1; count <= 64; ++count) {
    ASSERT_TRUE(model->reset().ok());
    expectPrefill(*model, someTokens(count), sumOf(someTokens(count)));
    EXPECT_EQ(model->position(), count);
  }
}

TEST(LanguageModel, decodesAfterAPrefill) {
  LLMC_NEED_DEVICE();
  auto model = createModel();
  int32_t sum = sumOf(someTokens(23));
  ASSERT_TRUE(model->prefill(someTokens(23), nullptr).ok());
  Logits logits(5);
  for (const int32_t token : {4, 0, 3, 2}) {
    sum += token;
    ASSERT_TRUE(model->decode(token, logits.data()).ok());
    EXPECT_EQ(logits, expectedLogits({}, sum));
  }
  EXPECT_EQ(model->position(), 27u);
}

TEST(LanguageModel, givesTheLogitsOfEveryToken) {
  LLMC_NEED_DEVICE();
  auto model = createModel();
  const Tokens tokens = someTokens(30);
  size_t row = 0;
  int32_t sum = 0;
  const Status status =
      model->prefillWithAllLogits(tokens, [&](const float *logits) {
        sum += tokens[row++];
        EXPECT_EQ(Logits(logits, logits + 5), expectedLogits({}, sum));
        return okStatus();
      });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(row, tokens.size());
}

TEST(LanguageModel, worksWhenStepWordsAreShared) {
  LLMC_NEED_DEVICE();
  CountingModelOptions options;
  options.sharesStepWords = true;
  auto model = createModel(options);
  expectPrefill(*model, someTokens(21), sumOf(someTokens(21)), options);
}

TEST(LanguageModel, continuesTruncatesAndForgets) {
  LLMC_NEED_DEVICE();
  auto model = createModel();
  expectPrefill(*model, {1, 2, 3}, 6);
  expectPrefill(*model, {4, 4}, 14);
  ASSERT_TRUE(model->truncate(2).ok());
  expectPrefill(*model, {4}, 7);
  EXPECT_EQ(model->truncate(4).code(), StatusCode::InvalidArgument);
  ASSERT_TRUE(model->reset().ok());
  expectPrefill(*model, {2}, 2);
}

TEST(LanguageModel, refusesNoTokensAndTooManyWithBothNumbers_B41) {
  LLMC_NEED_DEVICE();
  CountingModelOptions options;
  options.context = 32;
  auto model = createModel(options);
  Logits logits(5);
  EXPECT_EQ(model->prefill({}, logits.data()).code(),
            StatusCode::InvalidArgument);
  const Status tooMany = model->prefill(someTokens(33), logits.data());
  EXPECT_EQ(tooMany.code(), StatusCode::ContextFull);
  EXPECT_EQ(tooMany.message(), "33 tokens after 0 make 33, the context has "
                               "room for 32");
  // The session goes on as if nothing had been.
  expectPrefill(*model, someTokens(31), sumOf(someTokens(31)));
  ASSERT_TRUE(model->decode(1, logits.data()).ok());
  EXPECT_EQ(logits, expectedLogits(options, sumOf(someTokens(31)) + 1));
  EXPECT_EQ(model->decode(1, logits.data()).message(),
            "1 tokens after 32 make 33, the context has room for 32");
  ASSERT_TRUE(model->reset().ok());
  expectPrefill(*model, someTokens(32), sumOf(someTokens(32)));
}

TEST(LanguageModel, refusesTokensOutsideOfTheVocabulary) {
  LLMC_NEED_DEVICE();
  auto model = createModel();
  for (const int32_t token : {5, -1, INT32_MAX, INT32_MIN})
    EXPECT_EQ(model->prefill({0, token}, nullptr).code(),
              StatusCode::InvalidArgument);
  EXPECT_EQ(model->prefill({0, 5}, nullptr).message(),
            "token 1 is 5, allowed is 0 to 4");
  EXPECT_EQ(model->position(), 0u);
}

TEST(LanguageModel, reportsLogitsThatAreNotFinite) {
  LLMC_NEED_DEVICE();
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    CountingModelOptions options;
    options.weight[3] = bad;
    auto model = createModel(options);
    Logits logits(5);
    EXPECT_EQ(model->prefill({1, 2}, logits.data()).code(),
              StatusCode::NonFinite);
    EXPECT_EQ(model->position(), 0u);
  }
}

TEST(LanguageModel, canBeCancelled) {
  LLMC_NEED_DEVICE();
  auto model = createModel();
  size_t rows = 0;
  const Status status =
      model->prefillWithAllLogits(someTokens(40), [&](const float *) {
        if (++rows == 10)
          model->cancel();
        return okStatus();
      });
  EXPECT_EQ(status.code(), StatusCode::Cancelled);
  EXPECT_EQ(rows, 16u); // the step under way is finished
  EXPECT_EQ(model->position(), 0u);
  expectPrefill(*model, {1}, 1);
}

TEST(LanguageModel, isBusyInAnotherThread_B44) {
  LLMC_NEED_DEVICE();
  auto model = createModel();
  Status other;
  ASSERT_TRUE(model
                  ->prefillWithAllLogits({1},
                                         [&](const float *) {
                                           std::thread([&] {
                                             other = model->decode(1, nullptr);
                                           }).join();
                                           return okStatus();
                                         })
                  .ok());
  EXPECT_EQ(other.code(), StatusCode::Busy);
}

TEST(LanguageModel, sessionsOfOneModuleRunAtOnce_B44) {
  LLMC_NEED_DEVICE();
  auto module = load(makeCountingModel());
  ASSERT_TRUE(module.ok());
  std::vector<std::thread> threads;
  for (int32_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      auto model = LanguageModel::create(*module, {});
      ASSERT_TRUE(model.ok());
      Logits logits(5);
      int32_t sum = 0;
      for (int step = 0; step < 50; ++step) {
        ASSERT_TRUE((*model)->decode(thread, logits.data()).ok());
        sum += thread;
        ASSERT_EQ(logits, expectedLogits({}, sum));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(LanguageModel, isNotInEveryFile) {
  LLMC_NEED_DEVICE();
  ModuleFile file = makeCountingModel();
  for (auto &entry : *file.manifest.mutable_variants(0)->mutable_entries())
    if (entry.function() == "logits")
      entry.set_function("other");
  auto module = load(file);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(LanguageModel::create(*module, {}).status().code(),
            StatusCode::Unsupported);
}

TEST(LanguageModel, aForkGoesItsOwnWay) {
  LLMC_NEED_DEVICE();
  auto model = createModel();
  expectPrefill(*model, {3, 4}, 7);
  auto fork = model->fork();
  ASSERT_TRUE(fork.ok()) << fork.status().message();
  EXPECT_EQ((*fork)->position(), 2u);
  expectPrefill(**fork, {1}, 8);
  expectPrefill(*model, {4, 4}, 15);
  expectPrefill(**fork, {2}, 10);
  model.reset();
  expectPrefill(**fork, {1}, 11);
}

TEST(LanguageModel, aSavedSessionGoesOnInAnother) {
  LLMC_NEED_DEVICE();
  const std::string path = temporaryPath("counting.session");
  auto module = load(makeCountingModel());
  ASSERT_TRUE(module.ok());
  {
    auto model = LanguageModel::create(*module, {});
    expectPrefill(**model, {3, 4, 2}, 9);
    const Status saved = (*model)->save(path);
    ASSERT_TRUE(saved.ok()) << saved.message();
  }
  auto model = LanguageModel::create(*module, {});
  expectPrefill(**model, {1, 1, 1, 1, 1}, 5);
  const Status restored = (*model)->restore(path);
  ASSERT_TRUE(restored.ok()) << restored.message();
  EXPECT_EQ((*model)->position(), 3u);
  expectPrefill(**model, {4}, 13);
  std::remove(path.c_str());
  EXPECT_EQ((*model)->restore(path).code(), StatusCode::NotFound);
  expectPrefill(**model, {1}, 14);
}

TEST(LanguageModel, refusesTheSessionOfAnotherFile) {
  LLMC_NEED_DEVICE();
  const std::string path = temporaryPath("foreign.session");
  auto model = createModel();
  expectPrefill(*model, {3}, 3);
  ASSERT_TRUE(model->save(path).ok());
  CountingModelOptions other;
  other.weight = {1, 2, 3, 4, 5};
  auto foreign = createModel(other);
  expectPrefill(*foreign, {2}, 2, other);
  EXPECT_EQ(foreign->restore(path).message(),
            path + ": is a session of another .llmc file");
  expectPrefill(*foreign, {2}, 4, other);
  std::remove(path.c_str());
}

} // namespace
} // namespace llmc::test
