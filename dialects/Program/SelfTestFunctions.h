// SPDX-License-Identifier: Apache-2.0
//
// What the functions of entries that test a program's kernels are called.

#ifndef LLMC_DIALECTS_PROGRAM_SELFTESTFUNCTIONS_H
#define LLMC_DIALECTS_PROGRAM_SELFTESTFUNCTIONS_H

#include "dialects/Support/LLVM.h"

namespace llmc::program {

/// All of them begin with it.
inline constexpr StringRef kSelfTestPrefix = "selftest.";

/// Chooses tokens from logits that it is given.
inline constexpr StringRef kSamplingTest = "selftest.sampling";

} // namespace llmc::program

#endif // LLMC_DIALECTS_PROGRAM_SELFTESTFUNCTIONS_H
