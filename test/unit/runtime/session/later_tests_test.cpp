// SPDX-License-Identifier: Apache-2.0
//
// A file whose steps of more than 32 rows have a kernel of their own: a load
// does not wait for it, and it is tested before the first such step.

#include "runtime/session/LanguageModel.h"
#include "runtime/session/LaterTests.h"
#include "test/support/fake_vulkan/FakeVulkan.h"
#include "test/unit/runtime/session/Gate.h"
#include "test/unit/runtime/session/SelfTestModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

namespace llmc::test {
namespace {

using runtime::LanguageModel;
using runtime::Module;
using runtime::SelfTestMode;
using runtime::TestPlan;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kSum = 1, kLongSum = 3; // kernels
constexpr uint32_t kLongRows = 40;

/// Variants "special", whose steps of 40 rows have the kernel `kLongSum`, and
/// "any".
ModuleFile makeFile(Bytes &longCode) {
  CountingModelOptions model;
  model.context = 128;
  model.forwardRows = {1, 4, kLongRows};
  ModuleFile file = makeCountingModel(model);
  for (const uint32_t rows : {4u, kLongRows})
    addSelfTestCase(*file.manifest.mutable_variants(0), rows);
  const format::Variant any = file.manifest.variants(0);
  format::Variant &special = *file.manifest.mutable_variants(0);
  special.mutable_target()->set_name("special");
  special.mutable_target()->set_vendor_id(0xfa4e);
  *special.add_kernels() = special.kernels(kSum);
  longCode = setSpecialCode(file, special, kLongSum);
  const auto useIt = [](format::Entry &entry) {
    for (format::Command &command : *entry.mutable_commands())
      if (command.has_dispatch() && command.dispatch().kernel() == kSum)
        command.mutable_dispatch()->set_kernel(kLongSum);
  };
  for (format::Entry &entry : *special.mutable_entries())
    if (entry.rows() == kLongRows)
      useIt(entry);
  useIt(*special.mutable_self_test()->mutable_program()->mutable_entries(1));
  *file.manifest.add_variants() = any;
  return file;
}

class LaterTest : public testing::Test {
protected:
  LaterTest() : file(makeFile(longCode)) {
    addCountingKernels();
    FakeVulkan::setFault({});
    setLongKernel(1);
    options.pipelineCacheFolder = file.cacheFolder();
    options.numThreads = 2;
  }

  ~LaterTest() override { FakeVulkan::setOffer({}); }

  /// Sums are multiplied by `factor`.
  void setLongKernel(float factor) {
    numRuns = 0;
    longHasRun = std::make_unique<Gate>();
    FakeVulkan::addKernel(
        longCode, [this, factor](const auto &bindings, const auto &) {
          if (numRuns++ == 0)
            longHasRun->open();
          int32_t words[2];
          std::memcpy(words, bindings[0], sizeof(words));
          float total = 0;
          for (int32_t key = 0; key < words[0] + words[1]; ++key) {
            float token = 0;
            std::memcpy(&token, bindings[1] + key * 4, 4);
            total += token;
            const float sum = total * factor;
            if (key >= words[0])
              std::memcpy(bindings[2] + (key - words[0]) * 4, &sum, 4);
          }
        });
  }

  /// Steps of fewer rows have no kernel before the long one has run.
  void holdShortKernel() {
    FakeOffer offer;
    offer.onPipeline = [this](const Bytes &code) {
      if (code == shortCode)
        longHasRun->pass();
    };
    FakeVulkan::setOffer(offer);
  }

  StatusOr<std::shared_ptr<Module>> load() {
    LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Engine> engine,
                          runtime::Engine::create(LLMC_FAKE_VULKAN));
    return Module::load(*engine, file.path(), options);
  }
  std::shared_ptr<Module> loadAs(const std::string &summary) {
    auto module = load();
    EXPECT_TRUE(module.ok()) << module.status().message();
    EXPECT_EQ((*module)->selfTestSummary(), summary);
    return *module;
  }

  /// A prompt of so many tokens 3 in a new session.
  static Status prompt(const std::shared_ptr<Module> &module, int count) {
    LLMC_ASSIGN_OR_RETURN(auto model, LanguageModel::create(module, {}));
    std::vector<float> logits(5);
    LLMC_RETURN_IF_ERROR(model->prefill(
        std::vector<int32_t>(static_cast<size_t>(count), 3), logits.data()));
    EXPECT_EQ(logits, expectedLogits({}, 3 * count));
    return okStatus();
  }

  const Bytes shortCode =
      readBytes(std::string(LLMC_KERNEL_FOLDER) + "/sum.spv");
  Bytes longCode;
  CountingFile file;
  runtime::ModuleOptions options;
  std::atomic<int> numRuns = 0; // of the long kernel
  std::unique_ptr<Gate> longHasRun;
};

const char *const kLeft = "passed 1 cases, 1 are left for longer prompts";

TEST_F(LaterTest, runBeforeTheFirstStepThatNeedsThem) {
  auto module = loadAs(kLeft);
  EXPECT_EQ(prompt(module, 3).message(), "");
  EXPECT_EQ(numRuns, 0);
  EXPECT_EQ(prompt(module, 20).message(), "");
  EXPECT_EQ(numRuns, 2 + 1); // the last is the prompt's
  EXPECT_EQ(prompt(module, 20).message(), "");
  EXPECT_EQ(numRuns, 4);
  module = loadAs("passed before on this driver");
  EXPECT_EQ(prompt(module, 20).message(), "");
  EXPECT_EQ(numRuns, 5);
}

TEST_F(LaterTest, areLeftFromStartToStart) {
  loadAs(kLeft);
  auto module =
      loadAs("passed before on this driver, 1 are left for longer prompts");
  EXPECT_EQ(prompt(module, 20).message(), "");
  EXPECT_EQ(numRuns, 2 + 1);
  loadAs("passed before on this driver");
}

TEST_F(LaterTest, aWrongKernelIsTheErrorOfTheStepAndTheNextLoadTakesAnother) {
  setLongKernel(1.01f);
  auto module = loadAs(kLeft);
  EXPECT_EQ(prompt(module, 3).message(), "");
  for (int again = 0; again < 2; ++again) {
    const Status status = prompt(module, 20);
    EXPECT_EQ(status.code(), StatusCode::SelfTestFailed);
    EXPECT_THAT(
        status.message(),
        HasSubstr(": variant special failed its self-test: selftest ("));
    EXPECT_THAT(status.message(), HasSubstr("load the file again"));
  }
  EXPECT_EQ(numRuns, 1); // wrong at once, and then it is known
  EXPECT_EQ(prompt(module, 3).message(), "");
  auto other = load();
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ((*other)->variant().target().name(), "any");
  EXPECT_EQ(prompt(*other, 20).message(), "");
}

/// Sessions that come at the same time wait for the same test.
TEST_F(LaterTest, runOnceForAllThreads) {
  const auto promptInEightThreads = [&](StatusCode expected) {
    auto module = loadAs(kLeft);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread)
      threads.emplace_back(
          [&] { EXPECT_EQ(prompt(module, 20).code(), expected); });
    for (std::thread &thread : threads)
      thread.join();
  };
  promptInEightThreads(StatusCode::Ok);
  EXPECT_EQ(numRuns, 2 + 8);
  std::filesystem::remove_all(file.cacheFolder());
  setLongKernel(1.01f);
  promptInEightThreads(StatusCode::SelfTestFailed);
  EXPECT_EQ(numRuns, 1);
}

/// That says nothing about the kernels.
TEST_F(LaterTest, aLostDeviceIsNoVerdict) {
  {
    auto module = loadAs(kLeft);
    auto model = LanguageModel::create(module, {});
    ASSERT_TRUE(model.ok()) << model.status().message();
    FakeVulkan::setFault({"vkQueueSubmit", 0, VK_ERROR_DEVICE_LOST, true});
    EXPECT_EQ((*model)->prefill(std::vector<int32_t>(20, 3), nullptr).code(),
              StatusCode::DeviceLost);
    FakeVulkan::setFault({});
  }
  auto module =
      loadAs("passed before on this driver, 1 are left for longer prompts");
  EXPECT_EQ(prompt(module, 20).message(), "");
}

/// A verdict that comes late leaves those in place that came since the load.
TEST_F(LaterTest, verdictsOfOthersAreKept) {
  auto module = loadAs(kLeft);
  options.preference.targetName = "any";
  loadAs("passed 2 cases");
  EXPECT_EQ(prompt(module, 20).message(), "");
  loadAs("passed before on this driver");
  options.preference.targetName = "special";
  loadAs("passed before on this driver");
}

/// The test has buffers of its own; where there is no room for them the step
/// says why, and may come again.
TEST_F(LaterTest, sayThatThereIsNoMemoryForThem) {
  auto module = loadAs(kLeft);
  auto model = LanguageModel::create(module, {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::vector<int32_t> tokens(20, 3);
  std::vector<float> logits(5);
  FakeVulkan::setFault({"vkAllocateMemory", 0});
  const Status status = (*model)->prefill(tokens, logits.data());
  EXPECT_EQ(status.code(), StatusCode::OutOfDeviceMemory);
  EXPECT_THAT(status.message(),
              HasSubstr("kernels of longer prompts can't be tested"));
  FakeVulkan::setFault({});
  EXPECT_EQ((*model)->prefill(tokens, logits.data()).message(), "");
}

/// Where no verdict is kept, or none is to be, or the caller's thread does
/// everything, the load tests all.
TEST_F(LaterTest, areNotLeftWithoutAFolder) {
  options.pipelineCacheFolder.clear();
  loadAs("passed 2 cases");
  setLongKernel(1.01f);
  auto module = load();
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ((*module)->variant().target().name(), "any");
}

TEST_F(LaterTest, areNotLeftWhenTestsAreAskedFor) {
  options.selfTest = SelfTestMode::Always;
  loadAs("passed 2 cases");
}

TEST_F(LaterTest, areNotLeftByOneThread) {
  options.numThreads = 1;
  loadAs("passed 2 cases");
}

/// The first case in the file waits for its kernel, not the second for the
/// first.
TEST_F(LaterTest, runFirstWhereTheirKernelsAreThereFirst) {
  options.selfTest = SelfTestMode::Always;
  holdShortKernel();
  loadAs("passed 2 cases");
  EXPECT_FALSE(longHasRun->hasHeldTooLong);
}

TEST_F(LaterTest, doNotChangeWhichCaseIsToldWhenTheyRunFirst) {
  options.selfTest = SelfTestMode::Always;
  options.fallsBack = false;
  holdShortKernel();
  const auto problemOf = [&](float longFactor) {
    setLongKernel(longFactor);
    const auto module = load();
    EXPECT_EQ(module.status().code(), StatusCode::SelfTestFailed);
    EXPECT_FALSE(longHasRun->hasHeldTooLong);
    return module.status().message();
  };
  EXPECT_THAT(problemOf(2), HasSubstr("sum to 60.000000, expected is 30"));
  FakeVulkan::addKernel(shortCode, [](const auto &bindings, const auto &) {
    std::memset(bindings[2], 0, 2 * sizeof(float));
  });
  for (const float longFactor : {1.0f, 2.0f})
    EXPECT_THAT(problemOf(longFactor),
                HasSubstr("sum to 0.000000, expected is 30"));
}

TEST_F(LaterTest, doNotWaitForAKernelThatCantBeBuilt) {
  options.selfTest = SelfTestMode::Always;
  FakeVulkan::setFault(
      {"vkCreateComputePipelines", 0, VK_ERROR_OUT_OF_DEVICE_MEMORY, true});
  const auto module = load();
  FakeVulkan::setFault({});
  EXPECT_EQ(module.status().code(), StatusCode::OutOfDeviceMemory);
  EXPECT_THAT(module.status().message(),
              HasSubstr("variant special: creating the pipeline of kernel"));
}

TEST_F(LaterTest, injectedFaultsAreNotRemembered) {
  options.fault = {runtime::InjectedFault::Kind::Unstable, "special", ""};
  auto other = load(); // already the first case is unstable
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ((*other)->variant().target().name(), "any");
  options.fault = {};
  loadAs(kLeft);
}

//===----------------------------------------------------------------------===//
// What is first
//===----------------------------------------------------------------------===//

void addEntry(format::Variant &program, const char *function, uint32_t rows,
              const std::vector<uint32_t> &kernels) {
  format::Entry &entry = *program.add_entries();
  entry.set_function(function);
  entry.set_rows(rows);
  for (const uint32_t kernel : kernels) {
    entry.add_commands()->mutable_dispatch()->set_kernel(kernel);
    entry.add_commands()->mutable_barrier();
  }
}

/// Kernels with so much code, and a case for each of `tests`.
format::Variant makeVariant(const std::vector<uint64_t> &sizes,
                            const std::vector<std::vector<uint32_t>> &tests) {
  format::Variant variant;
  for (const uint64_t size : sizes)
    variant.add_kernels()->set_code_size(size);
  for (const std::vector<uint32_t> &kernels : tests) {
    format::SelfTest &test = *variant.mutable_self_test();
    test.add_cases()->set_entry(
        static_cast<uint32_t>(test.program().entries_size()));
    addEntry(*test.mutable_program(), "selftest", 9, kernels);
  }
  return variant;
}

TEST(TestPlan, stepsOfFewRowsAreFirst) {
  format::Variant variant =
      makeVariant({1, 1, 1, 1, 1}, {{3}, {0}, {1, 0}, {2}, {4}});
  addEntry(variant, "forward", 1, {0});
  addEntry(variant, "forward", 32, {1});
  addEntry(variant, "forward", 33, {3, 0});
  // A function whose smallest step is larger.
  addEntry(variant, "embed", 64, {2});
  addEntry(variant, "embed", 128, {4});
  const TestPlan plan = runtime::planTests(variant);
  EXPECT_THAT(plan.firstCases, ElementsAre(1, 2, 3));
  EXPECT_THAT(plan.laterCases, ElementsAre(0, 4));
  EXPECT_THAT(plan.isFirst, ElementsAre(true, true, true, false, false));
}

/// Kernel 1 is tested together with a later one alone.
TEST(TestPlan, aFirstKernelIsTestedFirstWithWhatItTakes) {
  format::Variant variant = makeVariant({1, 1, 1}, {{0}, {0, 2}, {1, 2}});
  addEntry(variant, "forward", 1, {0, 1});
  addEntry(variant, "forward", 64, {2});
  const TestPlan plan = runtime::planTests(variant);
  EXPECT_THAT(plan.firstCases, ElementsAre(0, 2));
  EXPECT_THAT(plan.laterCases, ElementsAre(1));
}

TEST(TestPlan, firstAndLargeKernelsAreBuiltFirst) {
  format::Variant variant = makeVariant({10, 30, 20, 40}, {{0}});
  addEntry(variant, "forward", 1, {0, 2});
  addEntry(variant, "forward", 64, {1, 3});
  EXPECT_THAT(runtime::buildOrder(variant, runtime::planTests(variant)),
              ElementsAre(2, 0, 3, 1));
}

} // namespace
} // namespace llmc::test
