// SPDX-License-Identifier: Apache-2.0
//
// PhysicalDevice.h.

#include "runtime/vulkan/PhysicalDevice.h"

#include "runtime/vulkan/Extensions.h"

#include <algorithm>
#include <cstring>

namespace llmc::vulkan {

namespace {

void findComputeQueueFamily(const InstanceFunctions &functions,
                            VkPhysicalDevice handle, DeviceFacts &facts) {
  uint32_t count = 0;
  functions.vkGetPhysicalDeviceQueueFamilyProperties(handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  functions.vkGetPhysicalDeviceQueueFamilyProperties(handle, &count,
                                                     families.data());
  for (uint32_t i = 0; i < count; ++i)
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) &&
        families[i].queueCount) {
      facts.computeQueueFamily = static_cast<int32_t>(i);
      facts.timestampBits = families[i].timestampValidBits;
      return;
    }
}

void readCore(const VkPhysicalDeviceProperties &properties,
              uint32_t instanceMinor, DeviceFacts &facts) {
  const VkPhysicalDeviceLimits &limits = properties.limits;
  facts.name = properties.deviceName;
  facts.vendorId = properties.vendorID;
  facts.deviceId = properties.deviceID;
  facts.type = properties.deviceType <= VK_PHYSICAL_DEVICE_TYPE_CPU
                   ? static_cast<DeviceType>(properties.deviceType)
                   : DeviceType::Other;
  facts.vulkanMajor = VK_API_VERSION_MAJOR(properties.apiVersion);
  facts.vulkanMinor =
      std::min(VK_API_VERSION_MINOR(properties.apiVersion), instanceMinor);
  facts.driverVersion = properties.driverVersion;
  std::memcpy(facts.pipelineCacheUuid.data(), properties.pipelineCacheUUID,
              VK_UUID_SIZE);
  facts.timestampPeriod = limits.timestampPeriod;
  facts.maxStorageBufferRange = limits.maxStorageBufferRange;
  facts.storageBufferAlignment = limits.minStorageBufferOffsetAlignment;
  facts.maxStorageBuffersPerStage = limits.maxPerStageDescriptorStorageBuffers;
  facts.maxWorkgroupInvocations = limits.maxComputeWorkGroupInvocations;
  facts.workgroupMemoryBytes = limits.maxComputeSharedMemorySize;
  std::copy_n(limits.maxComputeWorkGroupSize, 3,
              facts.maxWorkgroupSize.begin());
  std::copy_n(limits.maxComputeWorkGroupCount, 3,
              facts.maxWorkgroupCount.begin());
}

/// The words for subgroup operations, which are properties in Vulkan and not
/// features.
void readSubgroup(const VkPhysicalDeviceSubgroupProperties &subgroup,
                  DeviceFacts &facts) {
  facts.subgroupSize = subgroup.subgroupSize;
  if (!(subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT))
    return;
  const auto offer = [&](VkSubgroupFeatureFlagBits bit, const char *name) {
    if (subgroup.supportedOperations & bit)
      facts.features.emplace_back(name);
  };
  offer(VK_SUBGROUP_FEATURE_BASIC_BIT, "subgroup_basic");
  offer(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, "subgroup_arithmetic");
  offer(VK_SUBGROUP_FEATURE_SHUFFLE_BIT, "subgroup_shuffle");
  offer(VK_SUBGROUP_FEATURE_BALLOT_BIT, "subgroup_ballot");
}

/// Whether buffers of the program's own memory can be bound.
bool importsHostMemory(const InstanceFunctions &functions,
                       const PhysicalDevice &device) {
  if (!device.support.hasExtension(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME))
    return false;
  VkPhysicalDeviceExternalBufferInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO;
  info.usage = kBufferUsage;
  info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkExternalBufferProperties properties{};
  properties.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES;
  functions.vkGetPhysicalDeviceExternalBufferProperties(device.handle, &info,
                                                        &properties);
  return properties.externalMemoryProperties.externalMemoryFeatures &
         VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
}

/// Everything that came with Vulkan 1.1 or later.
void readExtended(const InstanceFunctions &functions, PhysicalDevice &device) {
  const bool hasDriver =
      device.facts.vulkanMinor >= 2 ||
      device.support.hasExtension("VK_KHR_driver_properties");
  const bool hasSizeControl =
      device.facts.vulkanMinor >= 3 ||
      device.support.hasExtension("VK_EXT_subgroup_size_control");
  VkPhysicalDeviceIDProperties id{};
  id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  VkPhysicalDeviceSubgroupProperties subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  subgroup.pNext = &id;
  VkPhysicalDeviceMaintenance3Properties maintenance{};
  maintenance.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  maintenance.pNext = &subgroup;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &maintenance;
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  if (hasDriver) {
    driver.pNext = properties.pNext;
    properties.pNext = &driver;
  }
  VkPhysicalDeviceSubgroupSizeControlProperties sizeControl{};
  sizeControl.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
  if (hasSizeControl) {
    sizeControl.pNext = properties.pNext;
    properties.pNext = &sizeControl;
  }
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT hostMemory{};
  hostMemory.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
  const bool canImport = importsHostMemory(functions, device);
  if (canImport) {
    hostMemory.pNext = properties.pNext;
    properties.pNext = &hostMemory;
  }
  functions.vkGetPhysicalDeviceProperties2(device.handle, &properties);

  FeatureChain chain(device.support);
  functions.vkGetPhysicalDeviceFeatures2(device.handle, chain.head());
  DeviceFacts &facts = device.facts;
  facts.features = chain.names();
  if (facts.hasFeature("f16_matrix") &&
      !offersF16Matrix(functions, device.handle))
    facts.features.erase(
        std::find(facts.features.begin(), facts.features.end(), "f16_matrix"));
  readSubgroup(subgroup, facts);
  facts.maxMemoryAllocation = maintenance.maxMemoryAllocationSize;
  facts.importAlignment =
      canImport ? hostMemory.minImportedHostPointerAlignment : 0;
  std::memcpy(facts.deviceUuid.data(), id.deviceUUID, VK_UUID_SIZE);
  std::memcpy(facts.driverUuid.data(), id.driverUUID, VK_UUID_SIZE);
  if (hasDriver)
    facts.driver = std::string(driver.driverName) + " " + driver.driverInfo;
  if (chain.canRequireSubgroupSize() &&
      (sizeControl.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT)) {
    facts.minSubgroupSize = sizeControl.minSubgroupSize;
    facts.maxSubgroupSize = sizeControl.maxSubgroupSize;
  }
}

} // namespace

PhysicalDevice describePhysicalDevice(const InstanceFunctions &functions,
                                      VkPhysicalDevice handle,
                                      uint32_t instanceMinor) {
  PhysicalDevice device;
  device.handle = handle;
  VkPhysicalDeviceProperties properties{};
  functions.vkGetPhysicalDeviceProperties(handle, &properties);
  readCore(properties, instanceMinor, device.facts);
  findComputeQueueFamily(functions, handle, device.facts);
  device.support.vulkanMinor = device.facts.vulkanMinor;
  // Vulkan 1.0 devices are described only so that the refusal can name them.
  if (device.facts.vulkanMinor >= 1) {
    device.support.extensions =
        listExtensions([&](uint32_t *count, VkExtensionProperties *properties) {
          return functions.vkEnumerateDeviceExtensionProperties(
              handle, /*pLayerName=*/nullptr, count, properties);
        });
    readExtended(functions, device);
  }
  return device;
}

} // namespace llmc::vulkan
