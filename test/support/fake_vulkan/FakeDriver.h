// SPDX-License-Identifier: Apache-2.0
//
// The inside of the fake driver: what it remembers, its objects, and its
// functions, which have Vulkan's names in a namespace of their own.

#ifndef LLMC_TEST_SUPPORT_FAKE_VULKAN_FAKEDRIVER_H
#define LLMC_TEST_SUPPORT_FAKE_VULKAN_FAKEDRIVER_H

#include "test/support/fake_vulkan/FakeVulkan.h"

#include "runtime/vulkan/Functions.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <type_traits>

namespace llmc::test::fake {

/// While one lives, allocations of this thread are the driver's.
struct Inside {
  Inside();
  ~Inside();
};

/// Every object of the driver.
struct Object {
  virtual ~Object() = default;
  Object *device = nullptr; // that it belongs to; none for devices, instances
};

struct Driver {
  std::mutex mutex; // guards what is live, the kernels, the names
  std::set<Object *> live;
  std::map<std::vector<uint8_t>, FakeKernel> kernels;
  std::vector<FakeName> names;
  FakeFault fault;
  FakeOffer offer;
  std::atomic<int> numCalls{0};
  std::atomic<const char *> failed{nullptr}; // function whose call failed
  std::atomic<int> numMistakes{0};
  std::atomic<uint64_t> allocated{0}, peak{0};
};

/// The one of this process.
Driver &driver();

/// What this call of `name` gives, by the fault that is set.
VkResult takeFault(const char *name);

/// At the start of each function that can fail.
#define LLMC_FAKE_CALL                                                         \
  Inside inside;                                                               \
  if (const VkResult result = takeFault(__func__); result != VK_SUCCESS)       \
  return result

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

template <typename T>
T *add(T *object, Object *device) {
  object->device = device;
  const std::lock_guard<std::mutex> lock(driver().mutex);
  driver().live.insert(object);
  return object;
}

template <typename Handle>
Object *toObject(Handle handle) {
  return reinterpret_cast<Object *>(handle);
}

template <typename T, typename Handle>
T &as(Handle handle) {
  return *static_cast<T *>(toObject(handle));
}

template <typename Handle, typename T>
Handle toHandle(T *object) {
  return reinterpret_cast<Handle>(static_cast<Object *>(object));
}

/// Destroys what `add` took. A mistake: it is not there, or something that
/// belongs to it is.
void destroyObject(Object *object);

template <typename Handle>
void destroy(Handle handle) {
  destroyObject(toObject(handle));
}

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

struct Plain : Object {}; // of which nothing is remembered

struct Memory : Object {
  /// `imported`: bytes of the program's; null: new ones, which count as
  /// allocated.
  Memory(VkDeviceSize size, void *imported);
  ~Memory() override;
  VkDeviceSize size;
  std::unique_ptr<uint8_t[]> own;
  uint8_t *bytes = nullptr;
};

struct BufferObject : Object {
  VkDeviceSize size = 0;
  Memory *memory = nullptr;
};

struct Shader : Object {
  std::vector<uint8_t> code;
  FakeKernel kernel;
};

struct PipelineObject : Object {
  FakeKernel kernel;
};

struct Set : Object {
  std::vector<FakeBinding> bindings;
};

/// Sets and command buffers die with their pool.
template <typename T>
struct Pool : Object {
  std::vector<std::unique_ptr<T>> children;
};

struct Commands : Object {
  std::vector<std::function<void()>> acts;
  const FakeKernel *kernel = nullptr;
  const Set *set = nullptr;
};

struct FenceObject : Object {
  std::atomic<bool> isSignalled{false};
};

struct Queries : Object {
  std::vector<uint64_t> ticks;
};

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// What a driver has beside what the runtime can't do without.
#define LLMC_FAKE_FURTHER_FUNCTIONS(X)                                         \
  X(vkEnumerateInstanceVersion)                                                \
  X(vkEnumerateInstanceExtensionProperties)                                    \
  X(vkSetDebugUtilsObjectNameEXT)                                              \
  X(vkGetMemoryHostPointerPropertiesEXT)

/// VkCooperativeMatrixPropertiesKHR; headers of Debian 12 are older.
struct MatrixProperties {
  VkStructureType sType;
  void *pNext;
  uint32_t m, n, k;
  int32_t aType, bType, cType, resultType;
  VkBool32 saturatingAccumulation;
  int32_t scope;
};
VKAPI_ATTR VkResult VKAPI_CALL
vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(VkPhysicalDevice device,
                                                  uint32_t *count,
                                                  MatrixProperties *properties);

#define LLMC_FAKE_DECLARE(name) std::remove_pointer_t<PFN_##name> name;
LLMC_FAKE_FURTHER_FUNCTIONS(LLMC_FAKE_DECLARE)
LLMC_VULKAN_GLOBAL_FUNCTIONS(LLMC_FAKE_DECLARE)
LLMC_VULKAN_INSTANCE_FUNCTIONS(LLMC_FAKE_DECLARE)
LLMC_VULKAN_DEVICE_FUNCTIONS(LLMC_FAKE_DECLARE)
#undef LLMC_FAKE_DECLARE

} // namespace llmc::test::fake

#endif // LLMC_TEST_SUPPORT_FAKE_VULKAN_FAKEDRIVER_H
