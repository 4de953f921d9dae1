// SPDX-License-Identifier: Apache-2.0
//
// The entries of a program that test its kernels, as a program of their own.

#ifndef LLMC_COMPILER_SERIALIZATION_SELFTESTPROGRAM_H
#define LLMC_COMPILER_SERIALIZATION_SELFTESTPROGRAM_H

#include "dialects/Support/LLVM.h"

#include "mlir/IR/BuiltinOps.h"

namespace llmc::serialization {

/// Takes the self-test entries (program::kSelfTestPrefix) out of |module|,
/// which is not planned yet, and gives them with their kernels. Kernels that no
/// entry of the model has are left in neither, nor are tests of them.
OwningOpRef<ModuleOp> splitSelfTests(ModuleOp module);

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_SELFTESTPROGRAM_H
