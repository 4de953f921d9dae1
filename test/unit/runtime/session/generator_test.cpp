// SPDX-License-Identifier: Apache-2.0
//
// Generation with prompt lookup: the tokens of one-by-one decoding, in fewer
// steps. The model says the sum of all tokens, modulo its vocabulary.

#include "runtime/session/Generator.h"

#include "test/support/fake_vulkan/FakeVulkan.h"
#include "test/unit/runtime/session/FakeCounting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace llmc::test {
namespace {

using runtime::GenerateOptions;
using runtime::GenerateResult;
using runtime::LanguageModel;
using Tokens = std::vector<int32_t>;

/// logits[v] is largest where v = hidden mod 5; the kernel has scale's place.
void chooseBySum(const std::vector<FakeBinding> &bindings,
                 const std::array<uint32_t, 3> &groups) {
  int32_t words[3];
  std::memcpy(words, bindings[0], sizeof(words));
  for (int32_t row = 0; row < words[1]; ++row) {
    float sum = 0;
    std::memcpy(&sum, bindings[1] + (words[2] + row) * 4, 4);
    for (uint32_t v = 0; v < groups[1]; ++v) {
      const float logit =
          -std::abs(std::fmod(sum, 5.0f) - static_cast<float>(v));
      std::memcpy(bindings[3] + (row * 8 + static_cast<int32_t>(v)) * 4, &logit,
                  4);
    }
  }
}

class GeneratorTest : public testing::Test {
protected:
  GeneratorTest() {
    addCountingKernels();
    FakeVulkan::setFault({});
    FakeVulkan::addKernel(
        readBytes(std::string(LLMC_KERNEL_FOLDER) + "/scale.spv"), chooseBySum);
    options.logitsRows = {1, 4};
  }
  ~GeneratorTest() override { addCountingKernels(); }

  std::unique_ptr<LanguageModel> createModel() {
    const CountingFile file(options);
    auto engine = runtime::Engine::create(LLMC_FAKE_VULKAN);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    auto module = runtime::Module::load(**engine, file.path(), {});
    EXPECT_TRUE(module.ok()) << module.status().message();
    auto model = LanguageModel::create(*module, {});
    EXPECT_TRUE(model.ok()) << model.status().message();
    return std::move(*model);
  }

  static GenerateResult run(LanguageModel &model, const Tokens &prompt,
                            const GenerateOptions &generate,
                            const runtime::TokenCallback &callback = {}) {
    EXPECT_TRUE(model.reset().ok());
    auto result = runtime::generate(model, nullptr, prompt, generate, callback);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return *result;
  }

  CountingModelOptions options;
};

Tokens somePrompt(int32_t number) {
  Tokens prompt;
  for (int32_t i = 0; i < 3 + number % 7; ++i)
    prompt.push_back((number * 3 + i * i) % 5);
  return prompt;
}

TEST_F(GeneratorTest, lookupGivesTheTokensOfOneByOneDecoding) {
  auto model = createModel();
  uint32_t numPlain = 0, numGuessed = 0;
  for (int32_t number = 0; number < 50; ++number)
    for (const float temperature : {0.0f, 3.0f}) {
      GenerateOptions generate;
      generate.maxTokens = static_cast<uint32_t>(20 + number % 5);
      generate.sampler.temperature = temperature;
      generate.sampler.repetitionPenalty = number % 2 ? 1.0f : 1.1f;
      generate.sampler.seed = static_cast<uint64_t>(number);
      const GenerateResult plain = run(*model, somePrompt(number), generate);
      const uint32_t position = model->position();
      for (const uint32_t length : {0u, 1u, 3u, 64u}) {
        generate.draftLength = length;
        const GenerateResult guessed =
            run(*model, somePrompt(number), generate);
        ASSERT_EQ(guessed.ids, plain.ids) << number << " " << length;
        EXPECT_EQ(guessed.reason, plain.reason);
        EXPECT_EQ(model->position(), position);
        EXPECT_LE(guessed.numSteps, plain.numSteps);
        if (length == 0) {
          EXPECT_EQ(guessed.numSteps, plain.numSteps);
        }
        if (length == 3 && temperature == 0) {
          numPlain += plain.numSteps;
          numGuessed += guessed.numSteps;
        }
      }
    }
  // What repeats itself takes fewer steps.
  EXPECT_LT(numGuessed * 3, numPlain * 2);
}

TEST_F(GeneratorTest, lookupStopsWhereOneByOneDecodingDoes) {
  options.context = 24;
  auto model = createModel();
  GenerateOptions generate;
  const Tokens prompt = {1, 2, 4, 3, 1, 2, 4, 3};
  const GenerateResult plain = run(*model, prompt, generate);
  EXPECT_EQ(plain.reason, runtime::StopReason::ContextFull);
  const uint32_t position = model->position();
  generate.draftLength = 3;
  EXPECT_EQ(run(*model, prompt, generate).ids, plain.ids);
  EXPECT_EQ(model->position(), position);
  // A callback ends it among the tokens of one step.
  for (size_t most = 1; most < 8; ++most) {
    size_t count = 0;
    const auto enough = [&](int32_t, const std::string &) {
      return ++count < most;
    };
    const GenerateResult cut = run(*model, prompt, generate, enough);
    EXPECT_EQ(cut.reason, runtime::StopReason::Cancelled);
    EXPECT_EQ(cut.ids,
              Tokens(plain.ids.begin(),
                     plain.ids.begin() + static_cast<ptrdiff_t>(most)));
    EXPECT_EQ(model->position(), prompt.size() + most - 1);
  }
}

TEST_F(GeneratorTest, rowsOfADraftHaveTheBitsOfSingleRows) {
  auto model = createModel();
  const Tokens tokens = {1, 4, 2, 2};
  std::vector<std::vector<float>> alone, together;
  const auto keepIn = [](std::vector<std::vector<float>> &rows) {
    return [&rows](const float *row) {
      rows.emplace_back(row, row + 5);
      return okStatus();
    };
  };
  for (const int32_t token : tokens)
    ASSERT_TRUE(model->decodeDraft(&token, 1, keepIn(alone)).ok());
  ASSERT_TRUE(model->reset().ok());
  ASSERT_TRUE(model->decodeDraft(tokens.data(), 4, keepIn(together)).ok());
  EXPECT_EQ(together, alone);
  EXPECT_EQ(model->draftRows(), 4u);
  EXPECT_EQ(model->decodeDraft(tokens.data(), 5, keepIn(alone)).code(),
            StatusCode::InvalidArgument);
}

TEST_F(GeneratorTest, lookupNeedsAModelThatCanGoBack) {
  ModuleFile contents = makeCountingModel(options);
  contents.manifest.mutable_model()->set_cannot_go_back(true);
  const CountingFile file(std::move(contents));
  auto engine = runtime::Engine::create(LLMC_FAKE_VULKAN);
  auto module = runtime::Module::load(**engine, file.path(), {});
  ASSERT_TRUE(module.ok()) << module.status().message();
  auto model = LanguageModel::create(*module, {});
  ASSERT_TRUE(model.ok());
  GenerateOptions generate;
  generate.draftLength = 3;
  EXPECT_EQ(
      runtime::generate(**model, nullptr, {1}, generate, {}).status().code(),
      StatusCode::Unsupported);
}

} // namespace
} // namespace llmc::test
