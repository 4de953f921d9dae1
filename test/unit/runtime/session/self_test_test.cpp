// SPDX-License-Identifier: Apache-2.0
//
// A file with two variants, of which the better one is wrong on this device, or
// unstable: the other runs, and it is told why.

#include "runtime/session/SelfTest.h"

#include "runtime/session/LanguageModel.h"
#include "test/support/fake_vulkan/FakeVulkan.h"
#include "test/unit/runtime/session/SelfTestModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

namespace llmc::test {
namespace {

using runtime::LanguageModel;
using runtime::Module;
using runtime::ModuleOptions;
using runtime::SelfTestMode;
using Kind = runtime::InjectedFault::Kind;

constexpr int kScale = 2; // kernels of the counting model

/// Variants "special", made for the fake device, and "any". The kernel `scale`
/// of "special" has code of its own.
ModuleFile makeFile(Bytes &specialCode) {
  ModuleFile file = makeCountingModel();
  addSelfTestCase(*file.manifest.mutable_variants(0), 4);
  const format::Variant any = file.manifest.variants(0);
  format::Variant &special = *file.manifest.mutable_variants(0);
  special.mutable_target()->set_name("special");
  special.mutable_target()->set_vendor_id(0xfa4e);
  specialCode = setSpecialCode(file, special, kScale);
  *file.manifest.add_variants() = any;
  return file;
}

class SelfTest : public testing::Test {
protected:
  SelfTest() : file(makeFile(specialCode)) {
    addCountingKernels();
    FakeVulkan::setFault({});
    setSpecialKernel([](int) { return 1.0f; });
    options.pipelineCacheFolder = file.cacheFolder();
  }

  /// `factor(n)`: of the logits in the n-th run of the kernel.
  void setSpecialKernel(std::function<float(int)> factor) {
    numRuns = 0;
    FakeVulkan::addKernel(
        specialCode, [this, factor](const auto &bindings, const auto &) {
          const float by = factor(numRuns++);
          int32_t words[3];
          std::memcpy(words, bindings[0], sizeof(words));
          for (int32_t row = 0; row < words[1]; ++row)
            for (int32_t v = 0; v < 5; ++v) {
              float hidden = 0, weight = 0;
              std::memcpy(&hidden, bindings[1] + (words[2] + row) * 4, 4);
              std::memcpy(&weight, bindings[2] + v * 4, 4);
              const float logit = hidden * weight * by;
              std::memcpy(bindings[3] + (row * 8 + v) * 4, &logit, 4);
            }
        });
  }

  StatusOr<std::shared_ptr<Module>> load() {
    LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Engine> engine,
                          runtime::Engine::create(LLMC_FAKE_VULKAN));
    return Module::load(*engine, file.path(), options);
  }

  void expectRuns(const char *target, const char *summary) {
    auto module = load();
    ASSERT_TRUE(module.ok()) << module.status().message();
    EXPECT_EQ((*module)->variant().target().name(), target);
    EXPECT_EQ((*module)->selfTestSummary(), summary)
        << (*module)->choiceReason();
    auto model = LanguageModel::create(*module, {});
    ASSERT_TRUE(model.ok());
    std::vector<float> logits(5);
    ASSERT_TRUE((*model)->prefill({1, 2}, logits.data()).ok());
    EXPECT_EQ(logits, expectedLogits({}, 3));
  }

  Bytes specialCode;
  CountingFile file;
  ModuleOptions options;
  int numRuns = 0;
};

TEST_F(SelfTest, runsTwiceOnceForEachDriver) {
  expectRuns("special", "passed 1 cases");
  EXPECT_EQ(numRuns, 2 + 1); // the last is the prompt's
  expectRuns("special", "passed before on this driver");
  EXPECT_EQ(numRuns, 4);
  options.selfTest = SelfTestMode::Always;
  expectRuns("special", "passed 1 cases");
  options.selfTest = SelfTestMode::Never;
  expectRuns("special", "not asked for");
}

TEST_F(SelfTest, runsAtEachStartWithoutAFolder) {
  options.pipelineCacheFolder.clear();
  for (int start = 0; start < 2; ++start)
    expectRuns("special", "passed 1 cases");
}

/// A test waits for all kernels, so that those with the most code are built
/// first; else they are built in the order of the file.
TEST_F(SelfTest, buildsTheLargestKernelsFirst) {
  options.numThreads = 1;
  for (const auto mode : {SelfTestMode::Always, SelfTestMode::Never}) {
    options.selfTest = mode;
    auto module = load();
    ASSERT_TRUE(module.ok()) << module.status().message();
    std::vector<std::pair<int64_t, std::string>> expected;
    for (const format::Kernel &kernel : (*module)->variant().kernels())
      expected.emplace_back(-static_cast<int64_t>(kernel.code_size()),
                            kernel.name());
    if (mode == SelfTestMode::Always)
      std::sort(expected.begin(), expected.end());
    std::vector<std::string> names, found;
    for (const auto &[size, name] : expected)
      names.push_back(name);
    for (const runtime::TimeSpan &span : (*module)->loadTimes())
      if (std::count(names.begin(), names.end(), span.name))
        found.emplace_back(span.name);
    EXPECT_EQ(found, names);
  }
}

TEST_F(SelfTest, passesOverAWrongKernel) {
  setSpecialKernel([](int) { return 1.01f; });
  options.numThreads = 2;
  std::atomic<int> numMade = 0;
  options.meanwhile = [&](const format::Reader &) {
    ++numMade;
    return okStatus();
  };
  auto module = load();
  options.meanwhile = nullptr;
  EXPECT_EQ(numMade, 2); // of each variant's load
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ((*module)->numFailedVariants(), 1u);
  EXPECT_EQ((*module)->choiceReason().rfind(
                "any: runs on any such device; passed over special: failed its "
                "self-test: selftest (",
                0),
            0u)
      << (*module)->choiceReason();
  EXPECT_NE((*module)->choiceReason().find("of result logits sum to"),
            std::string::npos)
      << (*module)->choiceReason();
  // It is known from now on, whatever the device computes.
  setSpecialKernel([](int) { return 1.0f; });
  expectRuns("any", "passed before on this driver");
  EXPECT_EQ(numRuns, 0);
}

TEST_F(SelfTest, passesOverAnUnstableKernel) {
  // Within the tolerance, but not the same.
  setSpecialKernel([](int run) { return run % 2 ? 1.000001f : 1.0f; });
  auto module = load();
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ((*module)->variant().target().name(), "any");
  EXPECT_NE(
      (*module)->choiceReason().find("run 2 gave other bits than the first"),
      std::string::npos)
      << (*module)->choiceReason();
}

TEST_F(SelfTest, refusesTheFileWhenEachVariantIsWrong) {
  options.preference.targetName = "special";
  setSpecialKernel([](int) { return 0.0f; });
  auto module = load();
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), StatusCode::NoDevice);
  EXPECT_NE(module.status().message().find(
                "fake can't run the file: special: failed its self-test"),
            std::string::npos)
      << module.status().message();
  options.fallsBack = false;
  options.selfTest = SelfTestMode::Always;
  module = load();
  EXPECT_EQ(module.status().code(), StatusCode::SelfTestFailed);
}

TEST_F(SelfTest, injectedFaultsAreNotRemembered) {
  for (const Kind kind : {Kind::Wrong, Kind::Unstable}) {
    options.fault = {kind, "special", ""};
    expectRuns("any", "passed 1 cases");
  }
  options.fault = {};
  expectRuns("special", "passed 1 cases");
}

TEST_F(SelfTest, fallsBackWhenNumbersAreNone) {
  setSpecialKernel([](int) { return HUGE_VALF - HUGE_VALF; });
  expectRuns("any", "passed 1 cases");
}

} // namespace
} // namespace llmc::test
