// SPDX-License-Identifier: Apache-2.0
//
// Texts whose tokens the device chooses, against evaluating and sampling token
// by token on the host.

#include "test/e2e/compiled/EndToEnd.h"
#include "test/e2e/runtime/FaultyVulkan.h"

#include "runtime/session/Generator.h"

#include <climits>

namespace llmc::test {
namespace {

struct Choice {
  const char *name;
  float temperature;
  int32_t topK;
  float topP;
  float penalty;
  /// What the target's description says.
  int stepsPerSubmit = 1;
};

std::ostream &operator<<(std::ostream &out, const Choice &choice) {
  return out << choice.name;
}

text::SamplerOptions samplerOptions(const Choice &choice) {
  text::SamplerOptions options;
  options.temperature = choice.temperature;
  options.topK = choice.topK;
  options.topP = choice.topP;
  options.repetitionPenalty = choice.penalty;
  options.seed = 11;
  return options;
}

/// The reference: logits on the host, the sampler, one token after the other.
StatusOr<std::vector<int32_t>> onHost(runtime::LanguageModel &model,
                                      const std::vector<int32_t> &prompt,
                                      const text::SamplerOptions &options,
                                      size_t count) {
  LLMC_ASSIGN_OR_RETURN(
      text::Sampler sampler,
      text::Sampler::create(options,
                            static_cast<int32_t>(model.vocabularySize())));
  for (int32_t token : prompt)
    sampler.accept(token);
  std::vector<float> logits(model.vocabularySize());
  LLMC_RETURN_IF_ERROR(model.prefill(prompt, logits.data()));
  std::vector<int32_t> tokens;
  while (true) {
    LLMC_ASSIGN_OR_RETURN(const int32_t token,
                          sampler.sample(logits.data(), logits.size()));
    sampler.accept(token);
    tokens.push_back(token);
    if (tokens.size() == count)
      return tokens;
    LLMC_RETURN_IF_ERROR(model.decode(token, logits.data()));
  }
}

class TokenChoices : public testing::TestWithParam<Choice> {
protected:
  /// A golden model, compiled; its file.
  std::string compiled(const std::string &name, int64_t maxContext = 0) {
    const std::string file = folder.file(name + ".llmc");
    if (!exists(file)) {
      const Status status =
          compile(findGolden(name, folder), file, {target()}, maxContext);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return file;
  }

  /// A session of it.
  std::unique_ptr<runtime::LanguageModel> open(const std::string &name,
                                               int64_t maxContext = 0) {
    auto model = loadLanguageModel(compiled(name, maxContext));
    EXPECT_TRUE(model.ok()) << model.status().message();
    return model.ok() ? std::move(*model) : nullptr;
  }

  /// A description with the steps of the case.
  std::string target() {
    std::string description = runTool({"targets", "lavapipe"}).output;
    const std::string before = "plan {\n";
    const size_t at = description.find(before);
    EXPECT_NE(at, std::string::npos) << description;
    description.insert(at + before.size(),
                       "  decode_steps_per_submit: " +
                           std::to_string(GetParam().stepsPerSubmit) + "\n");
    const std::string file = folder.file("steps.textproto");
    writeFile(file, description);
    return file;
  }

  TemporaryFolder folder;
};

TEST_P(TokenChoices, OfTheDeviceAreTheHosts) {
  LLMC_E2E_NEED_DEVICE();
  // The last overwrites what it remembers.
  for (const char *name : {"tiny-qwen3-Q4_K_M", "tiny-lfm2-Q8_0"}) {
    SCOPED_TRACE(name);
    auto device = open(name), host = open(name);
    ASSERT_TRUE(device && host);
    const std::vector<int32_t> prompt = readGoldenTokens();
    runtime::GenerateOptions options;
    options.sampler = samplerOptions(GetParam());
    options.maxTokens = 90;
    auto wanted = onHost(*host, prompt, options.sampler, options.maxTokens);
    ASSERT_TRUE(wanted.ok()) << wanted.status().message();
    auto found = runtime::generate(*device, nullptr, prompt, options, {});
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->ids, *wanted);
    EXPECT_EQ(found->reason, runtime::StopReason::MaxTokens);
    EXPECT_EQ(device->position(), host->position());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, TokenChoices,
    testing::Values(Choice{"greedy", 0, 0, 1, 1},
                    Choice{"penalized", 0, 0, 1, 1.25F},
                    Choice{"warm", 0.8F, 40, 0.95F, 1.1F},
                    Choice{"warm_in_fours", 0.8F, 40, 0.95F, 1.1F, 4}),
    [](const auto &info) { return std::string(info.param.name); });

using TokensInFlight = TokenChoices;

// Steps were submitted behind the token that ends the text; the next turn must
// not see them.
TEST_P(TokensInFlight, LeaveNothingBehindAnEnd) {
  LLMC_E2E_NEED_DEVICE();
  auto device = open("tiny-qwen3-Q4_K_M"), host = open("tiny-qwen3-Q4_K_M");
  ASSERT_TRUE(device && host);
  const std::vector<int32_t> prompt = readGoldenTokens();
  runtime::GenerateOptions options;
  options.sampler = samplerOptions(GetParam());
  auto wanted = onHost(*host, prompt, options.sampler, 5);
  ASSERT_TRUE(wanted.ok()) << wanted.status().message();
  size_t numTold = 0;
  auto found = runtime::generate(
      *device, nullptr, prompt, options,
      [&](int32_t, const std::string &) { return ++numTold < 5; });
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->ids, *wanted);
  EXPECT_EQ(found->reason, runtime::StopReason::Cancelled);
  EXPECT_EQ(device->position(), prompt.size() + 4);
  std::vector<float> logits(device->vocabularySize()), other(logits.size());
  LLMC_E2E_OK(device->prefill({1, 2, 3}, logits.data()));
  LLMC_E2E_OK(host->prefill({1, 2, 3}, other.data()));
  EXPECT_EQ(logits, other);
}

TEST_P(TokensInFlight, StopAtTheContextsEnd) {
  LLMC_E2E_NEED_DEVICE();
  const std::vector<int32_t> prompt = readGoldenTokens();
  auto device =
      open("tiny-qwen3-Q4_K_M", static_cast<int64_t>(prompt.size()) + 7);
  ASSERT_TRUE(device);
  runtime::GenerateOptions options;
  options.sampler = samplerOptions(GetParam());
  auto found = runtime::generate(*device, nullptr, prompt, options, {});
  ASSERT_TRUE(found.ok()) << found.status().message();
  // The last has no place to be evaluated at.
  EXPECT_EQ(found->ids.size(), 8U);
  EXPECT_EQ(found->reason, runtime::StopReason::ContextFull);
  EXPECT_EQ(device->position(), device->contextLength());
}

// The prompt and the first token take as many submissions as ever; nine more
// tokens two of four steps and one, instead of nine.
TEST_P(TokensInFlight, GoInAsFewSubmissionsAsTheTargetSays) {
  LLMC_E2E_NEED_DEVICE();
  constexpr uint64_t kMoreTokens = 9;
  const std::string file = compiled("tiny-qwen3-Q4_K_M");
  int numCalls[2];
  for (const uint64_t numTokens : {uint64_t{1}, 1 + kMoreTokens}) {
    const FaultyVulkan vulkan({"vkQueueSubmit", INT_MAX});
    auto module = runtime::Module::load(*vulkan.engine, file, {});
    ASSERT_TRUE(module.ok()) << module.status().message();
    auto model = runtime::LanguageModel::create(*module, {});
    ASSERT_TRUE(model.ok()) << model.status().message();
    runtime::GenerateOptions options;
    options.sampler = samplerOptions(GetParam());
    options.maxTokens = numTokens;
    const int before = vulkan.numCalls();
    auto found = runtime::generate(**model, nullptr, {1, 2, 3}, options, {});
    ASSERT_TRUE(found.ok()) << found.status().message();
    numCalls[numTokens == 1 ? 0 : 1] = vulkan.numCalls() - before;
  }
  EXPECT_EQ(numCalls[1] - numCalls[0], GetParam().stepsPerSubmit == 4 ? 3 : 9);
}

INSTANTIATE_TEST_SUITE_P(Models, TokensInFlight,
                         testing::Values(Choice{"greedy", 0, 0, 1, 1},
                                         Choice{"in_fours", 0, 0, 1, 1, 4}),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace llmc::test
