// SPDX-License-Identifier: Apache-2.0
//
// FakeVulkan.h. Functions have Vulkan's names and stand in a namespace of their
// own; a submission runs its command buffers at once.

#include "test/support/fake_vulkan/FakeVulkan.h"

#include "runtime/vulkan/Functions.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace llmc::test {

namespace {

thread_local int depth = 0;

struct Inside {
  Inside() { ++depth; }
  ~Inside() { --depth; }
};

/// Every object of the driver.
struct Object {
  virtual ~Object() = default;
  Object *device = nullptr; // that it belongs to; none for devices, instances
};

struct Driver {
  std::mutex mutex; // guards the set and the kernels
  std::set<Object *> live;
  std::map<std::vector<uint8_t>, FakeKernel> kernels;
  FakeFault fault;
  std::atomic<int> numCalls{0};
  std::atomic<bool> hasFailed{false};
  std::atomic<int> numMistakes{0};
  std::atomic<uint64_t> allocated{0}, peak{0};
  bool hostReachesAll = true;
};

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
  it.hasFailed = true;
  return fault.result;
}

/// At the start of each function that can fail.
#define LLMC_FAKE_CALL                                                         \
  Inside inside;                                                               \
  if (const VkResult result = takeFault(__func__); result != VK_SUCCESS)       \
  return result

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

template <typename Handle>
void destroy(Handle handle) {
  Inside inside;
  Object *object = toObject(handle);
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

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

struct Plain : Object {}; // of which nothing is remembered

struct Memory : Object {
  explicit Memory(VkDeviceSize size) : size(size), bytes(new uint8_t[size]) {
    std::memset(bytes.get(), 0xcd, size); // nobody may rely on zeros
    const uint64_t now = driver().allocated += size;
    uint64_t peak = driver().peak;
    while (now > peak && !driver().peak.compare_exchange_weak(peak, now)) {
    }
  }
  ~Memory() override { driver().allocated -= size; }
  VkDeviceSize size;
  std::unique_ptr<uint8_t[]> bytes;
};

struct BufferObject : Object {
  VkDeviceSize size = 0;
  Memory *memory = nullptr;
};

struct Shader : Object {
  FakeKernel kernel;
};

struct PipelineObject : Object {
  FakeKernel kernel;
};

struct Set : Object {
  std::vector<uint8_t *> bindings;
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

namespace functions {

//===----------------------------------------------------------------------===//
// Instance and physical device
//===----------------------------------------------------------------------===//

VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateInstanceVersion(uint32_t *version) {
  *version = VK_API_VERSION_1_1;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkCreateInstance(const VkInstanceCreateInfo *,
                                                const VkAllocationCallbacks *,
                                                VkInstance *instance) {
  LLMC_FAKE_CALL;
  *instance = toHandle<VkInstance>(add(new Plain, nullptr));
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkDestroyInstance(VkInstance instance,
                                             const VkAllocationCallbacks *) {
  destroy(instance);
}

VKAPI_ATTR VkResult VKAPI_CALL vkEnumeratePhysicalDevices(
    VkInstance, uint32_t *count, VkPhysicalDevice *devices) {
  LLMC_FAKE_CALL;
  static Plain physical;
  if (devices && *count)
    devices[0] = toHandle<VkPhysicalDevice>(&physical);
  *count = 1;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties(
    VkPhysicalDevice, VkPhysicalDeviceProperties *properties) {
  *properties = {};
  properties->apiVersion = VK_API_VERSION_1_1;
  properties->driverVersion = 7;
  properties->vendorID = 0xfa4e;
  properties->deviceID = 1;
  properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  std::strcpy(properties->deviceName, "fake");
  VkPhysicalDeviceLimits &limits = properties->limits;
  limits.maxStorageBufferRange = 1u << 30;
  limits.minStorageBufferOffsetAlignment = 64;
  limits.maxPerStageDescriptorStorageBuffers = 16;
  limits.maxComputeWorkGroupInvocations = 256;
  limits.maxComputeSharedMemorySize = 16384;
  for (int i = 0; i < 3; ++i) {
    limits.maxComputeWorkGroupSize[i] = 256;
    limits.maxComputeWorkGroupCount[i] = 65535;
  }
  limits.timestampPeriod = 1;
}

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties2(
    VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties) {
  vkGetPhysicalDeviceProperties(device, &properties->properties);
  for (auto *next = static_cast<VkBaseOutStructure *>(properties->pNext); next;
       next = next->pNext)
    if (next->sType ==
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES)
      reinterpret_cast<VkPhysicalDeviceMaintenance3Properties *>(next)
          ->maxMemoryAllocationSize = 1u << 30;
}

VKAPI_ATTR void VKAPI_CALL
vkGetPhysicalDeviceFeatures2(VkPhysicalDevice, VkPhysicalDeviceFeatures2 *) {}

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceMemoryProperties(
    VkPhysicalDevice, VkPhysicalDeviceMemoryProperties *memory) {
  constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                          VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                          VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  *memory = {};
  memory->memoryHeapCount = memory->memoryTypeCount = 2;
  memory->memoryHeaps[0] = {uint64_t{4} << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  memory->memoryHeaps[1] = {uint64_t{4} << 30, 0};
  memory->memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  if (driver().hostReachesAll)
    memory->memoryTypes[0].propertyFlags |= kHost;
  memory->memoryTypes[1] = {kHost, 1};
}

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceQueueFamilyProperties(
    VkPhysicalDevice, uint32_t *count, VkQueueFamilyProperties *families) {
  if (families && *count) {
    families[0] = {};
    families[0].queueFlags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    families[0].queueCount = 1;
    families[0].timestampValidBits = 64;
  }
  *count = 1;
}

VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateDeviceExtensionProperties(
    VkPhysicalDevice, const char *, uint32_t *count, VkExtensionProperties *) {
  *count = 0;
  return VK_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Device and queue
//===----------------------------------------------------------------------===//

VKAPI_ATTR VkResult VKAPI_CALL vkCreateDevice(VkPhysicalDevice,
                                              const VkDeviceCreateInfo *,
                                              const VkAllocationCallbacks *,
                                              VkDevice *device) {
  LLMC_FAKE_CALL;
  *device = toHandle<VkDevice>(add(new Plain, nullptr));
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkDestroyDevice(VkDevice device,
                                           const VkAllocationCallbacks *) {
  destroy(device);
}

VKAPI_ATTR void VKAPI_CALL vkGetDeviceQueue(VkDevice device, uint32_t, uint32_t,
                                            VkQueue *queue) {
  *queue = toHandle<VkQueue>(toObject(device));
}

VKAPI_ATTR VkResult VKAPI_CALL vkQueueSubmit(VkQueue, uint32_t count,
                                             const VkSubmitInfo *infos,
                                             VkFence fence) {
  LLMC_FAKE_CALL;
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t k = 0; k < infos[i].commandBufferCount; ++k)
      for (const auto &act : as<Commands>(infos[i].pCommandBuffers[k]).acts)
        act();
  as<FenceObject>(fence).isSignalled = true;
  return VK_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

VKAPI_ATTR VkResult VKAPI_CALL vkCreateBuffer(VkDevice device,
                                              const VkBufferCreateInfo *info,
                                              const VkAllocationCallbacks *,
                                              VkBuffer *buffer) {
  LLMC_FAKE_CALL;
  auto *object = add(new BufferObject, toObject(device));
  object->size = info->size;
  *buffer = toHandle<VkBuffer>(object);
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkDestroyBuffer(VkDevice, VkBuffer buffer,
                                           const VkAllocationCallbacks *) {
  destroy(buffer);
}

VKAPI_ATTR void VKAPI_CALL vkGetBufferMemoryRequirements(
    VkDevice, VkBuffer buffer, VkMemoryRequirements *requirements) {
  *requirements = {as<BufferObject>(buffer).size, 64, 3};
}

VKAPI_ATTR VkResult VKAPI_CALL
vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                 const VkAllocationCallbacks *, VkDeviceMemory *memory) {
  LLMC_FAKE_CALL;
  *memory = toHandle<VkDeviceMemory>(
      add(new Memory(info->allocationSize), toObject(device)));
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkFreeMemory(VkDevice, VkDeviceMemory memory,
                                        const VkAllocationCallbacks *) {
  destroy(memory);
}

VKAPI_ATTR VkResult VKAPI_CALL vkBindBufferMemory(VkDevice, VkBuffer buffer,
                                                  VkDeviceMemory memory,
                                                  VkDeviceSize) {
  LLMC_FAKE_CALL;
  as<BufferObject>(buffer).memory = &as<Memory>(memory);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkMapMemory(VkDevice, VkDeviceMemory memory,
                                           VkDeviceSize, VkDeviceSize,
                                           VkMemoryMapFlags, void **address) {
  LLMC_FAKE_CALL;
  *address = as<Memory>(memory).bytes.get();
  return VK_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

/// Functions that create an object of which nothing is remembered, and those
/// that destroy one.
#define LLMC_FAKE_PLAIN(Name)                                                  \
  VKAPI_ATTR VkResult VKAPI_CALL vkCreate##Name(                               \
      VkDevice device, const Vk##Name##CreateInfo *,                           \
      const VkAllocationCallbacks *, Vk##Name *created) {                      \
    LLMC_FAKE_CALL;                                                            \
    *created = toHandle<Vk##Name>(add(new Plain, toObject(device)));           \
    return VK_SUCCESS;                                                         \
  }
#define LLMC_FAKE_DESTROY(Name)                                                \
  VKAPI_ATTR void VKAPI_CALL vkDestroy##Name(VkDevice, Vk##Name handle,        \
                                             const VkAllocationCallbacks *) {  \
    destroy(handle);                                                           \
  }

LLMC_FAKE_PLAIN(DescriptorSetLayout)
LLMC_FAKE_DESTROY(DescriptorSetLayout)
LLMC_FAKE_PLAIN(PipelineLayout)
LLMC_FAKE_DESTROY(PipelineLayout)
LLMC_FAKE_PLAIN(PipelineCache)
LLMC_FAKE_DESTROY(PipelineCache)
LLMC_FAKE_DESTROY(ShaderModule)
LLMC_FAKE_DESTROY(Pipeline)
LLMC_FAKE_DESTROY(DescriptorPool)
LLMC_FAKE_DESTROY(CommandPool)
LLMC_FAKE_DESTROY(QueryPool)
LLMC_FAKE_DESTROY(Fence)

VKAPI_ATTR VkResult VKAPI_CALL vkGetPipelineCacheData(VkDevice, VkPipelineCache,
                                                      size_t *size,
                                                      void *data) {
  LLMC_FAKE_CALL;
  if (data)
    std::memcpy(data, "compiled", 8);
  *size = 8;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
vkCreateShaderModule(VkDevice device, const VkShaderModuleCreateInfo *info,
                     const VkAllocationCallbacks *, VkShaderModule *shader) {
  LLMC_FAKE_CALL;
  const auto *bytes = reinterpret_cast<const uint8_t *>(info->pCode);
  auto *object = add(new Shader, toObject(device));
  const std::lock_guard<std::mutex> lock(driver().mutex);
  auto known = driver().kernels.find({bytes, bytes + info->codeSize});
  if (known != driver().kernels.end())
    object->kernel = known->second;
  *shader = toHandle<VkShaderModule>(object);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
vkCreateComputePipelines(VkDevice device, VkPipelineCache, uint32_t count,
                         const VkComputePipelineCreateInfo *infos,
                         const VkAllocationCallbacks *, VkPipeline *pipelines) {
  LLMC_FAKE_CALL;
  for (uint32_t i = 0; i < count; ++i) {
    auto *object = add(new PipelineObject, toObject(device));
    object->kernel = as<Shader>(infos[i].stage.module).kernel;
    pipelines[i] = toHandle<VkPipeline>(object);
  }
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
vkCreateDescriptorPool(VkDevice device, const VkDescriptorPoolCreateInfo *,
                       const VkAllocationCallbacks *, VkDescriptorPool *pool) {
  LLMC_FAKE_CALL;
  *pool = toHandle<VkDescriptorPool>(add(new Pool<Set>, toObject(device)));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkAllocateDescriptorSets(
    VkDevice, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *sets) {
  LLMC_FAKE_CALL;
  auto &children = as<Pool<Set>>(info->descriptorPool).children;
  for (uint32_t i = 0; i < info->descriptorSetCount; ++i) {
    children.push_back(std::make_unique<Set>());
    sets[i] = toHandle<VkDescriptorSet>(children.back().get());
  }
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkUpdateDescriptorSets(
    VkDevice, uint32_t count, const VkWriteDescriptorSet *writes, uint32_t,
    const VkCopyDescriptorSet *) {
  Inside inside;
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t k = 0; k < writes[i].descriptorCount; ++k) {
      const VkDescriptorBufferInfo &info = writes[i].pBufferInfo[k];
      as<Set>(writes[i].dstSet)
          .bindings.push_back(
              as<BufferObject>(info.buffer).memory->bytes.get() + info.offset);
    }
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

VKAPI_ATTR VkResult VKAPI_CALL
vkCreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo *,
                    const VkAllocationCallbacks *, VkCommandPool *pool) {
  LLMC_FAKE_CALL;
  *pool = toHandle<VkCommandPool>(add(new Pool<Commands>, toObject(device)));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
vkAllocateCommandBuffers(VkDevice, const VkCommandBufferAllocateInfo *info,
                         VkCommandBuffer *buffers) {
  LLMC_FAKE_CALL;
  auto &children = as<Pool<Commands>>(info->commandPool).children;
  for (uint32_t i = 0; i < info->commandBufferCount; ++i) {
    children.push_back(std::make_unique<Commands>());
    buffers[i] = toHandle<VkCommandBuffer>(children.back().get());
  }
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkBeginCommandBuffer(
    VkCommandBuffer commands, const VkCommandBufferBeginInfo *) {
  LLMC_FAKE_CALL;
  as<Commands>(commands).acts.clear();
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkEndCommandBuffer(VkCommandBuffer) {
  LLMC_FAKE_CALL;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkCmdBindPipeline(VkCommandBuffer commands,
                                             VkPipelineBindPoint,
                                             VkPipeline pipeline) {
  as<Commands>(commands).kernel = &as<PipelineObject>(pipeline).kernel;
}

VKAPI_ATTR void VKAPI_CALL vkCmdBindDescriptorSets(
    VkCommandBuffer commands, VkPipelineBindPoint, VkPipelineLayout, uint32_t,
    uint32_t, const VkDescriptorSet *sets, uint32_t, const uint32_t *) {
  as<Commands>(commands).set = &as<Set>(sets[0]);
}

VKAPI_ATTR void VKAPI_CALL vkCmdDispatch(VkCommandBuffer commands, uint32_t x,
                                         uint32_t y, uint32_t z) {
  Inside inside;
  auto &recording = as<Commands>(commands);
  recording.acts.emplace_back(
      [kernel = recording.kernel, set = recording.set, x, y, z] {
        if (*kernel)
          (*kernel)(set->bindings, {x, y, z});
      });
}

VKAPI_ATTR void VKAPI_CALL vkCmdPipelineBarrier(
    VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags,
    VkDependencyFlags, uint32_t, const VkMemoryBarrier *, uint32_t,
    const VkBufferMemoryBarrier *, uint32_t, const VkImageMemoryBarrier *) {}

VKAPI_ATTR void VKAPI_CALL vkCmdFillBuffer(VkCommandBuffer commands,
                                           VkBuffer buffer, VkDeviceSize,
                                           VkDeviceSize, uint32_t) {
  Inside inside;
  const auto &object = as<BufferObject>(buffer);
  as<Commands>(commands).acts.emplace_back(
      [bytes = object.memory->bytes.get(), size = object.size] {
        std::memset(bytes, 0, size);
      });
}

VKAPI_ATTR void VKAPI_CALL vkCmdCopyBuffer(VkCommandBuffer commands,
                                           VkBuffer source, VkBuffer target,
                                           uint32_t,
                                           const VkBufferCopy *region) {
  Inside inside;
  as<Commands>(commands).acts.emplace_back(
      [from = as<BufferObject>(source).memory->bytes.get() + region->srcOffset,
       to = as<BufferObject>(target).memory->bytes.get() + region->dstOffset,
       size = region->size] { std::memcpy(to, from, size); });
}

//===----------------------------------------------------------------------===//
// Fences and timestamps
//===----------------------------------------------------------------------===//

VKAPI_ATTR VkResult VKAPI_CALL vkCreateFence(VkDevice device,
                                             const VkFenceCreateInfo *,
                                             const VkAllocationCallbacks *,
                                             VkFence *fence) {
  LLMC_FAKE_CALL;
  *fence = toHandle<VkFence>(add(new FenceObject, toObject(device)));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkResetFences(VkDevice, uint32_t,
                                             const VkFence *fences) {
  LLMC_FAKE_CALL;
  as<FenceObject>(fences[0]).isSignalled = false;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkWaitForFences(VkDevice, uint32_t,
                                               const VkFence *fences, VkBool32,
                                               uint64_t) {
  LLMC_FAKE_CALL;
  return as<FenceObject>(fences[0]).isSignalled ? VK_SUCCESS : VK_TIMEOUT;
}

VKAPI_ATTR VkResult VKAPI_CALL
vkCreateQueryPool(VkDevice device, const VkQueryPoolCreateInfo *info,
                  const VkAllocationCallbacks *, VkQueryPool *pool) {
  LLMC_FAKE_CALL;
  auto *object = add(new Queries, toObject(device));
  object->ticks.resize(info->queryCount);
  *pool = toHandle<VkQueryPool>(object);
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkCmdResetQueryPool(VkCommandBuffer, VkQueryPool,
                                               uint32_t, uint32_t) {}

VKAPI_ATTR void VKAPI_CALL vkCmdWriteTimestamp(VkCommandBuffer commands,
                                               VkPipelineStageFlagBits,
                                               VkQueryPool pool,
                                               uint32_t number) {
  Inside inside;
  as<Commands>(commands).acts.emplace_back(
      [tick = &as<Queries>(pool).ticks[number]] {
        *tick = static_cast<uint64_t>(
            std::chrono::steady_clock::now().time_since_epoch().count());
      });
}

VKAPI_ATTR VkResult VKAPI_CALL vkGetQueryPoolResults(VkDevice, VkQueryPool pool,
                                                     uint32_t, uint32_t count,
                                                     size_t, void *data,
                                                     VkDeviceSize,
                                                     VkQueryResultFlags) {
  LLMC_FAKE_CALL;
  std::memcpy(data, as<Queries>(pool).ticks.data(), count * sizeof(uint64_t));
  return VK_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Looking functions up
//===----------------------------------------------------------------------===//

#define LLMC_FIND(function)                                                    \
  if (std::strcmp(name, #function) == 0)                                       \
    return reinterpret_cast<PFN_vkVoidFunction>(function);

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice,
                                                             const char *name) {
  LLMC_VULKAN_DEVICE_FUNCTIONS(LLMC_FIND)
  return nullptr;
}

PFN_vkVoidFunction findInstanceFunction(const char *name) {
  LLMC_FIND(vkEnumerateInstanceVersion)
  LLMC_VULKAN_GLOBAL_FUNCTIONS(LLMC_FIND)
  LLMC_VULKAN_INSTANCE_FUNCTIONS(LLMC_FIND)
  return nullptr;
}

#undef LLMC_FIND

} // namespace functions

} // namespace

void FakeVulkan::addKernel(const std::vector<uint8_t> &code,
                           FakeKernel kernel) {
  Inside inside;
  driver().kernels[code] = std::move(kernel);
}

void FakeVulkan::setFault(const FakeFault &fault) {
  Inside inside;
  driver().fault = fault;
  driver().numCalls = 0;
  driver().hasFailed = false;
}

void FakeVulkan::setHostReach(bool reachesAll) {
  driver().hostReachesAll = reachesAll;
}

bool FakeVulkan::hasFailed() { return driver().hasFailed; }

int FakeVulkan::numLiveObjects() {
  const std::lock_guard<std::mutex> lock(driver().mutex);
  return static_cast<int>(driver().live.size());
}

uint64_t FakeVulkan::allocatedBytes() { return driver().allocated; }
uint64_t FakeVulkan::peakBytes() { return driver().peak; }
void FakeVulkan::forgetPeak() { driver().peak = driver().allocated.load(); }
int FakeVulkan::numMistakes() { return driver().numMistakes; }
bool FakeVulkan::isInside() { return depth > 0; }

} // namespace llmc::test

/// What the runtime looks for in the library.
extern "C" __attribute__((visibility("default")))
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance, const char *name) {
  return llmc::test::functions::findInstanceFunction(name);
}
