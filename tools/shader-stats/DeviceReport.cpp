// SPDX-License-Identifier: Apache-2.0
//
// Device::print: a device's limits and features as JSON.

#include "tools/shader-stats/Device.h"

#include <cstdio>
#include <iterator>

namespace llmc::stats {

namespace {

constexpr const char *kSubgroupOperations[] = {
    "basic",           "vote",
    "arithmetic",      "ballot",
    "shuffle",         "shuffle_relative",
    "clustered",       "quad",
    "partitioned_nv",  "rotate",
    "rotate_clustered"};

/// The names of VkComponentTypeKHR, in its order.
constexpr const char *kComponentTypes[] = {
    "f16", "f32", "f64", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"};

std::string componentType(VkComponentTypeKHR type) {
  unsigned index = static_cast<unsigned>(type);
  return index < std::size(kComponentTypes) ? kComponentTypes[index]
                                            : std::to_string(index);
}

std::string shapeText(const VkCooperativeMatrixPropertiesKHR &shape) {
  return std::to_string(shape.MSize) + "x" + std::to_string(shape.NSize) + "x" +
         std::to_string(shape.KSize) + " " + componentType(shape.AType) + "*" +
         componentType(shape.BType) + "+" + componentType(shape.CType) + "->" +
         componentType(shape.ResultType) + " scope " +
         std::to_string(shape.scope) +
         (shape.saturatingAccumulation ? " saturating" : "");
}

std::string versionText(uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
         std::to_string(VK_API_VERSION_MINOR(version)) + "." +
         std::to_string(VK_API_VERSION_PATCH(version));
}

} // namespace

/// Prints the members of one JSON object, a line each.
class JsonPrinter {
public:
  JsonPrinter() { std::printf("{"); }
  ~JsonPrinter() { std::printf("\n}\n"); }
  void item(const char *key, const std::string &value) {
    std::printf("%s\n  \"%s\": %s", separator, key, value.c_str());
    separator = ",";
  }
  void number(const char *key, uint64_t value) {
    item(key, std::to_string(value));
  }
  void boolean(const char *key, VkBool32 value) {
    item(key, value ? "true" : "false");
  }
  void list(const char *key, const std::vector<std::string> &values) {
    std::string text;
    for (const std::string &value : values)
      text += (text.empty() ? "" : ", ") + value;
    item(key, "[" + text + "]");
  }
  void triple(const char *key, const uint32_t (&values)[3]) {
    list(key, {std::to_string(values[0]), std::to_string(values[1]),
               std::to_string(values[2])});
  }

private:
  const char *separator = "";
};

void Device::printIdentity(JsonPrinter &out) const {
  out.item("deviceName", quoted(properties.properties.deviceName));
  out.item("driver",
           quoted(std::string(driver.driverName) + " " + driver.driverInfo));
  out.item("apiVersion", quoted(versionText(api)));
  out.number("vendorID", properties.properties.vendorID);
  out.number("deviceID", properties.properties.deviceID);
  out.number("subgroupSize", subgroups.subgroupSize);
  out.number("minSubgroupSize", subgroupSizes.minSubgroupSize);
  out.number("maxSubgroupSize", subgroupSizes.maxSubgroupSize);
  out.number("maxComputeWorkgroupSubgroups",
             subgroupSizes.maxComputeWorkgroupSubgroups);
  out.boolean("requiredSubgroupSizeInCompute",
              subgroupSizes.requiredSubgroupSizeStages &
                  VK_SHADER_STAGE_COMPUTE_BIT);
  out.boolean("subgroupSizeControl", api >= VK_API_VERSION_1_3
                                         ? features13.subgroupSizeControl
                                         : sizeControl.subgroupSizeControl);
  out.boolean("computeFullSubgroups", api >= VK_API_VERSION_1_3
                                          ? features13.computeFullSubgroups
                                          : sizeControl.computeFullSubgroups);
  out.boolean("subgroupOpsInCompute",
              subgroups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT);
  std::vector<std::string> operations;
  for (unsigned i = 0; i < std::size(kSubgroupOperations); ++i)
    if (subgroups.supportedOperations >> i & 1)
      operations.push_back(quoted(kSubgroupOperations[i]));
  out.list("subgroupOperations", operations);
  out.boolean("shaderSubgroupExtendedTypes",
              api >= VK_API_VERSION_1_2
                  ? features12.shaderSubgroupExtendedTypes
                  : extendedTypes.shaderSubgroupExtendedTypes);
}

void Device::printLimits(JsonPrinter &out) const {
  const VkPhysicalDeviceLimits &limits = properties.properties.limits;
  out.number("maxComputeWorkGroupInvocations",
             limits.maxComputeWorkGroupInvocations);
  out.triple("maxComputeWorkGroupSize", limits.maxComputeWorkGroupSize);
  out.triple("maxComputeWorkGroupCount", limits.maxComputeWorkGroupCount);
  out.number("maxComputeSharedMemorySize", limits.maxComputeSharedMemorySize);
  out.number("maxPushConstantsSize", limits.maxPushConstantsSize);
  out.number("maxStorageBufferRange", limits.maxStorageBufferRange);
  out.number("maxUniformBufferRange", limits.maxUniformBufferRange);
  out.number("maxMemoryAllocationSize", maintenance3.maxMemoryAllocationSize);
  if (api >= VK_API_VERSION_1_3)
    out.number("maxBufferSize", properties13.maxBufferSize);
  out.number("maxPerStageDescriptorStorageBuffers",
             limits.maxPerStageDescriptorStorageBuffers);
  out.number("maxBoundDescriptorSets", limits.maxBoundDescriptorSets);
  out.number("minStorageBufferOffsetAlignment",
             limits.minStorageBufferOffsetAlignment);
  out.number("minMemoryMapAlignment", limits.minMemoryMapAlignment);
  out.number("nonCoherentAtomSize", limits.nonCoherentAtomSize);
  out.item("timestampPeriod", std::to_string(limits.timestampPeriod));
}

void Device::printTypes(JsonPrinter &out) const {
  out.boolean("shaderInt16", features.features.shaderInt16);
  out.boolean("shaderInt64", features.features.shaderInt64);
  out.boolean("shaderFloat64", features.features.shaderFloat64);
  out.boolean("robustBufferAccess", features.features.robustBufferAccess);
  out.boolean("shaderFloat16", api >= VK_API_VERSION_1_2
                                   ? features12.shaderFloat16
                                   : float16Int8.shaderFloat16);
  out.boolean("shaderInt8", api >= VK_API_VERSION_1_2 ? features12.shaderInt8
                                                      : float16Int8.shaderInt8);
  out.boolean("storageBuffer16BitAccess",
              api >= VK_API_VERSION_1_2 ? features11.storageBuffer16BitAccess
                                        : storage16.storageBuffer16BitAccess);
  out.boolean("uniformAndStorageBuffer16BitAccess",
              api >= VK_API_VERSION_1_2
                  ? features11.uniformAndStorageBuffer16BitAccess
                  : storage16.uniformAndStorageBuffer16BitAccess);
  out.boolean("storagePushConstant16", api >= VK_API_VERSION_1_2
                                           ? features11.storagePushConstant16
                                           : storage16.storagePushConstant16);
  out.boolean("storageBuffer8BitAccess",
              api >= VK_API_VERSION_1_2 ? features12.storageBuffer8BitAccess
                                        : storage8.storageBuffer8BitAccess);
  out.boolean("storagePushConstant8", api >= VK_API_VERSION_1_2
                                          ? features12.storagePushConstant8
                                          : storage8.storagePushConstant8);
  out.boolean("variablePointers", api >= VK_API_VERSION_1_2
                                      ? features11.variablePointers
                                      : variablePointers.variablePointers);
}

void Device::printFeatures(JsonPrinter &out) const {
  out.boolean("scalarBlockLayout", api >= VK_API_VERSION_1_2
                                       ? features12.scalarBlockLayout
                                       : scalarLayout.scalarBlockLayout);
  out.boolean("bufferDeviceAddress", api >= VK_API_VERSION_1_2
                                         ? features12.bufferDeviceAddress
                                         : bufferAddresses.bufferDeviceAddress);
  out.boolean("vulkanMemoryModel", api >= VK_API_VERSION_1_2
                                       ? features12.vulkanMemoryModel
                                       : memoryModel.vulkanMemoryModel);
  out.boolean("vulkanMemoryModelDeviceScope",
              api >= VK_API_VERSION_1_2
                  ? features12.vulkanMemoryModelDeviceScope
                  : memoryModel.vulkanMemoryModelDeviceScope);
  out.boolean("shaderBufferInt64Atomics", features12.shaderBufferInt64Atomics);
  out.boolean("shaderBufferFloat32AtomicAdd",
              atomicFloat.shaderBufferFloat32AtomicAdd);
  out.boolean("shaderSharedFloat32AtomicAdd",
              atomicFloat.shaderSharedFloat32AtomicAdd);
  out.boolean("descriptorIndexing", features12.descriptorIndexing);
  out.boolean("runtimeDescriptorArray", features12.runtimeDescriptorArray);
  out.boolean("maintenance4", api >= VK_API_VERSION_1_3
                                  ? features13.maintenance4
                                  : maintenance4.maintenance4);
  out.boolean("shaderZeroInitializeWorkgroupMemory",
              features13.shaderZeroInitializeWorkgroupMemory);
  out.boolean("workgroupMemoryExplicitLayout",
              workgroupLayout.workgroupMemoryExplicitLayout);
  out.boolean("workgroupMemoryExplicitLayout8BitAccess",
              workgroupLayout.workgroupMemoryExplicitLayout8BitAccess);
  out.boolean("workgroupMemoryExplicitLayout16BitAccess",
              workgroupLayout.workgroupMemoryExplicitLayout16BitAccess);
  out.boolean("shaderSubgroupUniformControlFlow",
              uniformControlFlow.shaderSubgroupUniformControlFlow);
  out.boolean("shaderMaximalReconvergence",
              maximalReconvergence.shaderMaximalReconvergence);
#ifdef VK_KHR_shader_bfloat16
  out.boolean("shaderBFloat16Type", bfloat16.shaderBFloat16Type);
#endif
}

void Device::printArithmetic(JsonPrinter &out) const {
  out.boolean("shaderIntegerDotProduct",
              api >= VK_API_VERSION_1_3 ? features13.shaderIntegerDotProduct
                                        : dotFeature.shaderIntegerDotProduct);
#define LLMC_PROPERTY(x) out.boolean(#x, dotProducts.x)
  LLMC_PROPERTY(integerDotProduct4x8BitPackedUnsignedAccelerated);
  LLMC_PROPERTY(integerDotProduct4x8BitPackedSignedAccelerated);
  LLMC_PROPERTY(integerDotProduct4x8BitPackedMixedSignednessAccelerated);
  LLMC_PROPERTY(integerDotProduct8BitSignedAccelerated);
  LLMC_PROPERTY(
      integerDotProductAccumulatingSaturating4x8BitPackedSignedAccelerated);
  LLMC_PROPERTY(
      integerDotProductAccumulatingSaturating4x8BitPackedMixedSignednessAccelerated);
#undef LLMC_PROPERTY
#define LLMC_PROPERTY(x) out.boolean(#x, floatControls.x)
  LLMC_PROPERTY(shaderSignedZeroInfNanPreserveFloat16);
  LLMC_PROPERTY(shaderSignedZeroInfNanPreserveFloat32);
  LLMC_PROPERTY(shaderDenormPreserveFloat16);
  LLMC_PROPERTY(shaderDenormPreserveFloat32);
  LLMC_PROPERTY(shaderDenormFlushToZeroFloat16);
  LLMC_PROPERTY(shaderDenormFlushToZeroFloat32);
  LLMC_PROPERTY(shaderRoundingModeRTEFloat16);
  LLMC_PROPERTY(shaderRoundingModeRTEFloat32);
  LLMC_PROPERTY(shaderRoundingModeRTZFloat16);
  LLMC_PROPERTY(shaderRoundingModeRTZFloat32);
#undef LLMC_PROPERTY
  out.number("denormBehaviorIndependence",
             floatControls.denormBehaviorIndependence);
}

void Device::print() const {
  JsonPrinter out;
  printIdentity(out);
  printLimits(out);
  printTypes(out);
  printFeatures(out);
  printArithmetic(out);
  out.boolean("cooperativeMatrix", cooperativeMatrix.cooperativeMatrix);
  std::vector<std::string> texts;
  for (const VkCooperativeMatrixPropertiesKHR &shape : shapes)
    texts.push_back(quoted(shapeText(shape)));
  out.list("cooperativeMatrixShapes", texts);
  texts.clear();
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
    texts.push_back(std::to_string(memory.memoryTypes[i].propertyFlags));
  out.list("memoryTypeFlags", texts);
  texts.clear();
  for (const std::string &extension : extensions)
    texts.push_back(quoted(extension));
  out.list("extensions", texts);
}

} // namespace llmc::stats
