// SPDX-License-Identifier: Apache-2.0
//
// A Vulkan device whose driver is loaded directly, without the Vulkan loader,
// and everything that the driver says about it. Nothing is executed on it, so a
// driver on a device that fakegpu.c pretends to be will do.

#ifndef LLMC_TOOLS_SHADER_STATS_DEVICE_H
#define LLMC_TOOLS_SHADER_STATS_DEVICE_H

#include "tools/shader-stats/SpirvModule.h"

#include <set>
#include <string>
#include <vector>

#define LLMC_INSTANCE_FUNCTIONS(X)                                             \
  X(vkEnumeratePhysicalDevices)                                                \
  X(vkGetPhysicalDeviceProperties2)                                            \
  X(vkGetPhysicalDeviceFeatures2)                                              \
  X(vkGetPhysicalDeviceMemoryProperties)                                       \
  X(vkEnumerateDeviceExtensionProperties)                                      \
  X(vkGetPhysicalDeviceQueueFamilyProperties)                                  \
  X(vkCreateDevice) X(vkGetDeviceProcAddr) X(vkGetPhysicalDeviceProperties)
#define LLMC_DEVICE_FUNCTIONS(X)                                               \
  X(vkCreateShaderModule)                                                      \
  X(vkCreateDescriptorSetLayout)                                               \
  X(vkCreatePipelineLayout)                                                    \
  X(vkCreateComputePipelines)                                                  \
  X(vkGetPipelineExecutablePropertiesKHR)                                      \
  X(vkDestroyPipeline)                                                         \
  X(vkGetPipelineExecutableStatisticsKHR)                                      \
  X(vkGetPipelineExecutableInternalRepresentationsKHR)

namespace llmc::stats {

/// Throws Failure with |what| if |result| is an error.
void check(VkResult result, const char *what);

/// |text| as a JSON string.
std::string quoted(const std::string &text);

class JsonPrinter;

struct Device {
#define LLMC_FUNCTION(name) PFN_##name name = nullptr;
  LLMC_INSTANCE_FUNCTIONS(LLMC_FUNCTION)
  LLMC_DEVICE_FUNCTIONS(LLMC_FUNCTION)
#undef LLMC_FUNCTION

  VkPhysicalDevice physicalDevice = nullptr;
  VkDevice device = nullptr;
  std::set<std::string> extensions;
  uint32_t api = 0;
  VkPhysicalDeviceProperties2 properties{};
  VkPhysicalDeviceVulkan11Properties properties11{};
  VkPhysicalDeviceVulkan12Properties properties12{};
  VkPhysicalDeviceVulkan13Properties properties13{};
  VkPhysicalDeviceSubgroupProperties subgroups{};
  VkPhysicalDeviceMaintenance3Properties maintenance3{};
  VkPhysicalDeviceSubgroupSizeControlProperties subgroupSizes{};
  VkPhysicalDeviceShaderIntegerDotProductProperties dotProducts{};
  VkPhysicalDeviceFloatControlsProperties floatControls{};
  VkPhysicalDeviceDriverProperties driver{};
  VkPhysicalDeviceCooperativeMatrixPropertiesKHR cooperativeMatrices{};
  VkPhysicalDeviceFeatures2 features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  VkPhysicalDeviceVulkan13Features features13{};
  // The same, for devices older than Vulkan 1.2 and 1.3.
  VkPhysicalDevice16BitStorageFeatures storage16{};
  VkPhysicalDevice8BitStorageFeatures storage8{};
  VkPhysicalDeviceShaderFloat16Int8Features float16Int8{};
  VkPhysicalDeviceVariablePointersFeatures variablePointers{};
  VkPhysicalDeviceBufferDeviceAddressFeatures bufferAddresses{};
  VkPhysicalDeviceScalarBlockLayoutFeatures scalarLayout{};
  VkPhysicalDeviceVulkanMemoryModelFeatures memoryModel{};
  VkPhysicalDeviceSubgroupSizeControlFeatures sizeControl{};
  VkPhysicalDeviceShaderIntegerDotProductFeatures dotFeature{};
  VkPhysicalDeviceMaintenance4Features maintenance4{};
  VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures extendedTypes{};
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR
      executableProperties{};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR cooperativeMatrix{};
  VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR workgroupLayout{};
#ifdef VK_KHR_shader_bfloat16
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16{};
#endif
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomicFloat{};
  VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR
      uniformControlFlow{};
  VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR maximalReconvergence{};
  std::vector<VkCooperativeMatrixPropertiesKHR> shapes;
  VkPhysicalDeviceMemoryProperties memory{};

  bool has(const char *extension) const {
    return extensions.count(extension) > 0;
  }

  /// Loads the driver |path| and asks it for everything above. Throws Failure.
  explicit Device(const char *path);
  /// Makes the logical device, with all features but bounds checks, which
  /// change the code; those only if |isRobust|.
  void create(bool isRobust);
  /// Prints limits and features as JSON, under the names that vulkaninfo has
  /// for them.
  void print() const;

private:
  void printIdentity(JsonPrinter &out) const;
  void printLimits(JsonPrinter &out) const;
  void printTypes(JsonPrinter &out) const;
  void printFeatures(JsonPrinter &out) const;
  void printArithmetic(JsonPrinter &out) const;
  void createInstance(const char *path);
  void chainQueries();
  void chainOldFeatures();
  void chainOptionalFeatures();
  void queryCooperativeMatrixShapes();
  template <typename T>
  void addProperties(T &properties, VkStructureType type);
  template <typename T>
  void addFeatures(T &features, VkStructureType type);

  PFN_vkGetInstanceProcAddr getInstanceProcAddr = nullptr;
  VkInstance instance = nullptr;
  void *propertiesChain = nullptr;
  void *featuresChain = nullptr;
};

} // namespace llmc::stats

#endif // LLMC_TOOLS_SHADER_STATS_DEVICE_H
