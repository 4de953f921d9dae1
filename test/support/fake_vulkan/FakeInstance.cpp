// SPDX-License-Identifier: Apache-2.0
//
// Vulkan functions of the instance and of the one physical device.

#include "test/support/fake_vulkan/FakeDriver.h"

#include <algorithm>
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
  *version = driver().offer.gpu ? VK_API_VERSION_1_3 : VK_API_VERSION_1_1;
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
  const std::optional<FakeGpu> &gpu = driver().offer.gpu;
  if (!gpu)
    return;
  properties->apiVersion = VK_API_VERSION_1_3;
  properties->vendorID = gpu->vendorId;
  properties->deviceID = gpu->deviceId;
  std::strncpy(properties->deviceName, gpu->name.c_str(),
               sizeof(properties->deviceName) - 1);
  limits.minStorageBufferOffsetAlignment = 16;
  limits.maxPerStageDescriptorStorageBuffers = 64;
  limits.maxComputeWorkGroupInvocations = 1024;
  limits.maxComputeSharedMemorySize = 65536;
  std::fill_n(limits.maxComputeWorkGroupSize, 3, 1024u);
}

namespace {

/// Of the GPU that is offered.
void describeSubgroups(const FakeGpu &gpu, VkBaseOutStructure *next) {
  if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES) {
    auto &subgroup =
        *reinterpret_cast<VkPhysicalDeviceSubgroupProperties *>(next);
    subgroup.subgroupSize = gpu.subgroupSize;
    subgroup.supportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
    subgroup.supportedOperations = 0xff; // all that Vulkan 1.1 has
  } else if (
      next->sType ==
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES) {
    auto &size =
        *reinterpret_cast<VkPhysicalDeviceSubgroupSizeControlProperties *>(
            next);
    size.minSubgroupSize = size.maxSubgroupSize = gpu.subgroupSize;
    size.requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
  }
}

/// Sets all features of a structure, which are all that is behind its head.
template <typename Features>
void setAll(void *structure) {
  auto *first = reinterpret_cast<VkBool32 *>(
      static_cast<VkBaseOutStructure *>(structure) + 1);
  std::fill(first,
            reinterpret_cast<VkBool32 *>(static_cast<char *>(structure) +
                                         sizeof(Features)),
            VK_TRUE);
}

} // namespace

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties2(
    VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties) {
  vkGetPhysicalDeviceProperties(device, &properties->properties);
  for (auto *next = static_cast<VkBaseOutStructure *>(properties->pNext); next;
       next = next->pNext) {
    if (driver().offer.gpu)
      describeSubgroups(*driver().offer.gpu, next);
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
}

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceFeatures2(
    VkPhysicalDevice, VkPhysicalDeviceFeatures2 *features) {
  if (!driver().offer.gpu)
    return;
  constexpr auto kMatrixFeatures = static_cast<VkStructureType>(1000506000);
  /// VkPhysicalDeviceCooperativeMatrixFeaturesKHR
  struct MatrixFeatures {
    VkBaseOutStructure head;
    VkBool32 cooperativeMatrix, robustBufferAccess;
  };
  setAll<VkPhysicalDeviceFeatures2>(features);
  for (auto *next = static_cast<VkBaseOutStructure *>(features->pNext); next;
       next = next->pNext)
    switch (static_cast<int>(next->sType)) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
      setAll<VkPhysicalDevice16BitStorageFeatures>(next);
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
      setAll<VkPhysicalDevice8BitStorageFeatures>(next);
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES:
      setAll<VkPhysicalDeviceShaderFloat16Int8Features>(next);
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES:
      setAll<VkPhysicalDeviceShaderIntegerDotProductFeatures>(next);
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES:
      setAll<VkPhysicalDeviceSubgroupSizeControlFeatures>(next);
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES:
      setAll<VkPhysicalDeviceVulkanMemoryModelFeatures>(next);
      break;
    case kMatrixFeatures:
      setAll<MatrixFeatures>(next);
      break;
    }
}

VKAPI_ATTR VkResult VKAPI_CALL
vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(
    VkPhysicalDevice, uint32_t *count, MatrixProperties *properties) {
  constexpr int32_t kFloat16 = 0, kFloat32 = 1, kSubgroup = 3;
  if (properties && *count)
    properties[0] = {properties[0].sType,
                     nullptr,
                     16,
                     16,
                     16,
                     kFloat16,
                     kFloat16,
                     kFloat32,
                     kFloat32,
                     VK_FALSE,
                     kSubgroup};
  *count = driver().offer.gpu ? 1 : 0;
  return VK_SUCCESS;
}

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
  if (driver().offer.gpu)
    return listExtension(true, "VK_KHR_cooperative_matrix", count, extensions);
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
