// SPDX-License-Identifier: Apache-2.0
//
// VkResult as Status.

#ifndef LLMC_RUNTIME_VULKAN_VULKANSTATUS_H
#define LLMC_RUNTIME_VULKAN_VULKANSTATUS_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Functions.h"

#include <string>
#include <string_view>

namespace llmc::vulkan {

/// "VK_ERROR_DEVICE_LOST"; "VkResult -99" for one that is not known here.
std::string resultName(VkResult result);

/// Ok for VK_SUCCESS; else the sentence `act` + " failed with " + the result's
/// name. VK_INCOMPLETE and other positive results that no caller asks for are
/// failures too.
Status fromResult(VkResult result, std::string_view act);

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_VULKANSTATUS_H
