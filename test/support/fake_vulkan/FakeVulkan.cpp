// SPDX-License-Identifier: Apache-2.0
//
// FakeVulkan.h, what the driver remembers, and how its functions are found.

#include "test/support/fake_vulkan/FakeVulkan.h"

#include "test/support/fake_vulkan/FakeDriver.h"

#include <cstring>
#include <utility>

namespace llmc::test {

namespace fake {

namespace {
thread_local int depth = 0;
} // namespace

Inside::Inside() { ++depth; }
Inside::~Inside() { --depth; }

Driver &driver() {
  static Driver *const one = [] {
    Inside inside;
    return new Driver; // lives as long as the process
  }();
  return *one;
}

VkResult takeFault(const char *name) {
  Driver &it = driver();
  const FakeFault &fault = it.fault;
  if (!fault.function.empty() && fault.function != name)
    return VK_SUCCESS;
  const int call = it.numCalls++;
  if (fault.call < 0 ||
      (call != fault.call && !(fault.isForGood && call > fault.call)))
    return VK_SUCCESS;
  it.failed = name;
  return fault.result;
}

void destroyObject(Object *object) {
  Inside inside;
  if (!object)
    return;
  bool isThere = false;
  {
    const std::lock_guard<std::mutex> lock(driver().mutex);
    isThere = driver().live.erase(object) == 1;
    for (const Object *other : driver().live)
      if (other->device == object)
        ++driver().numMistakes;
  }
  if (isThere)
    delete object;
  else
    ++driver().numMistakes;
}

Memory::Memory(VkDeviceSize size, void *imported)
    : size(size), bytes(static_cast<uint8_t *>(imported)) {
  if (imported)
    return;
  own.reset(new uint8_t[size]);
  bytes = own.get();
  std::memset(bytes, 0xcd, size); // nobody may rely on zeros
  const uint64_t now = driver().allocated += size;
  uint64_t peak = driver().peak;
  while (now > peak && !driver().peak.compare_exchange_weak(peak, now)) {
  }
}

Memory::~Memory() {
  if (own)
    driver().allocated -= size;
}

namespace {

#define LLMC_FAKE_FIND(function)                                               \
  if (std::strcmp(name, #function) == 0)                                       \
    return reinterpret_cast<PFN_vkVoidFunction>(function);

PFN_vkVoidFunction findInstanceFunction(const char *name) {
  LLMC_FAKE_FURTHER_FUNCTIONS(LLMC_FAKE_FIND)
  LLMC_FAKE_FIND(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)
  LLMC_VULKAN_GLOBAL_FUNCTIONS(LLMC_FAKE_FIND)
  LLMC_VULKAN_INSTANCE_FUNCTIONS(LLMC_FAKE_FIND)
  return nullptr;
}

} // namespace

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice,
                                                             const char *name) {
  LLMC_FAKE_FIND(vkGetMemoryHostPointerPropertiesEXT)
  LLMC_VULKAN_DEVICE_FUNCTIONS(LLMC_FAKE_FIND)
  return nullptr;
}

#undef LLMC_FAKE_FIND

} // namespace fake

using fake::driver;

void FakeVulkan::addKernel(const std::vector<uint8_t> &code,
                           FakeKernel kernel) {
  fake::Inside inside;
  driver().kernels[code] = std::move(kernel);
}

void FakeVulkan::setFault(const FakeFault &fault) {
  fake::Inside inside;
  driver().fault = fault;
  driver().numCalls = 0;
  driver().failed = nullptr;
}

void FakeVulkan::setOffer(const FakeOffer &offer) { driver().offer = offer; }

const char *FakeVulkan::failedFunction() { return driver().failed; }

std::vector<FakeName> FakeVulkan::takeNames() {
  const std::lock_guard<std::mutex> lock(driver().mutex);
  return std::exchange(driver().names, {});
}

int FakeVulkan::numLiveObjects() {
  const std::lock_guard<std::mutex> lock(driver().mutex);
  return static_cast<int>(driver().live.size());
}

uint64_t FakeVulkan::allocatedBytes() { return driver().allocated; }
uint64_t FakeVulkan::peakBytes() { return driver().peak; }
void FakeVulkan::forgetPeak() { driver().peak = driver().allocated.load(); }
int FakeVulkan::numMistakes() { return driver().numMistakes; }
bool FakeVulkan::isInside() { return fake::depth > 0; }

} // namespace llmc::test

/// What the runtime looks for in the library.
extern "C" __attribute__((visibility("default")))
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance, const char *name) {
  return llmc::test::fake::findInstanceFunction(name);
}
