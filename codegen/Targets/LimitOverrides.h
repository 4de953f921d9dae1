// SPDX-License-Identifier: Apache-2.0
//
// Limits of a description lowered from outside, so that tests meet on any
// machine what else only a small device or a large model would show.

#ifndef LLMC_CODEGEN_TARGETS_LIMITOVERRIDES_H
#define LLMC_CODEGEN_TARGETS_LIMITOVERRIDES_H

#include "codegen/Targets/target.pb.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace llmc::targets {

/// Names that `lowerLimits` takes, in alphabetical order.
std::vector<std::string> getLimitNames();

/// Applies assignments such as `max_buffer_range=1048576` to a checked
/// description. A limit may only become lower, and may go below what Vulkan
/// guarantees; a number for `max_workgroup_count` or `max_workgroup_size` holds
/// for x, y and z. `subgroup_size` may be any power of two up to 128: the
/// runtime runs code that knows subgroups only where the device has the size.
/// An error names the limit, what was given and what is allowed.
llvm::Error lowerLimits(description::Target &description,
                        llvm::ArrayRef<std::string> assignments);

} // namespace llmc::targets

#endif // LLMC_CODEGEN_TARGETS_LIMITOVERRIDES_H
