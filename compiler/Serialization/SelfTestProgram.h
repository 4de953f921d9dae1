// SPDX-License-Identifier: Apache-2.0
//
// The entries of a program that test its kernels, as a program of their own.

#ifndef LLMC_COMPILER_SERIALIZATION_SELFTESTPROGRAM_H
#define LLMC_COMPILER_SERIALIZATION_SELFTESTPROGRAM_H

#include "dialects/Support/LLVM.h"

#include "mlir/IR/BuiltinOps.h"

namespace llmc::serialization {

/// What the functions of the entries that llmc-add-self-tests gave rise to
/// begin with.
inline constexpr StringRef kSelfTestPrefix = "selftest.";

/// Takes the self-test entries out of |module|, which is not planned yet, and
/// gives them with their kernels. Kernels that no entry of the model has are
/// left in neither, nor are tests of them.
OwningOpRef<ModuleOp> splitSelfTests(ModuleOp module);

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_SELFTESTPROGRAM_H
