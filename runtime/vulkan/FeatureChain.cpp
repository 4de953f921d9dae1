// SPDX-License-Identifier: Apache-2.0
//
// FeatureChain.h.

#include "runtime/vulkan/FeatureChain.h"

#include <algorithm>

namespace llmc::vulkan {

namespace {

constexpr uint32_t kNeverCore = UINT32_MAX;
constexpr const char *kFeatureNames[] = {
    "f16_storage",    "f16_arithmetic", "i8_storage",
    "i8_arithmetic",  "i16_arithmetic", "i64_arithmetic",
    "f64_arithmetic", "int_dot",        "f16_matrix"};
constexpr const char *kStorage8Extension = "VK_KHR_8bit_storage";
constexpr const char *kFloat16Int8Extension = "VK_KHR_shader_float16_int8";
constexpr const char *kIntegerDotExtension =
    "VK_KHR_shader_integer_dot_product";
constexpr const char *kMemoryModelExtension = "VK_KHR_vulkan_memory_model";
constexpr const char *kSubgroupSizeExtension = "VK_EXT_subgroup_size_control";

} // namespace

bool FeatureSupport::hasExtension(const std::string &name) const {
  return std::find(extensions.begin(), extensions.end(), name) !=
         extensions.end();
}

FeatureChain::FeatureChain(const FeatureSupport &support)
    : vulkanMinor(support.vulkanMinor) {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  storage8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
  float16Int8.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  integerDot.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
  subgroupSizeControl.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
  link(storage16, "VK_KHR_16bit_storage", 1, support);
  link(storage8, kStorage8Extension, 2, support);
  link(float16Int8, kFloat16Int8Extension, 2, support);
  memoryModel.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
  matrix.sType = kCooperativeMatrixFeaturesType;
  link(memoryModel, kMemoryModelExtension, 2, support);
  link(matrix, kCooperativeMatrixExtension, kNeverCore, support);
  link(integerDot, kIntegerDotExtension, 3, support);
  link(subgroupSizeControl, kSubgroupSizeExtension, 3, support);
}

/// Puts `structure` in when it belongs to the device's version or comes from an
/// extension.
template <typename T>
void FeatureChain::link(T &structure, const char *extension, uint32_t coreMinor,
                        const FeatureSupport &support) {
  if (support.vulkanMinor < coreMinor && !support.hasExtension(extension))
    return;
  structure.pNext = core.pNext;
  core.pNext = &structure;
}

VkBool32 *FeatureChain::find(const std::string &name) {
  if (name == "f16_storage")
    return &storage16.storageBuffer16BitAccess;
  if (name == "f16_arithmetic")
    return &float16Int8.shaderFloat16;
  if (name == "i8_storage")
    return &storage8.storageBuffer8BitAccess;
  if (name == "i8_arithmetic")
    return &float16Int8.shaderInt8;
  if (name == "i16_arithmetic")
    return &core.features.shaderInt16;
  if (name == "i64_arithmetic")
    return &core.features.shaderInt64;
  if (name == "f64_arithmetic")
    return &core.features.shaderFloat64;
  if (name == "int_dot")
    return &integerDot.shaderIntegerDotProduct;
  if (name == "f16_matrix")
    return &matrix.cooperativeMatrix;
  return nullptr;
}

/// A matrix of the feature needs the memory model, too.
bool FeatureChain::isOn(const std::string &name) const {
  return *const_cast<FeatureChain *>(this)->find(name) &&
         (name != "f16_matrix" || memoryModel.vulkanMemoryModel);
}

std::vector<std::string> FeatureChain::names() const {
  std::vector<std::string> on;
  for (const char *name : kFeatureNames)
    if (isOn(name))
      on.emplace_back(name);
  return on;
}

bool FeatureChain::enable(const std::string &name) {
  VkBool32 *feature = find(name);
  if (feature)
    *feature = VK_TRUE;
  // Kernels with matrices are written for this memory model.
  if (feature == &matrix.cooperativeMatrix)
    memoryModel.vulkanMemoryModel = VK_TRUE;
  return feature != nullptr;
}

std::vector<const char *> FeatureChain::extensions() const {
  std::vector<const char *> needed;
  if (vulkanMinor < 2 && storage8.storageBuffer8BitAccess)
    needed.push_back(kStorage8Extension);
  if (vulkanMinor < 2 && (float16Int8.shaderFloat16 || float16Int8.shaderInt8))
    needed.push_back(kFloat16Int8Extension);
  if (vulkanMinor < 2 && memoryModel.vulkanMemoryModel)
    needed.push_back(kMemoryModelExtension);
  if (matrix.cooperativeMatrix)
    needed.push_back(kCooperativeMatrixExtension);
  if (vulkanMinor < 3 && integerDot.shaderIntegerDotProduct)
    needed.push_back(kIntegerDotExtension);
  if (vulkanMinor < 3 && subgroupSizeControl.subgroupSizeControl)
    needed.push_back(kSubgroupSizeExtension);
  return needed;
}

} // namespace llmc::vulkan
