// SPDX-License-Identifier: Apache-2.0
//
// What the schema cannot say about a device description: required fields,
// ranges, fields that must agree.

#ifndef LLMC_CODEGEN_TARGETS_DESCRIPTIONCHECKER_H
#define LLMC_CODEGEN_TARGETS_DESCRIPTIONCHECKER_H

#include "codegen/Targets/target.pb.h"

#include <functional>
#include <string>
#include <vector>

namespace llmc::targets {

/// A violated rule: the message that has the field (or lacks it), the field and
/// its element, and what is wrong.
struct Finding {
  std::string path;  // of the field, for instance "workgroup.max_size"
  int index = 0;     // of an element of a repeated field
  std::string claim; // for instance "has 2 values; 3 are needed: x, y, z"
};

/// Names of the quirks that the compiler knows.
const std::vector<std::string> &getKnownQuirks();

/// All violations, in the order of the schema. Empty: the description can be
/// used.
std::vector<Finding> checkDescription(const description::Target &description);

} // namespace llmc::targets

#endif // LLMC_CODEGEN_TARGETS_DESCRIPTIONCHECKER_H
