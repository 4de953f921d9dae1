// SPDX-License-Identifier: Apache-2.0
//
// The self-test that a compiled file holds: every kernel has a case, the device
// passes, and a variant that does not is passed over.

#include "test/e2e/models/GoldenTest.h"

#include <set>

namespace llmc::test {
namespace {

class SelfTestOf : public testing::TestWithParam<const char *> {};

/// Kernels that entries of |program| dispatch.
std::set<uint32_t> kernelsOf(const format::Variant &program) {
  std::set<uint32_t> kernels;
  for (const format::Entry &entry : program.entries())
    for (const format::Command &command : entry.commands())
      if (command.has_dispatch())
        kernels.insert(command.dispatch().kernel());
  return kernels;
}

std::set<std::string> namesOf(const format::Variant &variant,
                              const std::set<uint32_t> &kernels) {
  std::set<std::string> names;
  for (uint32_t kernel : kernels)
    names.insert(variant.kernels(static_cast<int>(kernel)).name());
  return names;
}

void compileWithTests(const std::string &model, const std::string &file,
                      const std::string &targets) {
  const ToolResult done =
      runTool({"compile", model, "--target=" + targets, "-o", file});
  ASSERT_EQ(done.exitCode, 0) << done.errors;
}

TEST_P(SelfTestOf, TestsEveryKernelAndPasses) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const std::string file = folder.file("model.llmc");
  compileWithTests(findGolden(GetParam(), folder), file, "lavapipe");
  auto engine = runtime::Engine::create();
  ASSERT_TRUE(engine.ok());
  runtime::ModuleOptions options;
  options.selfTest = runtime::SelfTestMode::Always;
  options.fallsBack = false;
  auto module = runtime::Module::load(**engine, file, options);
  ASSERT_TRUE(module.ok()) << module.status().message();
  const format::Variant &variant = (*module)->variant();
  ASSERT_TRUE(variant.has_self_test());
  const format::SelfTest &test = variant.self_test();
  EXPECT_EQ(test.cases_size(), test.program().entries_size());
  EXPECT_EQ((*module)->selfTestSummary(),
            "passed " + std::to_string(test.cases_size()) + " cases");
  EXPECT_EQ(namesOf(variant, kernelsOf(test.program())),
            namesOf(variant, kernelsOf(variant)));
  for (const format::SelfTestCase &one : test.cases())
    EXPECT_GT(one.expectations_size(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Models, SelfTestOf,
    testing::Values("tiny-llama-Q4_0", "tiny-qwen3-Q4_K_M", "tiny-llama-f16",
                    "tiny-lfm2-Q4_0", "tiny-gemma2-Q4_K_M", "tiny-bert-Q4_0",
                    "tiny-qwen2-Q8_0", "tiny-gemma3-f16", "tiny-qwen3moe-Q4_0",
                    "tiny-llama-Q2_K", "tiny-llama-Q3_K_M", "tiny-llama-Q4_1",
                    "tiny-llama-Q5_0", "tiny-llama-Q5_1", "tiny-llama-Q5_K_M",
                    "tiny-llama-Q6_K", "tiny-llama-IQ4_NL",
                    "tiny-llama-IQ4_XS"),
    [](const auto &info) { return asTestName(info.param); });

TEST(SelfTest, IsLeftOutWhenAskedTo) {
  TemporaryFolder folder;
  const std::string model = findGolden("tiny-llama-Q4_0", folder);
  const std::string file = folder.file("model.llmc");
  for (const bool isLeftOut : {false, true}) {
    std::vector<std::string> arguments = {"compile", model, "--target=lavapipe",
                                          "-o", file};
    if (isLeftOut)
      arguments.push_back("--no-self-test");
    ASSERT_EQ(runTool(arguments).exitCode, 0);
    auto reader = format::Reader::open(file);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ((*reader)->manifest().variants(0).has_self_test(), !isLeftOut);
  }
}

TEST(SelfTest, AVariantThatFailsIsPassedOver) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const std::string file = folder.file("model.llmc");
  const std::string cache = folder.file("cache");
  compileWithTests(findGolden("tiny-llama-Q4_0", folder), file,
                   "lavapipe,vulkan-1.1");
  const std::vector<std::string> run = {"run", file, "--raw",       "-p", "a",
                                        "-n",  "4",  "--cache-dir", cache};
  const auto with = [&](const std::string &option) {
    std::vector<std::string> arguments = run;
    arguments.push_back(option);
    return runTool(arguments);
  };
  const ToolResult right = with("--self-test=always");
  ASSERT_EQ(right.exitCode, 0) << right.errors;
  EXPECT_NE(right.errors.find("[lavapipe on"), std::string::npos);
  for (const char *kind : {"wrong", "unstable"}) {
    const ToolResult other =
        with(std::string("--inject-fault=") + kind + ":lavapipe");
    ASSERT_EQ(other.exitCode, 0) << other.errors;
    EXPECT_NE(other.errors.find("[vulkan-1.1 on"), std::string::npos)
        << other.errors;
  }
  // What chooses tokens is tested by the tokens.
  for (const char *kernel : {"sample_top", "sample_draw"}) {
    const ToolResult other =
        with(std::string("--inject-fault=wrong:lavapipe:") + kernel);
    ASSERT_EQ(other.exitCode, 0) << other.errors;
    EXPECT_NE(other.errors.find("[vulkan-1.1 on"), std::string::npos)
        << kernel << ": " << other.errors;
  }
  EXPECT_EQ(with("--inject-fault=slow:lavapipe").exitCode, 2);
  const ToolResult devices = runTool({"devices", file, "--cache-dir", cache});
  EXPECT_NE(devices.output.find("lavapipe: made for this device, passed its "
                                "self-test"),
            std::string::npos)
      << devices.output;
  EXPECT_EQ(runTool({"run", "--help"}).output.find("inject"),
            std::string::npos);
}

/// A kernel that only steps of 128 rows have: short prompts do not wait for it,
/// the first long one finds it out.
TEST(SelfTest, AKernelOfLongPromptsIsTestedBeforeTheFirst) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const std::string file = folder.file("model.llmc");
  compileWithTests(findGolden("tiny-llama-Q4_0", folder), file,
                   "lavapipe,vulkan-1.1");
  const std::string cache = folder.file("cache");
  const auto run = [&](int numTokens, const std::string &mode,
                       const std::string &fault =
                           "wrong:lavapipe:sdpa_4_2x64_rows_128") {
    std::string tokens = "1";
    for (int i = 1; i < numTokens; ++i)
      tokens += ",1";
    std::vector<std::string> arguments = {"logits",
                                          file,
                                          "--tokens=" + tokens,
                                          "-o",
                                          folder.file("logits.f32"),
                                          "--cache-dir",
                                          cache,
                                          "--self-test=" + mode};
    if (!fault.empty())
      arguments.push_back("--inject-fault=" + fault);
    return runTool(arguments);
  };
  const ToolResult shortPrompt = run(20, "auto");
  EXPECT_EQ(shortPrompt.exitCode, 0) << shortPrompt.errors;
  const ToolResult longPrompt = run(130, "auto");
  EXPECT_EQ(longPrompt.exitCode, 1);
  EXPECT_NE(longPrompt.errors.find("variant lavapipe failed its self-test"),
            std::string::npos)
      << longPrompt.errors;
  EXPECT_NE(longPrompt.errors.find("attention, 128 rows"), std::string::npos)
      << longPrompt.errors;
  // Asked for, the test is over before anything runs, and the other variant is
  // taken.
  const ToolResult tested = run(130, "always");
  EXPECT_EQ(tested.exitCode, 0) << tested.errors;
  // Without a fault `llmc devices F` follows.
  const auto expectVerdict = [&](const std::string &verdict) {
    const ToolResult devices = runTool({"devices", file, "--cache-dir", cache});
    EXPECT_NE(devices.output.find("lavapipe: made for this device, " + verdict +
                                  "\n"),
              std::string::npos)
        << devices.output;
  };
  expectVerdict("not tested yet");
  EXPECT_EQ(run(20, "auto", "").exitCode, 0);
  expectVerdict("passed its self-test for short prompts");
  EXPECT_EQ(run(130, "auto", "").exitCode, 0);
  expectVerdict("passed its self-test");
}

} // namespace
} // namespace llmc::test
