// SPDX-License-Identifier: Apache-2.0
//
// Sessions in threads: each gives the bits that it gives alone.

#include "test/support/fake_vulkan/FakeVulkan.h"
#include "test/unit/runtime/session/FakeCounting.h"

#include "runtime/session/LanguageModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace llmc::test {
namespace {

using runtime::LanguageModel;
using Logits = std::vector<float>;

class Threads : public testing::Test {
protected:
  Threads() {
    addCountingKernels();
    FakeVulkan::setFault({});
  }

  std::shared_ptr<runtime::Module> load(const CountingFile &file) {
    auto engine = runtime::Engine::create(LLMC_FAKE_VULKAN);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    runtime::ModuleOptions options;
    options.pipelineCacheFolder = file.cacheFolder();
    auto module = runtime::Module::load(**engine, file.path(), options);
    EXPECT_TRUE(module.ok()) << module.status().message();
    return *module;
  }

  /// Calls `body(0)` … `body(7)` at the same time.
  template <typename Body>
  static void inEightThreads(const Body &body) {
    std::vector<std::thread> threads;
    for (int32_t thread = 0; thread < 8; ++thread)
      threads.emplace_back([&body, thread] { body(thread); });
    for (std::thread &thread : threads)
      thread.join();
  }
};

TEST_F(Threads, twoModulesServeEightSessions_B44) {
  CountingModelOptions second;
  second.weight = {3, 1, 4, 1, 5};
  const CountingModelOptions options[2] = {{}, second};
  const CountingFile files[2] = {CountingFile(), CountingFile(second)};
  const std::shared_ptr<runtime::Module> modules[2] = {load(files[0]),
                                                       load(files[1])};
  inEightThreads([&](int32_t thread) {
    auto model = LanguageModel::create(modules[thread % 2], {});
    ASSERT_TRUE(model.ok()) << model.status().message();
    Logits logits(5);
    for (int32_t run = 0; run < 200; ++run) {
      ASSERT_TRUE((*model)->reset().ok());
      const std::vector<int32_t> tokens(static_cast<size_t>(1 + run % 40),
                                        thread % 5);
      ASSERT_TRUE((*model)->prefill(tokens, logits.data()).ok());
      ASSERT_EQ(logits, expectedLogits(options[thread % 2],
                                       (1 + run % 40) * (thread % 5)));
    }
  });
}

TEST_F(Threads, oneSessionServesOneThreadAtATime_B44) {
  const CountingFile file;
  const auto module = load(file);
  std::unique_ptr<LanguageModel> models[2];
  for (auto &model : models)
    model = std::move(*LanguageModel::create(module, {}));
  std::mutex mutex;
  std::vector<float> seen[2]; // after n tokens 1, logit 0 is n
  inEightThreads([&](int32_t thread) {
    Logits logits(5);
    LanguageModel &model = *models[thread % 2];
    for (int32_t done = 0; done < 10;) {
      const Status status = model.decode(1, logits.data());
      if (status.code() == StatusCode::Busy) {
        std::this_thread::yield();
        continue;
      }
      ASSERT_TRUE(status.ok()) << status.message();
      ++done;
      const std::lock_guard<std::mutex> lock(mutex);
      seen[thread % 2].push_back(logits[0]);
    }
  });
  for (std::vector<float> &counts : seen) {
    std::sort(counts.begin(), counts.end());
    ASSERT_EQ(counts.size(), 40u);
    for (size_t i = 0; i < counts.size(); ++i)
      EXPECT_EQ(counts[i], static_cast<float>(i + 1));
  }
}

TEST_F(Threads, cancelAndCloseComeFromOtherThreads_B44) {
  const CountingFile file;
  const auto module = load(file);
  auto model = std::move(*LanguageModel::create(module, {}));
  std::thread canceller([&] {
    for (int i = 0; i < 100; ++i)
      model->cancel();
  });
  std::thread closer([&] {
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(LanguageModel::create(module, {}).ok());
  });
  for (int run = 0; run < 100; ++run) {
    ASSERT_TRUE(model->reset().ok());
    const Status status = model->prefill(std::vector<int32_t>(40, 1), nullptr);
    ASSERT_TRUE(status.ok() || status.code() == StatusCode::Cancelled);
    ASSERT_EQ(model->position(), status.ok() ? 40u : 0u);
  }
  canceller.join();
  closer.join();
}

} // namespace
} // namespace llmc::test
