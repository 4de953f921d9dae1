// SPDX-License-Identifier: Apache-2.0
//
// The shapes of cooperative matrices.

#include "runtime/vulkan/CooperativeMatrix.h"

#include <algorithm>
#include <vector>

namespace llmc::vulkan {

namespace {

/// VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR
constexpr auto kPropertiesType = static_cast<VkStructureType>(1000506001);
/// VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR
constexpr int32_t kFloat16 = 0, kFloat32 = 1;
/// VK_SCOPE_SUBGROUP_KHR
constexpr int32_t kSubgroup = 3;

/// VkCooperativeMatrixPropertiesKHR
struct Properties {
  VkStructureType sType;
  void *pNext;
  uint32_t m, n, k;
  int32_t aType, bType, cType, resultType;
  VkBool32 saturatingAccumulation;
  int32_t scope;
};

bool isF16Matrix(const Properties &shape) {
  return shape.m == 16 && shape.n == 16 && shape.k == 16 &&
         shape.aType == kFloat16 && shape.bType == kFloat16 &&
         shape.cType == kFloat32 && shape.resultType == kFloat32 &&
         shape.scope == kSubgroup;
}

} // namespace

bool offersF16Matrix(const InstanceFunctions &functions,
                     VkPhysicalDevice device) {
  const auto list = functions.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR;
  uint32_t count = 0;
  if (!list || list(device, &count, nullptr) != VK_SUCCESS)
    return false;
  std::vector<Properties> shapes(
      count, Properties{kPropertiesType, nullptr, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  if (list(device, &count, shapes.data()) != VK_SUCCESS)
    return false;
  shapes.resize(count);
  return std::any_of(shapes.begin(), shapes.end(), isF16Matrix);
}

} // namespace llmc::vulkan
