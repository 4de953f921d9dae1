// SPDX-License-Identifier: Apache-2.0
//
// Vulkan functions of the instance and of the one physical device.

#include "test/support/fake_vulkan/FakeDriver.h"

#include <cstring>

namespace llmc::test::fake {

namespace {

/// Lists `name`, or nothing.
VkResult listExtension(bool isOffered, const char *name, uint32_t *count,
                       VkExtensionProperties *extensions) {
  if (extensions && *count && isOffered) {
    extensions[0] = {};
    std::strcpy(extensions[0].extensionName, name);
  }
  *count = isOffered;
  return VK_SUCCESS;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateInstanceExtensionProperties(
    const char *, uint32_t *count, VkExtensionProperties *extensions) {
  LLMC_FAKE_CALL;
  return listExtension(driver().offer.namesObjects,
                       VK_EXT_DEBUG_UTILS_EXTENSION_NAME, count, extensions);
}

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
  properties->deviceType = driver().offer.importsHostMemory
                               ? VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU
                               : VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
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
    else if (
        next->sType ==
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT)
      reinterpret_cast<VkPhysicalDeviceExternalMemoryHostPropertiesEXT *>(next)
          ->minImportedHostPointerAlignment = 4096;
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
  if (driver().offer.hostReachesAll)
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
    VkPhysicalDevice, const char *, uint32_t *count,
    VkExtensionProperties *extensions) {
  LLMC_FAKE_CALL;
  return listExtension(driver().offer.importsHostMemory,
                       VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, count,
                       extensions);
}

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceExternalBufferProperties(
    VkPhysicalDevice, const VkPhysicalDeviceExternalBufferInfo *,
    VkExternalBufferProperties *properties) {
  properties->externalMemoryProperties.externalMemoryFeatures =
      VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
}

} // namespace llmc::test::fake
