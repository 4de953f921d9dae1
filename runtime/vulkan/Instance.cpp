// SPDX-License-Identifier: Apache-2.0
//
// Instance.h.

#include "runtime/vulkan/Instance.h"

#include "runtime/vulkan/VulkanStatus.h"

#include <algorithm>

namespace llmc::vulkan {

StatusOr<std::unique_ptr<Instance>>
Instance::create(std::unique_ptr<Loader> loader) {
  const uint32_t version =
      std::min<uint32_t>(loader->apiVersion(), VK_API_VERSION_1_3);
  if (version < VK_API_VERSION_1_1)
    return Status(StatusCode::NoVulkan,
                  "the Vulkan loader is of version 1.0, least is 1.1");
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pEngineName = "llmc";
  application.apiVersion = version;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  std::unique_ptr<Instance> instance(new Instance(std::move(loader)));
  LLMC_RETURN_IF_ERROR(
      fromResult(instance->loader->functions().vkCreateInstance(
                     &info, /*pAllocator=*/nullptr, &instance->handle),
                 "creating the Vulkan instance (is a driver installed?)"));
  LLMC_RETURN_IF_ERROR(instance->loadFunctions());
  LLMC_RETURN_IF_ERROR(instance->enumerate(VK_API_VERSION_MINOR(version)));
  return instance;
}

Instance::~Instance() {
  if (table.vkDestroyInstance)
    table.vkDestroyInstance(handle, /*pAllocator=*/nullptr);
}

Status Instance::loadFunctions() {
  const PFN_vkGetInstanceProcAddr getInstanceProcAddr =
      loader->functions().vkGetInstanceProcAddr;
#define LLMC_LOAD(name)                                                        \
  table.name =                                                                 \
      reinterpret_cast<PFN_##name>(getInstanceProcAddr(handle, #name));        \
  if (!table.name)                                                             \
    return Status(StatusCode::NoVulkan,                                        \
                  "the Vulkan instance has no function " #name);
  LLMC_VULKAN_INSTANCE_FUNCTIONS(LLMC_LOAD)
#undef LLMC_LOAD
  return okStatus();
}

Status Instance::enumerate(uint32_t apiMinor) {
  uint32_t count = 0;
  std::vector<VkPhysicalDevice> handles;
  VkResult result = table.vkEnumeratePhysicalDevices(handle, &count, nullptr);
  if (result == VK_SUCCESS) {
    handles.resize(count);
    result = table.vkEnumeratePhysicalDevices(handle, &count, handles.data());
  }
  // A driver without its device says so in this way; another device may have
  // come meanwhile (VK_INCOMPLETE).
  if (result == VK_ERROR_INITIALIZATION_FAILED)
    return okStatus();
  if (result != VK_INCOMPLETE)
    LLMC_RETURN_IF_ERROR(fromResult(result, "listing the Vulkan devices"));
  for (uint32_t i = 0; i < count; ++i)
    devices.push_back(describePhysicalDevice(table, handles[i], apiMinor));
  return okStatus();
}

std::vector<DeviceFacts> Instance::facts() const {
  std::vector<DeviceFacts> all;
  for (const PhysicalDevice &device : devices)
    all.push_back(device.facts);
  return all;
}

} // namespace llmc::vulkan
