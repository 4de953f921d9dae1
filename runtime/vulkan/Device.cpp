// SPDX-License-Identifier: Apache-2.0
//
// Device.h.

#include "runtime/vulkan/Device.h"

#include "runtime/vulkan/Fence.h"
#include "runtime/vulkan/VulkanStatus.h"

namespace llmc::vulkan {

namespace {

Status createHandle(const InstanceFunctions &functions,
                    const PhysicalDevice &physical, FeatureChain &chain,
                    bool importsHostMemory, VkDevice &device) {
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex =
      static_cast<uint32_t>(physical.facts.computeQueueFamily);
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  std::vector<const char *> extensions = chain.extensions();
  if (importsHostMemory)
    extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = chain.head();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  return fromResult(functions.vkCreateDevice(physical.handle, &info,
                                             /*pAllocator=*/nullptr, &device),
                    "creating the device " + physical.facts.name);
}

} // namespace

StatusOr<std::unique_ptr<Device>>
Device::create(std::shared_ptr<Instance> instance, size_t physicalDevice,
               const DeviceOptions &options) {
  const PhysicalDevice &physical = instance->physicalDevices()[physicalDevice];
  FeatureChain chain(physical.support);
  for (const std::string &feature : options.features) {
    if (!physical.facts.hasFeature(feature))
      return Status(StatusCode::Unsupported,
                    physical.facts.name + " lacks the feature " + feature);
    chain.enable(feature);
  }
  const bool requiresSize =
      options.subgroupSize &&
      physical.facts.minSubgroupSize != physical.facts.maxSubgroupSize;
  if (requiresSize)
    chain.enableSubgroupSizeControl();
  std::unique_ptr<Device> device(new Device(instance, physical));
  device->subgroupSize = requiresSize ? options.subgroupSize : 0;
  const bool imports =
      options.importsHostMemory && physical.facts.importAlignment;
  LLMC_RETURN_IF_ERROR(createHandle(instance->functions(), physical, chain,
                                    imports, device->device));
  LLMC_RETURN_IF_ERROR(device->loadFunctions());
  if (imports)
    device->table.vkGetMemoryHostPointerPropertiesEXT =
        reinterpret_cast<PFN_vkGetMemoryHostPointerPropertiesEXT>(
            device->instance->functions().vkGetDeviceProcAddr(
                device->device, "vkGetMemoryHostPointerPropertiesEXT"));
  device->instance->functions().vkGetPhysicalDeviceMemoryProperties(
      physical.handle, &device->memoryProperties);
  device->table.vkGetDeviceQueue(
      device->device, static_cast<uint32_t>(physical.facts.computeQueueFamily),
      /*queueIndex=*/0, &device->queue);
  return device;
}

Device::~Device() {
  if (isAbandoned()) {
    // The instance has to stay with its device.
    new std::shared_ptr<Instance>(std::move(instance));
    return;
  }
  if (!device)
    return;
  // The table may not have been loaded.
  const auto destroy = reinterpret_cast<PFN_vkDestroyDevice>(
      instance->functions().vkGetDeviceProcAddr(device, "vkDestroyDevice"));
  if (destroy)
    destroy(device, /*pAllocator=*/nullptr);
}

Status Device::loadFunctions() {
  const PFN_vkGetDeviceProcAddr getDeviceProcAddr =
      instance->functions().vkGetDeviceProcAddr;
#define LLMC_LOAD(name)                                                        \
  table.name = reinterpret_cast<PFN_##name>(getDeviceProcAddr(device, #name)); \
  if (!table.name)                                                             \
    return Status(StatusCode::NoVulkan,                                        \
                  "the Vulkan device has no function " #name);
  LLMC_VULKAN_DEVICE_FUNCTIONS(LLMC_LOAD)
#undef LLMC_LOAD
  return okStatus();
}

/// A name that can't be given is nobody's loss.
void Device::setName(VkObjectType type, uint64_t handle,
                     const std::string &name) const {
  const PFN_vkSetDebugUtilsObjectNameEXT set =
      instance->functions().vkSetDebugUtilsObjectNameEXT;
  if (!set)
    return;
  VkDebugUtilsObjectNameInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
  info.objectType = type;
  info.objectHandle = handle;
  info.pObjectName = name.c_str();
  (void)set(device, &info);
}

Status Device::submit(const std::vector<VkCommandBuffer> &commandBuffers,
                      Fence &fence) {
  if (isLost())
    return Status(StatusCode::DeviceLost,
                  facts().name + " was lost earlier; load the file again");
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = static_cast<uint32_t>(commandBuffers.size());
  info.pCommandBuffers = commandBuffers.data();
  const std::lock_guard<std::mutex> guard(queueLock);
  const VkResult result = table.vkQueueSubmit(queue, 1, &info, fence.handle());
  if (result == VK_SUCCESS) {
    fence.notePending();
    return okStatus(); // without the sentence: this runs for every token
  }
  return noteLoss(fromResult(result, "submitting to " + facts().name));
}

void Device::abandon() {
  lost = true;
  abandoned = true;
}

Status Device::noteLoss(Status status) {
  if (status.code() == StatusCode::DeviceLost)
    lost = true;
  return status;
}

} // namespace llmc::vulkan
