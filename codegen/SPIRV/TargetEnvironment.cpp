// SPDX-License-Identifier: Apache-2.0
//
// The SPIR-V environment of a device: what kernels may use, from the device's
// features.

#include "codegen/SPIRV/TargetEnvironment.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

namespace llmc::codegen {

namespace spirv = mlir::spirv;

static spirv::Version versionOf(target::DeviceAttr device) {
  switch (device.getSpirvMinor()) {
  case 0:
  case 1:
  case 2:
  case 3:
    return spirv::Version::V_1_3;
  case 4:
    return spirv::Version::V_1_4;
  case 5:
    return spirv::Version::V_1_5;
  default:
    return spirv::Version::V_1_6;
  }
}

static SmallVector<spirv::Capability>
capabilitiesOf(target::DeviceAttr device) {
  using Capability = spirv::Capability;
  struct FeatureCapability {
    StringRef feature;
    Capability capability;
  };
  static const FeatureCapability table[] = {
      {"f16_storage", Capability::StorageBuffer16BitAccess},
      {"f16_arithmetic", Capability::Float16},
      {"i8_storage", Capability::StorageBuffer8BitAccess},
      {"i8_arithmetic", Capability::Int8},
      {"i16_arithmetic", Capability::Int16},
      {"int_dot", Capability::DotProduct},
      {"int_dot", Capability::DotProductInput4x8BitPacked},
      {"subgroup_arithmetic", Capability::GroupNonUniform},
      {"subgroup_arithmetic", Capability::GroupNonUniformArithmetic},
      {"subgroup_shuffle", Capability::GroupNonUniformShuffle},
      {"f16_matrix", Capability::GroupNonUniform},
      {"f16_matrix", Capability::VulkanMemoryModel},
      {"f16_matrix", Capability::CooperativeMatrixKHR},
  };
  SmallVector<Capability> capabilities = {Capability::Shader};
  for (const FeatureCapability &entry : table)
    if (device.hasFeature(entry.feature))
      capabilities.push_back(entry.capability);
  return capabilities;
}

spirv::TargetEnvAttr targetEnvironment(target::DeviceAttr device) {
  using Extension = spirv::Extension;
  MLIRContext *context = device.getContext();
  Builder builder(context);
  SmallVector<Extension> extensions = {
      Extension::SPV_KHR_storage_buffer_storage_class,
      Extension::SPV_KHR_16bit_storage,
      Extension::SPV_KHR_8bit_storage,
      Extension::SPV_KHR_integer_dot_product,
      Extension::SPV_KHR_vulkan_memory_model,
      Extension::SPV_KHR_cooperative_matrix};
  auto triple = spirv::VerCapExtAttr::get(
      versionOf(device), capabilitiesOf(device), extensions, context);
  SmallVector<int32_t> workgroupSize(device.getMaxWorkgroupSize());
  auto limits = spirv::ResourceLimitsAttr::get(
      context, static_cast<int>(device.getWorkgroupMemoryBytes()),
      static_cast<int>(device.getMaxInvocations()),
      builder.getI32ArrayAttr(workgroupSize),
      static_cast<int>(device.getSubgroupSize()),
      /*min_subgroup_size=*/std::nullopt, /*max_subgroup_size=*/std::nullopt,
      /*cooperative_matrix_properties_khr=*/builder.getArrayAttr({}),
      /*cooperative_matrix_properties_nv=*/builder.getArrayAttr({}));
  return spirv::TargetEnvAttr::get(triple, limits, spirv::ClientAPI::Vulkan,
                                   spirv::Vendor::Unknown,
                                   spirv::DeviceType::Unknown);
}

} // namespace llmc::codegen
