// SPDX-License-Identifier: Apache-2.0
//
// Each call to Vulkan fails once in turn, from the creation of the instance to
// a restored session: a clean error, nothing left behind, and a session that
// was there before goes on. What hangs, is lost or was damaged on disk.

#include "test/support/fake_vulkan/FakeVulkan.h"
#include "test/unit/runtime/session/FakeCounting.h"

#include "runtime/format/MemoryPlan.h"
#include "runtime/session/LanguageModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define LLMC_LEAKS_ON_PURPOSE __lsan::ScopedDisabler leaksOnPurpose
#endif
#endif
#ifndef LLMC_LEAKS_ON_PURPOSE
#define LLMC_LEAKS_ON_PURPOSE
#endif

namespace llmc::test {
namespace {

using runtime::Engine;
using runtime::LanguageModel;
using runtime::Module;
using Logits = std::vector<float>;

StatusOr<std::shared_ptr<Module>> loadOnFake(const CountingFile &file) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<Engine> engine,
                        Engine::create(LLMC_FAKE_VULKAN));
  runtime::ModuleOptions options;
  options.pipelineCacheFolder = file.cacheFolder();
  options.numThreads = 1; // so that the calls come in the same order
  return Module::load(*engine, file.path(), options);
}

/// Everything that a session does, once.
Status liveOnce(const CountingFile &file) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<Module> module, loadOnFake(file));
  runtime::SessionOptions options;
  options.takesTimes = true;
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<LanguageModel> model,
                        LanguageModel::create(module, options));
  Logits logits(5);
  LLMC_RETURN_IF_ERROR(
      model->prefill(std::vector<int32_t>(21, 1), logits.data()));
  LLMC_RETURN_IF_ERROR(model->save(file.sessionPath()));
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<LanguageModel> fork, model->fork());
  LLMC_RETURN_IF_ERROR(fork->decode(2, logits.data()));
  EXPECT_EQ(logits, expectedLogits({}, 23));
  LLMC_RETURN_IF_ERROR(model->decode(3, logits.data()));
  LLMC_RETURN_IF_ERROR(model->restore(file.sessionPath()));
  LLMC_RETURN_IF_ERROR(model->decode(4, logits.data()));
  EXPECT_EQ(logits, expectedLogits({}, 25));
  return okStatus();
}

class FakeFaults : public testing::Test {
protected:
  FakeFaults() {
    addCountingKernels();
    FakeVulkan::setFault({});
    auto module = loadOnFake(file);
    EXPECT_TRUE(module.ok()) << module.status().message();
    bystander = std::move(*LanguageModel::create(*module, {}));
    live = FakeVulkan::numLiveObjects();
  }
  ~FakeFaults() override {
    FakeVulkan::setFault({});
    FakeVulkan::setOffer({});
    bystander.reset();
  }

  void expectBystanderGoesOn() {
    Logits logits(5);
    ASSERT_TRUE(bystander->reset().ok());
    ASSERT_TRUE(bystander->prefill({1, 2, 3}, logits.data()).ok());
    EXPECT_EQ(logits, expectedLogits({}, 6));
  }

  /// Fails call after call with `result` until one life has no fault; gives
  /// the number of calls of a life.
  int failEveryCall(VkResult result) {
    for (int call = 0; call < 2000; ++call) {
      std::filesystem::remove_all(file.cacheFolder());
      std::filesystem::create_directory(file.cacheFolder());
      FakeVulkan::setFault({"", call, result, false});
      const Status status = liveOnce(file);
      const char *const failed = FakeVulkan::failedFunction();
      FakeVulkan::setFault({});
      EXPECT_EQ(FakeVulkan::numLiveObjects(), live) << "call " << call;
      EXPECT_EQ(FakeVulkan::numMistakes(), 0) << "call " << call;
      expectBystanderGoesOn();
      if (!failed) {
        EXPECT_TRUE(status.ok()) << status.message();
        return call;
      }
      if (status.ok())
        forgiven.insert(failed);
      EXPECT_TRUE(status.ok() || !status.message().empty());
      if (result == VK_ERROR_DEVICE_LOST && !status.ok()) {
        EXPECT_EQ(status.code(), StatusCode::DeviceLost) << status.message();
      }
    }
    return -1;
  }

  CountingFile file;
  std::unique_ptr<LanguageModel> bystander;
  int live = 0;
  std::set<std::string> forgiven; // without which a life goes well
};

/// Lists nothing, and the pipeline cache is not written.
const std::set<std::string> kForgiven = {
    "vkEnumerateInstanceExtensionProperties",
    "vkEnumerateDeviceExtensionProperties", "vkGetPipelineCacheData"};

TEST_F(FakeFaults, anyCallMayFail_B37) {
  for (const VkResult result :
       {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY,
        VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN}) {
    forgiven.clear();
    EXPECT_GT(failEveryCall(result), 100);
    EXPECT_EQ(forgiven, kForgiven);
  }
}

TEST_F(FakeFaults, anyCallMayFailWithStaging_B37) {
  FakeOffer offer;
  offer.hostReachesAll = false;
  FakeVulkan::setOffer(offer);
  EXPECT_GT(failEveryCall(VK_ERROR_OUT_OF_DEVICE_MEMORY), 100);
  EXPECT_EQ(forgiven, kForgiven);
}

TEST_F(FakeFaults, anyCallMayFailWithNamesAndImports_B37) {
  FakeOffer offer;
  offer.namesObjects = offer.importsHostMemory = true;
  FakeVulkan::setOffer(offer);
  EXPECT_GT(failEveryCall(VK_ERROR_OUT_OF_DEVICE_MEMORY), 100);
  // Weights that can't be imported are copied.
  std::set<std::string> expected = kForgiven;
  expected.insert({"vkSetDebugUtilsObjectNameEXT", "vkCreateBuffer",
                   "vkGetMemoryHostPointerPropertiesEXT", "vkAllocateMemory",
                   "vkBindBufferMemory"});
  EXPECT_EQ(forgiven, expected);
}

TEST_F(FakeFaults, aStepThatHangsEndsItsSessionAlone_B37) {
  auto module = loadOnFake(file);
  ASSERT_TRUE(module.ok());
  auto model = LanguageModel::create(*module, {});
  auto other = LanguageModel::create(*module, {});
  ASSERT_TRUE(model.ok() && other.ok());
  FakeVulkan::setFault({"vkWaitForFences", 0, VK_TIMEOUT, false});
  EXPECT_EQ((*model)->decode(1, nullptr).code(), StatusCode::Timeout);
  EXPECT_EQ((*model)->decode(1, nullptr).code(), StatusCode::Timeout);
  EXPECT_TRUE((*other)->decode(1, nullptr).ok());
  expectBystanderGoesOn();
}

TEST_F(FakeFaults, aDeviceThatHangsForGoodIsLeftAlone_B37) {
  LLMC_LEAKS_ON_PURPOSE;
  {
    auto module = loadOnFake(file);
    ASSERT_TRUE(module.ok());
    auto model = LanguageModel::create(*module, {});
    ASSERT_TRUE(model.ok());
    FakeVulkan::setFault({"vkWaitForFences", 0, VK_TIMEOUT, true});
    EXPECT_EQ((*model)->decode(1, nullptr).code(), StatusCode::Timeout);
    model->reset();
    EXPECT_FALSE(LanguageModel::create(*module, {}).ok());
    FakeVulkan::setFault({});
  }
  EXPECT_GT(FakeVulkan::numLiveObjects(), live);
  EXPECT_EQ(FakeVulkan::numMistakes(), 0);
  expectBystanderGoesOn();
}

TEST_F(FakeFaults, aLostDeviceTakesItsModuleAlone_B37) {
  for (const int submission : {0, 4, 49}) {
    auto module = loadOnFake(file);
    ASSERT_TRUE(module.ok());
    auto model = LanguageModel::create(*module, {});
    ASSERT_TRUE(model.ok());
    FakeVulkan::setFault(
        {"vkQueueSubmit", submission, VK_ERROR_DEVICE_LOST, false});
    Status status;
    for (int step = 0; step <= submission; ++step) {
      ASSERT_TRUE(status.ok());
      status = (*model)->decode(1, nullptr);
    }
    EXPECT_EQ(status.code(), StatusCode::DeviceLost);
    EXPECT_EQ((*model)->decode(1, nullptr).code(), StatusCode::DeviceLost);
    expectBystanderGoesOn();
    EXPECT_TRUE(liveOnce(file).ok()); // the same file, loaded again
  }
}

TEST_F(FakeFaults, aDamagedPipelineCacheIsReplaced_B39) {
  ASSERT_TRUE(liveOnce(file).ok());
  std::string cache;
  for (const auto &entry :
       std::filesystem::directory_iterator(file.cacheFolder()))
    if (entry.path().extension() == ".pipelines")
      cache = entry.path().string();
  ASSERT_FALSE(cache.empty());
  const Bytes whole = readBytes(cache);
  std::vector<Bytes> damaged;
  for (size_t i = 0; i < whole.size(); ++i) { // each byte, and each length
    damaged.push_back(whole);
    damaged.back()[i] ^= 0x10;
    damaged.emplace_back(whole.begin(),
                         whole.begin() + static_cast<ptrdiff_t>(i));
  }
  damaged.emplace_back(size_t{1} << 20, uint8_t{0x6b});
  for (const Bytes &bytes : damaged) {
    std::ofstream(cache, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    auto module = loadOnFake(file);
    ASSERT_TRUE(module.ok());
    EXPECT_FALSE((*module)->pipelineCacheWasUsed());
    ASSERT_EQ(readBytes(cache), whole); // made anew
  }
  EXPECT_TRUE((*loadOnFake(file))->pipelineCacheWasUsed());
}

// What `llmc inspect --memory` tells is what is allocated.
TEST_F(FakeFaults, deviceMemoryIsWhatThePlanSays) {
  const uint64_t before = FakeVulkan::allocatedBytes();
  for (const bool reachesAll : {true, false}) {
    FakeOffer offer;
    offer.hostReachesAll = reachesAll;
    FakeVulkan::setOffer(offer);
    FakeVulkan::forgetPeak();
    auto module = loadOnFake(file);
    ASSERT_TRUE(module.ok());
    const format::MemoryPlan plan =
        format::planMemory((*module)->variant(), 64);
    EXPECT_EQ(FakeVulkan::allocatedBytes() - before, plan.weights);
    EXPECT_EQ(FakeVulkan::peakBytes() - before,
              plan.weights + (reachesAll ? 0 : plan.staging));
    auto model = LanguageModel::create(*module, {});
    ASSERT_TRUE(model.ok());
    EXPECT_EQ(FakeVulkan::allocatedBytes() - before, plan.total());
    auto fork = (*model)->fork();
    ASSERT_TRUE(fork.ok());
    EXPECT_EQ(FakeVulkan::allocatedBytes() - before,
              plan.total() + plan.ofSession());
  }
}

TEST_F(FakeFaults, weightsAreTheFilesOwnPages) {
  const uint64_t before = FakeVulkan::allocatedBytes();
  FakeOffer offer;
  offer.importsHostMemory = true;
  FakeVulkan::setOffer(offer);
  auto module = loadOnFake(file);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_TRUE((*module)->weights().areImported());
  EXPECT_EQ(FakeVulkan::allocatedBytes(), before);
  EXPECT_TRUE(liveOnce(file).ok());

  FakeVulkan::setFault({"vkGetMemoryHostPointerPropertiesEXT", 0,
                        VK_ERROR_INVALID_EXTERNAL_HANDLE, false});
  module = loadOnFake(file);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_FALSE((*module)->weights().areImported());
  EXPECT_GT(FakeVulkan::allocatedBytes(), before);
}

TEST_F(FakeFaults, importedWeightsAreChecked) {
  FakeOffer offer;
  offer.importsHostMemory = true;
  FakeVulkan::setOffer(offer);
  ModuleFile contents = makeCountingModel();
  Bytes bytes = contents.makeBytes();
  bytes[contents.manifest.sections(0).offset()] ^= 1;
  const std::string path = writeTemporary("damaged.llmc", bytes);
  auto engine = Engine::create(LLMC_FAKE_VULKAN);
  ASSERT_TRUE(engine.ok());
  EXPECT_EQ(Module::load(**engine, path, {}).status().code(),
            StatusCode::InvalidFile);
  std::filesystem::remove(path);
}

TEST_F(FakeFaults, toolsAreToldWhatObjectsAreCalled) {
  FakeVulkan::takeNames();
  ASSERT_TRUE(liveOnce(file).ok());
  EXPECT_TRUE(FakeVulkan::takeNames().empty());
  FakeOffer offer;
  offer.namesObjects = true;
  FakeVulkan::setOffer(offer);
  ASSERT_TRUE(liveOnce(file).ok());
  const std::vector<FakeName> names = FakeVulkan::takeNames();
  const auto count = [&](VkObjectType type, const std::string &name) {
    return std::count_if(names.begin(), names.end(), [&](const FakeName &one) {
      return one.type == type && one.name == name;
    });
  };
  EXPECT_EQ(count(VK_OBJECT_TYPE_PIPELINE, "append"), 1);
  EXPECT_EQ(count(VK_OBJECT_TYPE_BUFFER, "weight"), 1);
  EXPECT_EQ(count(VK_OBJECT_TYPE_BUFFER, "state"), 2); // the fork's
  EXPECT_EQ(count(VK_OBJECT_TYPE_COMMAND_BUFFER, "forward of 1 rows, part 0"),
            2);
}

TEST_F(FakeFaults, nothingGrowsOverManyRuns_B43) {
  for (int round = 0; round < 100; ++round)
    ASSERT_TRUE(liveOnce(file).ok());
  EXPECT_EQ(FakeVulkan::numLiveObjects(), live);
  const uint64_t allocated = FakeVulkan::allocatedBytes();
  FakeVulkan::forgetPeak();
  for (int round = 0; round < 500; ++round) {
    ASSERT_TRUE(bystander->reset().ok());
    const std::vector<int32_t> tokens(static_cast<size_t>(1 + round % 64), 1);
    ASSERT_TRUE(bystander->prefill(tokens, nullptr).ok());
  }
  EXPECT_EQ(FakeVulkan::numLiveObjects(), live);
  EXPECT_EQ(FakeVulkan::peakBytes(), allocated);
}

} // namespace
} // namespace llmc::test
