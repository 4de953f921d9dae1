// SPDX-License-Identifier: Apache-2.0
//
// The Vulkan features behind the words of TargetInfo.features, asked for and
// requested through one chain of structs.

#ifndef LLMC_RUNTIME_VULKAN_FEATURECHAIN_H
#define LLMC_RUNTIME_VULKAN_FEATURECHAIN_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/CooperativeMatrix.h"
#include "runtime/vulkan/Functions.h"

#include <string>
#include <vector>

namespace llmc::vulkan {

/// What decides which structs a device understands.
struct FeatureSupport {
  uint32_t vulkanMinor = 1;
  std::vector<std::string> extensions;

  bool hasExtension(const std::string &name) const;
};

/// The chain's members point at each other: it stays where it is made.
class FeatureChain {
public:
  /// Links the structs that `support` allows; all features are off.
  explicit FeatureChain(const FeatureSupport &support);
  FeatureChain(const FeatureChain &) = delete;
  FeatureChain &operator=(const FeatureChain &) = delete;

  VkPhysicalDeviceFeatures2 *head() { return &core; }
  /// Words for the features that are on.
  std::vector<std::string> names() const;
  /// Switches the feature behind `name` on; false when no feature is behind it,
  /// as for subgroup operations.
  bool enable(const std::string &name);
  bool canRequireSubgroupSize() const {
    return subgroupSizeControl.subgroupSizeControl;
  }
  void enableSubgroupSizeControl() {
    subgroupSizeControl.subgroupSizeControl = VK_TRUE;
  }
  /// Extensions of the structs in which something is on.
  std::vector<const char *> extensions() const;

private:
  template <typename T>
  void link(T &structure, const char *extension, uint32_t coreMinor,
            const FeatureSupport &support);
  VkBool32 *find(const std::string &name);
  bool isOn(const std::string &name) const;

  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDevice16BitStorageFeatures storage16{};
  VkPhysicalDevice8BitStorageFeatures storage8{};
  VkPhysicalDeviceShaderFloat16Int8Features float16Int8{};
  VkPhysicalDeviceShaderIntegerDotProductFeatures integerDot{};
  VkPhysicalDeviceVulkanMemoryModelFeatures memoryModel{};
  CooperativeMatrixFeatures matrix{};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroupSizeControl{};
  uint32_t vulkanMinor;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_FEATURECHAIN_H
