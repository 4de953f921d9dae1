// SPDX-License-Identifier: Apache-2.0
//
// The options of a compilation that decide what is in the file, as the file
// records them: enough to compile the same model the same way once more.

#ifndef LLMC_COMPILER_DRIVER_RECORDEDOPTIONS_H
#define LLMC_COMPILER_DRIVER_RECORDEDOPTIONS_H

#include "compiler/Driver/Driver.h"

namespace llmc::driver {

/// "weights=int4-g64", …: options that are not the default, in a fixed order.
/// Not the input, targets and output.
std::vector<std::string> recordOptions(const CompileOptions &options);

/// Sets what recordOptions gave. InvalidFile for a word that it never gives.
Status applyRecordedOptions(const std::vector<std::string> &recorded,
                            CompileOptions &options);

} // namespace llmc::driver

#endif // LLMC_COMPILER_DRIVER_RECORDEDOPTIONS_H
