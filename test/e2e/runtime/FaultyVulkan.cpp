// SPDX-License-Identifier: Apache-2.0
//
// FaultyVulkan.h. For each device function a template makes the function that
// counts; the driver's own is kept in a table beside.

#include "test/e2e/runtime/FaultyVulkan.h"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <type_traits>

namespace llmc::test {

namespace {

struct State {
  Fault fault;
  std::atomic<int> numCalls{0};
  std::atomic<int> numLiveObjects{0};
  std::atomic<bool> hasFailed{false};
  PFN_vkGetInstanceProcAddr getInstanceProcAddr = nullptr;
  PFN_vkGetDeviceProcAddr getDeviceProcAddr = nullptr;
};

State *current = nullptr;

/// Whether this call is the one that fails.
bool shouldFail(const char *name) {
  const Fault &fault = current->fault;
  if (!fault.function.empty() && fault.function != name)
    return false;
  const int call = current->numCalls++;
  const bool fails =
      call == fault.call || (fault.isForGood && call > fault.call);
  if (fails)
    current->hasFailed = true;
  return fails;
}

/// +1 for functions that make one object, −1 for those that end one.
int liveChange(const char *name) {
  if (std::strncmp(name, "vkCreate", 8) == 0 ||
      std::strcmp(name, "vkAllocateMemory") == 0)
    return 1;
  return std::strncmp(name, "vkDestroy", 9) == 0 ||
                 std::strcmp(name, "vkFreeMemory") == 0
             ? -1
             : 0;
}

/// A destroying function with three arguments (vkDestroyDevice has two) gets
/// the object as the second, which is null when there is nothing to destroy.
template <typename First, typename Second, typename... Rest>
bool destroysSomething(First, Second second, Rest...) {
  if constexpr (std::is_pointer_v<Second> || std::is_integral_v<Second>)
    return second != Second{};
  else
    return true;
}

template <int Id, typename Function>
struct Counting;

template <int Id, typename Result, typename... Arguments>
struct Counting<Id, Result(VKAPI_PTR *)(Arguments...)> {
  static inline Result(VKAPI_PTR *driver)(Arguments...) = nullptr;
  static inline const char *name = nullptr;

  static VKAPI_ATTR Result VKAPI_CALL call(Arguments... arguments) {
    if constexpr (std::is_same_v<Result, VkResult>) {
      if (shouldFail(name)) {
        // A lost device is done with everything.
        if (current->fault.result == VK_ERROR_DEVICE_LOST &&
            std::strcmp(name, "vkWaitForFences") == 0)
          driver(arguments...);
        return current->fault.result;
      }
      const VkResult result = driver(arguments...);
      if (result == VK_SUCCESS)
        current->numLiveObjects += liveChange(name);
      return result;
    } else {
      if constexpr (sizeof...(Arguments) >= 3) {
        if (destroysSomething(arguments...))
          current->numLiveObjects += liveChange(name);
      }
      return driver(arguments...);
    }
  }
};

enum FunctionId : int {
#define LLMC_ID(name) Id_##name,
  LLMC_VULKAN_DEVICE_FUNCTIONS(LLMC_ID)
#undef LLMC_ID
};

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getDeviceProcAddr(VkDevice device,
                                                           const char *name) {
  const PFN_vkVoidFunction driver = current->getDeviceProcAddr(device, name);
#define LLMC_INTERCEPT(function)                                               \
  if (driver && std::strcmp(name, #function) == 0) {                           \
    using Count = Counting<Id_##function, PFN_##function>;                     \
    Count::driver = reinterpret_cast<PFN_##function>(driver);                  \
    Count::name = #function;                                                   \
    return reinterpret_cast<PFN_vkVoidFunction>(Count::call);                  \
  }
  LLMC_VULKAN_DEVICE_FUNCTIONS(LLMC_INTERCEPT)
#undef LLMC_INTERCEPT
  return driver;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
getInstanceProcAddr(VkInstance instance, const char *name) {
  const PFN_vkVoidFunction driver =
      current->getInstanceProcAddr(instance, name);
  if (!driver || std::strcmp(name, "vkGetDeviceProcAddr") != 0)
    return driver;
  current->getDeviceProcAddr =
      reinterpret_cast<PFN_vkGetDeviceProcAddr>(driver);
  return reinterpret_cast<PFN_vkVoidFunction>(getDeviceProcAddr);
}

} // namespace

FaultyVulkan::FaultyVulkan(const Fault &fault) {
  current = new State;
  current->fault = fault;
  // The library stays open: what it gave is used until the process ends.
  static void *const library = ::dlopen("libvulkan.so.1", RTLD_NOW);
  if (!library)
    return;
  current->getInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      ::dlsym(library, "vkGetInstanceProcAddr"));
  auto loader = vulkan::Loader::fromProcAddress(getInstanceProcAddr);
  if (!loader.ok())
    return;
  auto created = runtime::Engine::create(std::move(*loader));
  if (created.ok())
    engine = *created;
}

FaultyVulkan::~FaultyVulkan() {
  engine.reset();
  delete current;
  current = nullptr;
}

bool FaultyVulkan::hasFailed() const { return current->hasFailed; }
int FaultyVulkan::numCalls() const { return current->numCalls; }

int FaultyVulkan::numLiveObjects() const { return current->numLiveObjects; }

} // namespace llmc::test
