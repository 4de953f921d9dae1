// SPDX-License-Identifier: Apache-2.0
//
// A physical device's facts, read from Vulkan.

#ifndef LLMC_RUNTIME_VULKAN_PHYSICALDEVICE_H
#define LLMC_RUNTIME_VULKAN_PHYSICALDEVICE_H

#include "runtime/vulkan/DeviceFacts.h"
#include "runtime/vulkan/FeatureChain.h"
#include "runtime/vulkan/Functions.h"

namespace llmc::vulkan {

/// A handle that the instance owns, with what is known of it. Copyable,
/// immutable.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  DeviceFacts facts;
  FeatureSupport support;
};

/// Reads the facts. `instanceMinor`: the 1.x the instance was made for, which
/// bounds the device's. A device that can't tell its extensions is taken to
/// have none.
PhysicalDevice describePhysicalDevice(const InstanceFunctions &functions,
                                      VkPhysicalDevice handle,
                                      uint32_t instanceMinor);

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_PHYSICALDEVICE_H
