// SPDX-License-Identifier: Apache-2.0
//
// Every call to the device fails once in turn: each time a clean error, nothing
// left behind, and the next attempt works.

#include "test/e2e/runtime/FaultyVulkan.h"

#include "runtime/session/LanguageModel.h"
#include "test/e2e/runtime/CountingModel.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace llmc::test {
namespace {

using runtime::LanguageModel;
using runtime::Module;

/// The counting model in a file while the object lives.
class File {
public:
  File()
      : name(writeTemporary("faults.llmc", makeCountingModel().makeBytes())) {}
  ~File() { std::remove(name.c_str()); }
  std::string name;
};

struct Attempt {
  Status status;
  std::shared_ptr<Module> module;
  std::unique_ptr<LanguageModel> model;
};

/// Load, session, a prefill of three steps, two tokens.
Attempt attempt(runtime::Engine &engine, const std::string &path,
                std::chrono::milliseconds timeout = {}) {
  Attempt result;
  runtime::ModuleOptions options;
  options.numThreads = 1;         // so that the calls come in the same order
  options.importsWeights = false; // else weights are copied after a failure
  auto module = Module::load(engine, path, options);
  result.status = module.status();
  if (!module.ok())
    return result;
  result.module = *module;
  runtime::SessionOptions sessionOptions;
  sessionOptions.stepTimeout = timeout;
  auto model = LanguageModel::create(*module, sessionOptions);
  result.status = model.status();
  if (!model.ok())
    return result;
  result.model = std::move(*model);
  std::vector<float> logits(5);
  result.status =
      result.model->prefill(std::vector<int32_t>(21, 1), logits.data());
  for (int i = 0; i < 2 && result.status.ok(); ++i)
    result.status = result.model->decode(1, logits.data());
  if (result.status.ok()) {
    EXPECT_EQ(logits, expectedLogits({}, 23));
  }
  return result;
}

/// Runs attempts, each with the next call failing, until one has no fault.
int failEveryCallOnce(VkResult result, StatusCode expected) {
  const File file;
  for (int call = 0; call < 1000; ++call) {
    FaultyVulkan vulkan({/*function=*/"", call, result, false});
    {
      const Attempt failed = attempt(*vulkan.engine, file.name);
      if (!vulkan.hasFailed()) {
        EXPECT_TRUE(failed.status.ok()) << failed.status.message();
        return call;
      }
      // An in-memory pipeline cache is never read, so that each failure counts.
      EXPECT_EQ(failed.status.code(), expected)
          << "call " << call << ": " << failed.status.message();
      EXPECT_FALSE(failed.status.message().empty());
    }
    EXPECT_EQ(vulkan.numLiveObjects(), 0) << "after call " << call;
    // The next attempt on the same engine works.
    const Attempt again = attempt(*vulkan.engine, file.name);
    EXPECT_TRUE(again.status.ok()) << again.status.message();
  }
  return -1;
}

TEST(Faults, memoryRunsOutAtAnyCall) {
  LLMC_NEED_DEVICE();
  EXPECT_GT(failEveryCallOnce(VK_ERROR_OUT_OF_DEVICE_MEMORY,
                              StatusCode::OutOfDeviceMemory),
            40);
}

TEST(Faults, theDeviceIsLostAtAnyCall) {
  LLMC_NEED_DEVICE();
  EXPECT_GT(failEveryCallOnce(VK_ERROR_DEVICE_LOST, StatusCode::DeviceLost),
            40);
}

TEST(Faults, namesTheKernelThatTheDriverRefuses_B40) {
  LLMC_NEED_DEVICE();
  const File file;
  const char *kernels[] = {"append", "sum", "scale"};
  for (int kernel = 0; kernel < 3; ++kernel) {
    FaultyVulkan vulkan(
        {"vkCreateComputePipelines", kernel, VK_ERROR_UNKNOWN, false});
    const Attempt failed = attempt(*vulkan.engine, file.name);
    EXPECT_EQ(failed.status.message(),
              std::string("variant any: creating the pipeline of kernel ") +
                  kernels[kernel] + " failed with VK_ERROR_UNKNOWN");
  }
}

TEST(Faults, aLostDeviceStaysLostAndAnotherLoadWorks_B37) {
  LLMC_NEED_DEVICE();
  const File file;
  for (const int step : {1, 3}) {
    FaultyVulkan vulkan({"vkQueueSubmit", step, VK_ERROR_DEVICE_LOST, false});
    const Attempt failed = attempt(*vulkan.engine, file.name);
    ASSERT_EQ(failed.status.code(), StatusCode::DeviceLost);
    EXPECT_EQ(failed.model->decode(1, nullptr).code(), StatusCode::DeviceLost);
    EXPECT_FALSE(LanguageModel::create(failed.module, {}).ok());
    const Attempt again = attempt(*vulkan.engine, file.name);
    EXPECT_TRUE(again.status.ok()) << again.status.message();
  }
}

/// The counting model whose steps of 16 rows are two parts, cut at a barrier.
ModuleFile makeModelOfParts() {
  ModuleFile file = makeCountingModel();
  format::Variant &variant = *file.manifest.mutable_variants(0);
  variant.mutable_target()->set_max_submit_milliseconds(60000);
  for (format::Entry &entry : *variant.mutable_entries()) {
    entry.add_commands()->mutable_barrier();
    for (int i = entry.commands_size() - 1; i > 0; --i)
      entry.mutable_commands()->SwapElements(i, i - 1);
  }
  return file;
}

// Parts run one by one until it is known how long they take, then together.
TEST(Faults, longStepsAreSubmittedInParts_B37) {
  LLMC_NEED_DEVICE();
  const std::string path =
      writeTemporary("parts.llmc", makeModelOfParts().makeBytes());
  FaultyVulkan vulkan({"vkQueueSubmit", /*call=*/1 << 30});
  const Attempt attempted = attempt(*vulkan.engine, path);
  ASSERT_TRUE(attempted.status.ok()) << attempted.status.message();
  auto model = LanguageModel::create(attempted.module, {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::vector<int32_t> tokens(16, 1);
  for (const int submissions : {2, 1, 1}) {
    const int before = vulkan.numCalls();
    const Status status = (*model)->prefill(tokens, nullptr);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(vulkan.numCalls() - before, submissions);
  }
  std::vector<float> logits(5);
  ASSERT_TRUE((*model)->decode(1, logits.data()).ok());
  EXPECT_EQ(logits, expectedLogits({}, 49));
  std::remove(path.c_str());
}

// The first half of a step has written what the other half did not read.
TEST(Faults, aFailureBetweenPartsEndsTheSession) {
  LLMC_NEED_DEVICE();
  const std::string path =
      writeTemporary("parts.llmc", makeModelOfParts().makeBytes());
  int before = 0; // of weights and zeros
  {
    FaultyVulkan vulkan({"vkQueueSubmit", /*call=*/1 << 30});
    auto module = Module::load(*vulkan.engine, path, {});
    ASSERT_TRUE(module.ok()) << module.status().message();
    ASSERT_TRUE(LanguageModel::create(*module, {}).ok());
    before = vulkan.numCalls();
  }
  FaultyVulkan vulkan(
      {"vkQueueSubmit", before + 1, VK_ERROR_OUT_OF_HOST_MEMORY, false});
  const Attempt failed = attempt(*vulkan.engine, path);
  ASSERT_TRUE(vulkan.hasFailed());
  ASSERT_FALSE(failed.status.ok());
  ASSERT_TRUE(failed.model);
  EXPECT_EQ(failed.model->decode(1, nullptr).code(), failed.status.code());
  std::remove(path.c_str());
}

TEST(Faults, aStepThatTakesTooLongEndsTheSession) {
  LLMC_NEED_DEVICE();
  const File file;
  FaultyVulkan vulkan({"vkWaitForFences", 2, VK_TIMEOUT, false});
  {
    const Attempt failed =
        attempt(*vulkan.engine, file.name, std::chrono::milliseconds(1234));
    ASSERT_EQ(failed.status.code(), StatusCode::Timeout);
    EXPECT_NE(failed.status.message().find("within 1234 ms"), std::string::npos)
        << failed.status.message();
    EXPECT_EQ(failed.model->decode(1, nullptr).code(), StatusCode::Timeout);
    // Others on the same device go on.
    auto other = LanguageModel::create(failed.module, {});
    ASSERT_TRUE(other.ok());
    EXPECT_TRUE((*other)->decode(1, nullptr).ok());
  }
  EXPECT_EQ(vulkan.numLiveObjects(), 0);
}

// A device that is left alone may still be at work when the process ends, and
// the driver's own destructors then pull its memory away. So these tests run in
// a child process that ends without destructors.
[[noreturn]] void endWithoutDestructors(const std::string &file) {
  std::remove(file.c_str());
  std::fflush(nullptr);
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

void leaveAHungStepAlone(const std::string &file) {
  FaultyVulkan vulkan({"vkWaitForFences", 2, VK_TIMEOUT, true});
  {
    Attempt failed = attempt(*vulkan.engine, file);
    EXPECT_EQ(failed.status.code(), StatusCode::Timeout);
    failed.model.reset();
    EXPECT_EQ(LanguageModel::create(failed.module, {}).status().code(),
              StatusCode::DeviceLost);
  }
  EXPECT_GT(vulkan.numLiveObjects(), 10);
  endWithoutDestructors(file);
}

void leaveAHungUploadAlone(const std::string &file) {
  FaultyVulkan vulkan({"vkWaitForFences", 0, VK_TIMEOUT, true});
  EXPECT_EQ(attempt(*vulkan.engine, file).status.code(), StatusCode::Timeout);
  EXPECT_GT(vulkan.numLiveObjects(), 5);
  endWithoutDestructors(file);
}

TEST(Faults, whatAHungDeviceMayUseIsLeftAlone) {
  LLMC_NEED_DEVICE();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const File file;
  EXPECT_EXIT(leaveAHungStepAlone(file.name), testing::ExitedWithCode(0), "");
}

TEST(Faults, aHungUploadOrFillIsLeftAloneToo) {
  LLMC_NEED_DEVICE();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const File file;
  EXPECT_EXIT(leaveAHungUploadAlone(file.name), testing::ExitedWithCode(0), "");
}

TEST(Faults, nothingGrowsOverManyRuns_B43) {
  LLMC_NEED_DEVICE();
  const File file;
  FaultyVulkan vulkan({"none", 0, VK_SUCCESS, false});
  const Attempt first = attempt(*vulkan.engine, file.name);
  ASSERT_TRUE(first.status.ok());
  const int live = vulkan.numLiveObjects();
  for (int round = 0; round < 500; ++round) {
    ASSERT_TRUE(first.model->reset().ok());
    const std::vector<int32_t> tokens(static_cast<size_t>(1 + round % 64), 1);
    ASSERT_TRUE(first.model->prefill(tokens, nullptr).ok());
  }
  EXPECT_EQ(vulkan.numLiveObjects(), live);
  for (int round = 0; round < 20; ++round)
    ASSERT_TRUE(attempt(*vulkan.engine, file.name).status.ok());
  EXPECT_EQ(vulkan.numLiveObjects(), live);
}

} // namespace
} // namespace llmc::test
