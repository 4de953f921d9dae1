// SPDX-License-Identifier: Apache-2.0
//
// Instance.h.

#include "runtime/vulkan/Instance.h"

#include "runtime/vulkan/Extensions.h"
#include "runtime/vulkan/VulkanStatus.h"

#include <algorithm>

namespace llmc::vulkan {

namespace {

/// Whether tools can be told what objects are called.
bool offersObjectNames(const GlobalFunctions &functions) {
  if (!functions.vkEnumerateInstanceExtensionProperties)
    return false;
  const std::vector<std::string> extensions =
      listExtensions([&](uint32_t *count, VkExtensionProperties *properties) {
        return functions.vkEnumerateInstanceExtensionProperties(
            /*pLayerName=*/nullptr, count, properties);
      });
  return std::find(extensions.begin(), extensions.end(),
                   VK_EXT_DEBUG_UTILS_EXTENSION_NAME) != extensions.end();
}

} // namespace

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
  const bool hasNames = offersObjectNames(loader->functions());
  const char *const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  info.enabledExtensionCount = hasNames;
  info.ppEnabledExtensionNames = &extension;
  std::unique_ptr<Instance> instance(new Instance(std::move(loader)));
  LLMC_RETURN_IF_ERROR(
      fromResult(instance->loader->functions().vkCreateInstance(
                     &info, /*pAllocator=*/nullptr, &instance->handle),
                 "creating the Vulkan instance (is a driver installed?)"));
  LLMC_RETURN_IF_ERROR(instance->loadFunctions());
  if (hasNames)
    instance->table.vkSetDebugUtilsObjectNameEXT =
        reinterpret_cast<PFN_vkSetDebugUtilsObjectNameEXT>(
            instance->loader->functions().vkGetInstanceProcAddr(
                instance->handle, "vkSetDebugUtilsObjectNameEXT"));
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
  table.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR = reinterpret_cast<
      decltype(table.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)>(
      getInstanceProcAddr(handle,
                          "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
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
