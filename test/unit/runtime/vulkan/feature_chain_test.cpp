// SPDX-License-Identifier: Apache-2.0
//
// What is asked of a driver for cooperative matrices.

#include "runtime/vulkan/FeatureChain.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace llmc::vulkan {
namespace {

bool contains(const std::vector<const char *> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const VkBaseOutStructure *findStruct(FeatureChain &chain,
                                     VkStructureType type) {
  auto at = reinterpret_cast<const VkBaseOutStructure *>(chain.head());
  while (at && at->sType != type)
    at = at->pNext;
  return at;
}

TEST(FeatureChain, MatricesComeWithTheirExtensionAndMemoryModel) {
  FeatureChain chain(FeatureSupport{3, {kCooperativeMatrixExtension}});
  auto matrix = reinterpret_cast<const CooperativeMatrixFeatures *>(
      findStruct(chain, kCooperativeMatrixFeaturesType));
  auto model =
      reinterpret_cast<const VkPhysicalDeviceVulkanMemoryModelFeatures *>(
          findStruct(
              chain,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES));
  ASSERT_TRUE(matrix && model);
  EXPECT_FALSE(contains(chain.extensions(), kCooperativeMatrixExtension));
  EXPECT_TRUE(chain.enable("f16_matrix"));
  EXPECT_TRUE(matrix->cooperativeMatrix);
  EXPECT_TRUE(model->vulkanMemoryModel);
  EXPECT_TRUE(contains(chain.extensions(), kCooperativeMatrixExtension));
  EXPECT_EQ(chain.names(), std::vector<std::string>{"f16_matrix"});
}

TEST(FeatureChain, DevicesWithoutTheExtensionAreNotAskedForMatrices) {
  FeatureChain chain(FeatureSupport{3, {}});
  EXPECT_FALSE(findStruct(chain, kCooperativeMatrixFeaturesType));
}

TEST(FeatureChain, MatricesWithoutTheMemoryModelDoNotCount) {
  FeatureChain chain(FeatureSupport{3, {kCooperativeMatrixExtension}});
  auto matrix = reinterpret_cast<CooperativeMatrixFeatures *>(
      const_cast<VkBaseOutStructure *>(
          findStruct(chain, kCooperativeMatrixFeaturesType)));
  matrix->cooperativeMatrix = VK_TRUE; // as a driver answers
  EXPECT_TRUE(chain.names().empty());
}

/// VkCooperativeMatrixPropertiesKHR, word by word after the two pointers.
struct Shape {
  VkStructureType sType;
  void *pNext;
  uint32_t m, n, k, a, b, c, result, saturates, scope;
};

VkResult listShapes(VkPhysicalDevice, uint32_t *count, void *shapes) {
  if (!shapes) {
    *count = 2;
    return VK_SUCCESS;
  }
  auto *out = static_cast<Shape *>(shapes);
  // int8, then f16 with sums in f32, of a subgroup.
  out[0] = {out[0].sType, nullptr, 16, 16, 32, 3, 3, 5, 5, 0, 3};
  out[1] = {out[1].sType, nullptr, 16, 16, 16, 0, 0, 1, 1, 0, 3};
  return VK_SUCCESS;
}

VkResult listOtherShapes(VkPhysicalDevice, uint32_t *count, void *shapes) {
  if (!shapes) {
    *count = 1;
    return VK_SUCCESS;
  }
  auto *out = static_cast<Shape *>(shapes);
  out[0] = {out[0].sType, nullptr, 16, 8, 16, 0, 0, 1, 1, 0, 3};
  return VK_SUCCESS;
}

TEST(CooperativeMatrix, TheShapeOfTheKernelsMustBeThere) {
  InstanceFunctions functions;
  EXPECT_FALSE(offersF16Matrix(functions, nullptr));
  functions.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR = listShapes;
  EXPECT_TRUE(offersF16Matrix(functions, nullptr));
  functions.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR = listOtherShapes;
  EXPECT_FALSE(offersF16Matrix(functions, nullptr));
}

} // namespace
} // namespace llmc::vulkan
