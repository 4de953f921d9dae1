// SPDX-License-Identifier: Apache-2.0
//
// VulkanStatus.h as two tables.

#include "runtime/vulkan/VulkanStatus.h"

namespace llmc::vulkan {

std::string resultName(VkResult result) {
#define LLMC_NAME(name)                                                        \
  case name:                                                                   \
    return #name;
  switch (result) {
    LLMC_NAME(VK_SUCCESS)
    LLMC_NAME(VK_NOT_READY)
    LLMC_NAME(VK_TIMEOUT)
    LLMC_NAME(VK_INCOMPLETE)
    LLMC_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    LLMC_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    LLMC_NAME(VK_ERROR_INITIALIZATION_FAILED)
    LLMC_NAME(VK_ERROR_DEVICE_LOST)
    LLMC_NAME(VK_ERROR_MEMORY_MAP_FAILED)
    LLMC_NAME(VK_ERROR_LAYER_NOT_PRESENT)
    LLMC_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    LLMC_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    LLMC_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    LLMC_NAME(VK_ERROR_TOO_MANY_OBJECTS)
    LLMC_NAME(VK_ERROR_FRAGMENTED_POOL)
    LLMC_NAME(VK_ERROR_UNKNOWN)
    LLMC_NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
    LLMC_NAME(VK_ERROR_INVALID_SHADER_NV)
  default:
    return "VkResult " + std::to_string(static_cast<int>(result));
  }
#undef LLMC_NAME
}

static StatusCode codeOf(VkResult result) {
  switch (result) {
  case VK_ERROR_OUT_OF_HOST_MEMORY:
    return StatusCode::OutOfHostMemory;
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
  case VK_ERROR_OUT_OF_POOL_MEMORY:
  case VK_ERROR_FRAGMENTED_POOL:
  case VK_ERROR_TOO_MANY_OBJECTS:
  case VK_ERROR_MEMORY_MAP_FAILED:
    return StatusCode::OutOfDeviceMemory;
  case VK_ERROR_DEVICE_LOST:
    return StatusCode::DeviceLost;
  case VK_TIMEOUT:
  case VK_NOT_READY:
    return StatusCode::Timeout;
  case VK_ERROR_INCOMPATIBLE_DRIVER:
    return StatusCode::NoVulkan;
  case VK_ERROR_EXTENSION_NOT_PRESENT:
  case VK_ERROR_FEATURE_NOT_PRESENT:
  case VK_ERROR_INITIALIZATION_FAILED:
  case VK_ERROR_INVALID_SHADER_NV:
    return StatusCode::Unsupported;
  default:
    return StatusCode::Internal;
  }
}

Status fromResult(VkResult result, std::string_view act) {
  if (result == VK_SUCCESS)
    return okStatus();
  return Status(codeOf(result),
                std::string(act) + " failed with " + resultName(result));
}

} // namespace llmc::vulkan
