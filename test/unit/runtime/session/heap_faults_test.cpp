// SPDX-License-Identifier: Apache-2.0
//
// Each allocation of the heap fails once in turn while a program uses the C
// API: no exception leaves it, nothing stays behind, and the next attempt
// works. A program of its own, since it replaces `new`.

#include "test/support/fake_vulkan/FakeVulkan.h"
#include "test/unit/runtime/session/SelfTestModel.h"

#include <llmc/llmc.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> isArmed{false};
std::atomic<int> untilFailure{-1}; // allocations that still succeed
std::atomic<bool> hasFailed{false};
std::atomic<int> numLive{0}; // allocations made and not freed

void *allocate(size_t size) {
  if (isArmed && !llmc::test::FakeVulkan::isInside() && untilFailure-- == 0) {
    hasFailed = true;
    throw std::bad_alloc();
  }
  void *memory = std::malloc(size ? size : 1);
  if (!memory)
    throw std::bad_alloc();
  ++numLive;
  return memory;
}

void release(void *memory) {
  numLive -= memory != nullptr;
  std::free(memory);
}

} // namespace

void *operator new(size_t size) { return allocate(size); }
void *operator new[](size_t size) { return allocate(size); }
void operator delete(void *memory) noexcept { release(memory); }
void operator delete[](void *memory) noexcept { release(memory); }
void operator delete(void *memory, size_t) noexcept { release(memory); }
void operator delete[](void *memory, size_t) noexcept { release(memory); }

namespace llmc::test {
namespace {

/// What a program does; every call may fail, and what was made is destroyed.
class Program {
public:
  explicit Program(const CountingFile &file)
      : path(file.path()), cache(file.cacheFolder()),
        saved(file.sessionPath()) {}
  ~Program() {
    llmc_session_destroy(fork);
    llmc_session_destroy(session);
    llmc_module_destroy(module);
    llmc_engine_destroy(engine);
  }

  llmc_status_t run(uint32_t numThreads) {
    llmc_engine_options_t engineOptions;
    llmc_engine_options_init(&engineOptions);
    engineOptions.vulkan_library = LLMC_FAKE_VULKAN;
    llmc_module_options_t options;
    llmc_module_options_init(&options);
    options.pipeline_cache_dir = cache.c_str();
    options.num_threads = numThreads;
    options.self_test = LLMC_SELF_TEST_ALWAYS;
    llmc_status_t status = LLMC_STATUS_OK;
    const auto isOk = [&](llmc_status_t given) {
      status = given;
      return given == LLMC_STATUS_OK;
    };
    (void)(isOk(llmc_engine_create(&engineOptions, &engine, &error)) &&
           isOk(llmc_module_load(engine, path.c_str(), &options, &module,
                                 &error)) &&
           isOk(llmc_session_create(module, nullptr, &session, &error)) &&
           isOk(useSession()));
    return status;
  }

  llmc_error_t error{};

private:
  llmc_status_t useSession() {
    const int32_t prompt[] = {1, 2, 3, 0, 1, 1};
    llmc_generate_options_t generate;
    llmc_generate_options_init(&generate);
    generate.max_tokens = 3;
    generate.temperature = 0.5f;
    generate.repetition_penalty = 1.1f;
    float logits[5];
    llmc_status_t status =
        llmc_session_prefill(session, prompt, 6, logits, &error);
    if (!status)
      status = llmc_session_decode(session, 2, logits, &error);
    if (!status)
      status = llmc_session_save(session, saved.c_str(), &error);
    if (!status)
      status = llmc_session_fork(session, &fork, &error);
    if (!status)
      status = llmc_session_restore(fork, saved.c_str(), &error);
    if (!status)
      status = llmc_session_generate(fork, prompt, 2, &generate, nullptr,
                                     nullptr, nullptr, &error);
    return status;
  }

  std::string path, cache, saved;
  llmc_engine_t *engine = nullptr;
  llmc_module_t *module = nullptr;
  llmc_session_t *session = nullptr;
  llmc_session_t *fork = nullptr;
};

/// Runs the program with its allocation `failing` failing; -1: none.
llmc_status_t runOnce(const CountingFile &file, uint32_t numThreads,
                      int failing) {
  Program program(file);
  untilFailure = failing;
  hasFailed = false;
  isArmed = true;
  const llmc_status_t status = program.run(numThreads);
  isArmed = false;
  FakeVulkan::takeNames(); // which the driver would keep
  EXPECT_TRUE(status == LLMC_STATUS_OK || program.error.message[0] != '\0');
  EXPECT_TRUE(status == LLMC_STATUS_OK || hasFailed) << program.error.message;
  return status;
}

void failEveryAllocation(uint32_t numThreads,
                         ModuleFile contents = makeCountingModel()) {
  addCountingKernels();
  const CountingFile file(std::move(contents));
  for (int warm = 0; warm < 2; ++warm)
    ASSERT_EQ(runOnce(file, numThreads, -1), LLMC_STATUS_OK);
  int numRefused = 0;
  for (int failing = 0; failing < 20000; ++failing) {
    const int liveBefore = numLive;
    const llmc_status_t status = runOnce(file, numThreads, failing);
    ASSERT_EQ(numLive, liveBefore) << "allocation " << failing;
    ASSERT_EQ(FakeVulkan::numLiveObjects(), 0) << "allocation " << failing;
    ASSERT_EQ(FakeVulkan::numMistakes(), 0) << "allocation " << failing;
    if (!hasFailed) {
      EXPECT_EQ(status, LLMC_STATUS_OK);
      EXPECT_GT(numRefused, 200);
      return;
    }
    // What is only to make the next start faster may be left out.
    ASSERT_TRUE(status == LLMC_STATUS_OUT_OF_HOST_MEMORY ||
                status == LLMC_STATUS_OK)
        << "allocation " << failing << ": " << status;
    numRefused += status != LLMC_STATUS_OK;
  }
  ADD_FAILURE() << "there is no end of allocations";
}

TEST(HeapFaults, anyAllocationMayFail) { failEveryAllocation(1); }

TEST(HeapFaults, inThreadsToo) { failEveryAllocation(3); }

/// Where there are no threads the test builds its kernels itself.
TEST(HeapFaults, inSelfTestsBesideThreads) {
  ModuleFile contents = makeCountingModel();
  addSelfTestCase(*contents.manifest.mutable_variants(0), 4);
  failEveryAllocation(3, std::move(contents));
}

TEST(HeapFaults, withNamesAndImports) {
  FakeOffer offer;
  offer.namesObjects = offer.importsHostMemory = true;
  FakeVulkan::setOffer(offer);
  failEveryAllocation(1);
  FakeVulkan::setOffer({});
}

} // namespace
} // namespace llmc::test
