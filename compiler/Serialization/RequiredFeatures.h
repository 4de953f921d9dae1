// SPDX-License-Identifier: Apache-2.0
//
// Which of the file format's device features SPIR-V code needs.

#ifndef LLMC_COMPILER_SERIALIZATION_REQUIREDFEATURES_H
#define LLMC_COMPILER_SERIALIZATION_REQUIREDFEATURES_H

#include "runtime/format/manifest.pb.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <set>
#include <string>

namespace llmc::serialization {

/// What a module demands of a device.
struct CodeNeeds {
  std::set<std::string> features; // in the words of TargetInfo.features
  bool subgroups = false;         // it knows subgroups, so their size matters
};

/// Adds what the capabilities of |spirv| demand.
void addNeeds(llvm::ArrayRef<uint32_t> spirv, CodeNeeds &needs);

/// Leaves in |target| only what the code needs: its features, and the subgroup
/// size if it knows subgroups. An error names a feature that the target does
/// not offer.
llvm::Error restrictToNeeds(const CodeNeeds &needs, format::TargetInfo &target);

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_REQUIREDFEATURES_H
