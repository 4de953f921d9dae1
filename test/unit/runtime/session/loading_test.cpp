// SPDX-License-Identifier: Apache-2.0
//
// A file is loaded by several threads: all weights arrive, pipelines are built
// while the caller goes on, and what fails meanwhile is an error of who needs
// it.

#include "test/support/fake_vulkan/FakeVulkan.h"
#include "test/unit/runtime/session/FakeCounting.h"
#include "test/unit/runtime/session/Gate.h"

#include "runtime/format/MemoryPlan.h"
#include "runtime/session/LanguageModel.h"
#include "runtime/session/StagedCopy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

namespace llmc::test {
namespace {

using runtime::LanguageModel;
using runtime::Module;
using runtime::ModuleOptions;
using Logits = std::vector<float>;

constexpr size_t kNumSections = 60;

/// Of section `i`: of many sizes, the longest of several pieces.
Bytes sectionBytes(size_t i) {
  Bytes bytes(i == 7 ? size_t{5} << 20 : 1 + i * i * 37);
  uint32_t state = static_cast<uint32_t>(i);
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

/// The counting model with a second buffer of weights.
ModuleFile makeLargeFile() {
  ModuleFile file = makeCountingModel();
  format::Variant &variant = *file.manifest.mutable_variants(0);
  const auto buffer = static_cast<uint32_t>(variant.buffers_size());
  uint64_t end = 0;
  for (size_t i = 0; i < kNumSections; ++i) {
    Bytes bytes = sectionBytes(i);
    format::WeightPlacement &placement = *variant.add_weights();
    placement.set_buffer(buffer);
    placement.set_offset(end);
    end += (bytes.size() + 255) / 256 * 256;
    placement.set_section(
        file.addSection(format::Section::WEIGHT, "w", std::move(bytes)));
  }
  variant.add_buffers()->set_kind(format::Buffer::WEIGHTS);
  variant.mutable_buffers(static_cast<int>(buffer))->set_size(end);
  return file;
}

using Meanwhile = std::function<Status(const format::Reader &)>;

StatusOr<std::shared_ptr<Module>> loadFile(const CountingFile &file,
                                           unsigned numThreads,
                                           const Meanwhile &meanwhile = {}) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Engine> engine,
                        runtime::Engine::create(LLMC_FAKE_VULKAN));
  ModuleOptions options;
  options.pipelineCacheFolder = file.cacheFolder();
  options.numThreads = numThreads;
  options.meanwhile = meanwhile;
  return Module::load(*engine, file.path(), options);
}

/// Whether the device has the bytes of every section.
void expectWeights(const Module &module) {
  const format::Variant &variant = module.variant();
  runtime::StagedCopy copier(module.device());
  for (size_t i = 0; i < kNumSections; ++i) {
    const int number = variant.weights_size() - int(kNumSections) + int(i);
    const format::WeightPlacement &placement = variant.weights(number);
    const Bytes expected = sectionBytes(i);
    const vulkan::Buffer &buffer = module.weights().buffer(placement.buffer());
    auto found = copier.fromDevice(buffer, placement.offset(), expected.size());
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found->data))
        << "section " << i;
  }
}

class Loading : public testing::Test {
protected:
  Loading() {
    addCountingKernels();
    FakeVulkan::setFault({});
  }
  ~Loading() override {
    FakeVulkan::setFault({});
    FakeVulkan::setOffer({});
    EXPECT_EQ(FakeVulkan::numMistakes(), 0);
  }
};

TEST_F(Loading, severalThreadsCopyAllWeights) {
  const CountingFile file(makeLargeFile());
  for (const bool reachesAll : {true, false})
    for (const unsigned numThreads : {1u, 3u, 16u}) {
      FakeOffer offer;
      offer.hostReachesAll = reachesAll;
      FakeVulkan::setOffer(offer);
      const uint64_t before = FakeVulkan::allocatedBytes();
      FakeVulkan::forgetPeak();
      auto module = loadFile(file, numThreads);
      ASSERT_TRUE(module.ok()) << module.status().message();
      const format::MemoryPlan plan =
          format::planMemory((*module)->variant(), 64);
      EXPECT_LE(FakeVulkan::peakBytes() - before,
                plan.weights + (reachesAll ? 0 : plan.staging));
      EXPECT_EQ(FakeVulkan::allocatedBytes() - before, plan.weights);
      expectWeights(**module);
    }
}

TEST_F(Loading, aDamagedWeightIsFoundByAnyThread) {
  ModuleFile contents = makeLargeFile();
  Bytes bytes = contents.makeBytes();
  const format::Section &last =
      contents.manifest.sections(contents.manifest.sections_size() - 1);
  bytes[last.offset() + last.size() - 1] ^= 1;
  const std::string path = writeTemporary("damaged-weight.llmc", bytes);
  for (const bool imports : {false, true}) {
    FakeOffer offer;
    offer.importsHostMemory = imports;
    FakeVulkan::setOffer(offer);
    const int live = FakeVulkan::numLiveObjects();
    auto engine = runtime::Engine::create(LLMC_FAKE_VULKAN);
    ASSERT_TRUE(engine.ok());
    auto module = Module::load(**engine, path, {});
    EXPECT_EQ(module.status().code(), StatusCode::InvalidFile);
    engine = Status(StatusCode::Internal, "");
    EXPECT_EQ(FakeVulkan::numLiveObjects(), live);
  }
  std::filesystem::remove(path);
}

TEST_F(Loading, goesOnWhilePipelinesAreBuilt) {
  const CountingFile file;
  Gate gate;
  FakeOffer offer;
  offer.onPipeline = [&](const Bytes &) { gate.pass(); };
  FakeVulkan::setOffer(offer);
  auto module = loadFile(file, 2);
  ASSERT_TRUE(module.ok()) << module.status().message();
  auto model = LanguageModel::create(*module, {});
  ASSERT_TRUE(model.ok());
  gate.open();
  Logits logits(5);
  ASSERT_TRUE((*model)->prefill({1, 2, 3}, logits.data()).ok());
  EXPECT_EQ(logits, expectedLogits({}, 6));
  EXPECT_FALSE(gate.hasHeldTooLong);
  // By "append", "sum", "scale", and the parts of loading.
  std::set<std::string> names;
  for (const runtime::TimeSpan &span : (*module)->loadTimes()) {
    EXPECT_LE(span.begin, span.end);
    names.insert(span.name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"open", "device", "pipeline cache",
                                          "layouts", "weights", "append", "sum",
                                          "scale"}));
}

TEST_F(Loading, copiesWeightsWhileLayoutsAreMade) {
  const CountingFile file(makeLargeFile());
  const uint64_t before = FakeVulkan::allocatedBytes();
  bool isWaitedForInVain = false;
  FakeOffer offer;
  offer.onLayout = [&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(9);
    while (FakeVulkan::allocatedBytes() == before && !isWaitedForInVain) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      isWaitedForInVain = std::chrono::steady_clock::now() > end;
    }
  };
  FakeVulkan::setOffer(offer);
  const auto module = loadFile(file, 2);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_FALSE(isWaitedForInVain);
  expectWeights(**module);
}

TEST_F(Loading, hasOtherThingsMadeMeanwhile) {
  const CountingFile file;
  Gate gate;
  FakeOffer offer;
  std::atomic<int> numBegun{0};
  offer.onPipeline = [&](const Bytes &) {
    if (numBegun++ == 0)
      gate.open();
  };
  FakeVulkan::setOffer(offer);
  std::string variant;
  const auto module = loadFile(file, 2, [&](const format::Reader &reader) {
    gate.pass();
    variant = reader.manifest().variants(0).target().name();
    return okStatus();
  });
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_FALSE(gate.hasHeldTooLong);
  EXPECT_EQ(variant, "any");
}

TEST_F(Loading, hasOtherThingsMadeByTheOnlyThread) {
  const CountingFile file;
  std::thread::id maker;
  const auto module = loadFile(file, 1, [&](const format::Reader &) {
    maker = std::this_thread::get_id();
    return okStatus();
  });
  EXPECT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(maker, std::this_thread::get_id());
}

TEST_F(Loading, failsWithWhatIsMadeMeanwhile) {
  const CountingFile file;
  const int live = FakeVulkan::numLiveObjects();
  for (const unsigned numThreads : {1u, 2u}) {
    const auto module = loadFile(file, numThreads, [](const auto &) {
      return Status(StatusCode::InvalidFile, "no such word");
    });
    EXPECT_EQ(module.status().code(), StatusCode::InvalidFile);
    EXPECT_EQ(module.status().message(), "no such word");
    EXPECT_EQ(FakeVulkan::numLiveObjects(), live);
  }
}

TEST_F(Loading, whoNeedsAKernelBuildsIt) {
  const CountingFile file;
  Gate gate;
  FakeOffer offer;
  offer.onPipeline = [&, self = std::this_thread::get_id()](const Bytes &) {
    if (std::this_thread::get_id() != self)
      gate.pass();
  };
  FakeVulkan::setOffer(offer);
  // Its two threads are held at kernels of `forward`.
  auto module = loadFile(file, 2);
  ASSERT_TRUE(module.ok()) << module.status().message();
  auto session = runtime::Session::create(*module, {});
  ASSERT_TRUE(session.ok());
  auto logits = (*session)->findEntry("logits", 1);
  ASSERT_TRUE(logits.ok());
  (*session)->writeStep(*logits, {});
  EXPECT_TRUE((*session)->submit({*logits}).ok());
  EXPECT_FALSE(gate.hasHeldTooLong);
  gate.open();
}

TEST_F(Loading, aKernelThatCantBeBuiltFailsTheFirstStep) {
  const CountingFile file;
  const int live = FakeVulkan::numLiveObjects();
  {
    FakeVulkan::setFault(
        {"vkCreateComputePipelines", 0, VK_ERROR_OUT_OF_DEVICE_MEMORY, true});
    auto module = loadFile(file, 4);
    ASSERT_TRUE(module.ok()) << module.status().message();
    auto model = LanguageModel::create(*module, {});
    ASSERT_TRUE(model.ok());
    const Status status = (*model)->prefill({1, 2, 3}, nullptr);
    EXPECT_EQ(status.code(), StatusCode::OutOfDeviceMemory);
    EXPECT_NE(status.message().find("variant any: creating the pipeline of "
                                    "kernel append"),
              std::string::npos)
        << status.message();
    EXPECT_EQ((*model)->position(), 0u);
    FakeVulkan::setFault({});
    EXPECT_FALSE((*model)->prefill({1}, nullptr).ok());
    EXPECT_TRUE(loadFile(file, 4).ok());
  }
  EXPECT_EQ(FakeVulkan::numLiveObjects(), live);
}

TEST_F(Loading, mayEndWhilePipelinesAreBuilt) {
  const CountingFile file;
  const int live = FakeVulkan::numLiveObjects();
  Gate gate;
  FakeOffer offer;
  std::atomic<int> numBegun{0};
  offer.onPipeline = [&](const Bytes &) {
    ++numBegun;
    gate.pass();
  };
  FakeVulkan::setOffer(offer);
  std::thread opener;
  {
    auto module = loadFile(file, 2);
    ASSERT_TRUE(module.ok()) << module.status().message();
    while (numBegun == 0)
      std::this_thread::yield();
    opener = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gate.open();
    });
  }
  opener.join();
  EXPECT_EQ(FakeVulkan::numLiveObjects(), live);
  EXPECT_FALSE(gate.hasHeldTooLong);
  // What was begun is kept for the next start.
  EXPECT_FALSE(std::filesystem::is_empty(file.cacheFolder()));
}

TEST_F(Loading, sessionsInThreadsWaitForTheSameKernels_B44) {
  const CountingFile file;
  for (int round = 0; round < 20; ++round) {
    auto module = loadFile(file, 3);
    ASSERT_TRUE(module.ok());
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&] {
        auto model = LanguageModel::create(*module, {});
        ASSERT_TRUE(model.ok());
        Logits logits(5);
        ASSERT_TRUE((*model)->prefill({1, 2, 3}, logits.data()).ok());
        EXPECT_EQ(logits, expectedLogits({}, 6));
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

} // namespace
} // namespace llmc::test
