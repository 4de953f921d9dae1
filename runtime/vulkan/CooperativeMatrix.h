// SPDX-License-Identifier: Apache-2.0
//
// VK_KHR_cooperative_matrix, which Debian 12's Vulkan headers are older than:
// what the runtime needs of it. Numbers and layouts are the extension's.

#ifndef LLMC_RUNTIME_VULKAN_COOPERATIVEMATRIX_H
#define LLMC_RUNTIME_VULKAN_COOPERATIVEMATRIX_H

#include "runtime/vulkan/Functions.h"

namespace llmc::vulkan {

inline constexpr const char *kCooperativeMatrixExtension =
    "VK_KHR_cooperative_matrix";

/// VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR
inline constexpr auto kCooperativeMatrixFeaturesType =
    static_cast<VkStructureType>(1000506000);

/// VkPhysicalDeviceCooperativeMatrixFeaturesKHR
struct CooperativeMatrixFeatures {
  VkStructureType sType;
  void *pNext;
  VkBool32 cooperativeMatrix;
  VkBool32 cooperativeMatrixRobustBufferAccess;
};

/// Whether a subgroup of the device multiplies matrices of f16 of 16 x 16 x 16
/// with sums in f32. False where the extension's function is missing.
bool offersF16Matrix(const InstanceFunctions &functions,
                     VkPhysicalDevice device);

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_COOPERATIVEMATRIX_H
