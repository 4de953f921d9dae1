// SPDX-License-Identifier: Apache-2.0
//
// A device description in the words of the target dialect and of the file
// format.

#include "codegen/Targets/Targets.h"

#include "mlir/IR/Builders.h"

namespace llmc::targets {

using description::Target;

namespace {

struct NamedFeature {
  const char *name;
  bool (description::Features::*isOffered)() const;
};

// The names are the target dialect's and the file format's.
constexpr NamedFeature kFeatures[] = {
    {"f16_storage", &description::Features::f16_storage},
    {"f16_arithmetic", &description::Features::f16_arithmetic},
    {"i8_storage", &description::Features::i8_storage},
    {"i8_arithmetic", &description::Features::i8_arithmetic},
    {"i16_arithmetic", &description::Features::i16_arithmetic},
    {"int_dot", &description::Features::int_dot},
    {"subgroup_arithmetic", &description::Features::subgroup_arithmetic},
    {"subgroup_shuffle", &description::Features::subgroup_shuffle},
};

std::vector<const char *> getOfferedFeatures(const Target &description) {
  std::vector<const char *> names;
  for (const NamedFeature &feature : kFeatures)
    if ((description.features().*feature.isOffered)())
      names.push_back(feature.name);
  if (offersF16Matrix(description.features()))
    names.push_back("f16_matrix");
  return names;
}

target::Family toFamily(description::Family family) {
  switch (family) {
  case description::ADRENO:
    return target::Family::Adreno;
  case description::BIFROST:
    return target::Family::Bifrost;
  case description::VALHALL:
    return target::Family::Valhall;
  case description::CPU:
    return target::Family::Cpu;
  case description::NVIDIA:
    return target::Family::Nvidia;
  default:
    return target::Family::Generic;
  }
}

/// The device attribute's name for a type; f32 for one that is not given.
StringRef elementName(description::ElementType type) {
  if (type == description::F16)
    return "f16";
  return type == description::I8 ? "i8" : "f32";
}

template <typename Values>
llvm::SmallVector<int64_t> toIntegers(const Values &values) {
  return llvm::SmallVector<int64_t>(values.begin(), values.end());
}

} // namespace

bool offersF16Matrix(const description::Features &features) {
  return features.f16_arithmetic() &&
         llvm::any_of(features.cooperative_matrices(),
                      [](const description::CooperativeMatrix &matrix) {
                        return matrix.element_type() == "f16" &&
                               matrix.m() == 16 && matrix.n() == 16 &&
                               matrix.k() == 16;
                      });
}

target::DeviceAttr toDeviceAttr(const Target &description,
                                mlir::MLIRContext *context) {
  context->loadDialect<target::TargetDialect>();
  llvm::SmallVector<StringAttr> features;
  for (const char *name : getOfferedFeatures(description))
    features.push_back(StringAttr::get(context, name));
  llvm::SmallVector<StringAttr> quirks;
  for (const auto &quirk : description.quirks())
    quirks.push_back(StringAttr::get(context, quirk.name()));

  const auto &workgroup = description.workgroup();
  const auto &registers = description.registers().steps();
  const auto &memory = description.memory();
  const auto &plan = description.plan();
  return target::DeviceAttr::get(
      context, description.name(), toFamily(description.family()),
      description.subgroup().size(), workgroup.max_invocations(),
      toIntegers(workgroup.max_size()), toIntegers(workgroup.max_count()),
      workgroup.memory_bytes(), workgroup.memory_on_chip(),
      /*registers_full_occupancy=*/registers.begin()->registers(),
      /*registers_max=*/registers.rbegin()->registers(),
      description.performance().compute_units(), memory.buffer_alignment(),
      memory.max_buffer_range(), memory.max_allocation_bytes(),
      memory.max_push_constant_bytes(), description.versions().spirv_minor(),
      description.versions().vulkan_minor(), plan.max_unroll(),
      toIntegers(plan.row_buckets()), elementName(plan.kv_type()), features,
      quirks, elementName(plan.prefill_activations()),
      elementName(plan.activations()), memory.max_uniform_range(),
      memory.max_storage_buffers());
}

format::TargetInfo toTargetInfo(const Target &description) {
  format::TargetInfo info;
  info.set_name(description.name());
  const auto &match = description.match();
  info.set_vendor_id(match.vendor_id());
  *info.mutable_device_ids() = match.device_ids();
  *info.mutable_device_name_patterns() = match.name_contains();
  info.set_device_type_cpu(match.software() ? 1 : 0);
  info.set_vulkan_minor(description.versions().vulkan_minor());
  uint32_t subgroupSize = description.subgroup().size();
  info.set_subgroup_size(subgroupSize == 1 ? 0 : subgroupSize);
  for (const char *name : getOfferedFeatures(description))
    info.add_features(name);
  info.set_max_submit_milliseconds(
      description.plan().max_submit_milliseconds());
  info.set_decode_steps_per_submit(
      description.plan().decode_steps_per_submit());
  return info;
}

} // namespace llmc::targets
