// SPDX-License-Identifier: Apache-2.0
//
// Reads the OpCapability instructions that begin every module. Capability
// numbers are those of the SPIR-V specification, section 3.31.

#include "compiler/Serialization/RequiredFeatures.h"

#include "llvm/ADT/STLExtras.h"

namespace llmc::serialization {

namespace {

constexpr size_t kHeaderWords = 5;
constexpr uint32_t kOpCapability = 17;

struct CapabilityFeature {
  uint32_t capability;
  const char *feature;
};

constexpr CapabilityFeature kFeatures[] = {
    {4433, "f16_storage"},       // StorageBuffer16BitAccess
    {9, "f16_arithmetic"},       // Float16
    {4448, "i8_storage"},        // StorageBuffer8BitAccess
    {39, "i8_arithmetic"},       // Int8
    {22, "i16_arithmetic"},      // Int16
    {6018, "int_dot"},           // DotProductInput4x8BitPacked
    {6019, "int_dot"},           // DotProduct
    {63, "subgroup_arithmetic"}, // GroupNonUniformArithmetic
    {65, "subgroup_shuffle"},    // GroupNonUniformShuffle
    {66, "subgroup_shuffle"},    // GroupNonUniformShuffleRelative
    {6022, "f16_matrix"},        // CooperativeMatrixKHR
};

// GroupNonUniform, and each kind of operation on subgroups.
constexpr uint32_t kFirstSubgroupCapability = 61;
constexpr uint32_t kLastSubgroupCapability = 68;

} // namespace

void addNeeds(llvm::ArrayRef<uint32_t> spirv, CodeNeeds &needs) {
  for (size_t at = kHeaderWords; at + 1 < spirv.size(); at += 2) {
    constexpr uint32_t kInstruction = 2u << 16 | kOpCapability;
    if (spirv[at] != kInstruction)
      return;
    uint32_t capability = spirv[at + 1];
    for (const CapabilityFeature &known : kFeatures)
      if (known.capability == capability)
        needs.features.insert(known.feature);
    if (capability >= kFirstSubgroupCapability &&
        capability <= kLastSubgroupCapability)
      needs.subgroups = true;
  }
}

llvm::Error restrictToNeeds(const CodeNeeds &needs,
                            format::TargetInfo &target) {
  for (const std::string &feature : needs.features)
    if (!llvm::is_contained(target.features(), feature))
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     "a kernel needs the feature " + feature +
                                         ", which target '" + target.name() +
                                         "' does not offer");
  target.mutable_features()->Assign(needs.features.begin(),
                                    needs.features.end());
  if (!needs.subgroups)
    target.set_subgroup_size(0);
  return llvm::Error::success();
}

} // namespace llmc::serialization
