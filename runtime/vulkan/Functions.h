// SPDX-License-Identifier: Apache-2.0
//
// The Vulkan functions that the runtime calls, as tables which are passed by
// reference. Nothing links libvulkan: a program starts without it, and a test
// can put its own functions in.

#ifndef LLMC_RUNTIME_VULKAN_FUNCTIONS_H
#define LLMC_RUNTIME_VULKAN_FUNCTIONS_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

namespace llmc::vulkan {

#define LLMC_VULKAN_GLOBAL_FUNCTIONS(X) X(vkCreateInstance)

#define LLMC_VULKAN_INSTANCE_FUNCTIONS(X)                                      \
  X(vkDestroyInstance)                                                         \
  X(vkEnumeratePhysicalDevices)                                                \
  X(vkGetPhysicalDeviceProperties2)                                            \
  X(vkGetPhysicalDeviceProperties)                                             \
  X(vkGetPhysicalDeviceFeatures2)                                              \
  X(vkGetPhysicalDeviceMemoryProperties)                                       \
  X(vkGetPhysicalDeviceQueueFamilyProperties)                                  \
  X(vkGetPhysicalDeviceExternalBufferProperties)                               \
  X(vkEnumerateDeviceExtensionProperties)                                      \
  X(vkCreateDevice)                                                            \
  X(vkGetDeviceProcAddr)

#define LLMC_VULKAN_DEVICE_FUNCTIONS(X)                                        \
  X(vkDestroyDevice)                                                           \
  X(vkGetDeviceQueue)                                                          \
  X(vkQueueSubmit)                                                             \
  X(vkCreateBuffer)                                                            \
  X(vkDestroyBuffer)                                                           \
  X(vkGetBufferMemoryRequirements)                                             \
  X(vkAllocateMemory)                                                          \
  X(vkFreeMemory)                                                              \
  X(vkBindBufferMemory)                                                        \
  X(vkMapMemory)                                                               \
  X(vkCreateDescriptorSetLayout)                                               \
  X(vkDestroyDescriptorSetLayout)                                              \
  X(vkCreatePipelineLayout)                                                    \
  X(vkDestroyPipelineLayout)                                                   \
  X(vkCreateShaderModule)                                                      \
  X(vkDestroyShaderModule)                                                     \
  X(vkCreatePipelineCache)                                                     \
  X(vkDestroyPipelineCache)                                                    \
  X(vkGetPipelineCacheData)                                                    \
  X(vkCreateComputePipelines)                                                  \
  X(vkDestroyPipeline)                                                         \
  X(vkCreateDescriptorPool)                                                    \
  X(vkDestroyDescriptorPool)                                                   \
  X(vkAllocateDescriptorSets)                                                  \
  X(vkUpdateDescriptorSets)                                                    \
  X(vkCreateCommandPool)                                                       \
  X(vkDestroyCommandPool)                                                      \
  X(vkAllocateCommandBuffers)                                                  \
  X(vkBeginCommandBuffer)                                                      \
  X(vkEndCommandBuffer)                                                        \
  X(vkCmdBindPipeline)                                                         \
  X(vkCmdBindDescriptorSets)                                                   \
  X(vkCmdDispatch)                                                             \
  X(vkCmdPipelineBarrier)                                                      \
  X(vkCmdFillBuffer)                                                           \
  X(vkCmdCopyBuffer)                                                           \
  X(vkCmdResetQueryPool)                                                       \
  X(vkCmdWriteTimestamp)                                                       \
  X(vkCreateQueryPool)                                                         \
  X(vkDestroyQueryPool)                                                        \
  X(vkGetQueryPoolResults)                                                     \
  X(vkCreateFence)                                                             \
  X(vkDestroyFence)                                                            \
  X(vkResetFences)                                                             \
  X(vkWaitForFences)

/// What the runtime does with its buffers.
inline constexpr VkBufferUsageFlags kBufferUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
    VK_BUFFER_USAGE_TRANSFER_DST_BIT;

#define LLMC_VULKAN_MEMBER(name) PFN_##name name = nullptr;

/// Known before there is an instance.
struct GlobalFunctions {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
  PFN_vkEnumerateInstanceVersion vkEnumerateInstanceVersion =
      nullptr; // absent from Vulkan 1.0
  PFN_vkEnumerateInstanceExtensionProperties
      vkEnumerateInstanceExtensionProperties = nullptr; // a fake may lack it
  LLMC_VULKAN_GLOBAL_FUNCTIONS(LLMC_VULKAN_MEMBER)
};

struct InstanceFunctions {
  PFN_vkSetDebugUtilsObjectNameEXT vkSetDebugUtilsObjectNameEXT =
      nullptr; // with VK_EXT_debug_utils only
  LLMC_VULKAN_INSTANCE_FUNCTIONS(LLMC_VULKAN_MEMBER)
  /// Of VK_KHR_cooperative_matrix, which the headers may not have; null where
  /// the driver has no such function.
  VkResult(VKAPI_PTR *vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(
      VkPhysicalDevice, uint32_t *, void *) = nullptr;
};

struct DeviceFunctions {
  PFN_vkGetMemoryHostPointerPropertiesEXT vkGetMemoryHostPointerPropertiesEXT =
      nullptr; // with VK_EXT_external_memory_host only
  LLMC_VULKAN_DEVICE_FUNCTIONS(LLMC_VULKAN_MEMBER)
};

#undef LLMC_VULKAN_MEMBER

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_FUNCTIONS_H
