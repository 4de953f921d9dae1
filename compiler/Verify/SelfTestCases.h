// SPDX-License-Identifier: Apache-2.0
//
// What the functions of llmc-add-self-tests give, by the reference evaluator.

#ifndef LLMC_COMPILER_VERIFY_SELFTESTCASES_H
#define LLMC_COMPILER_VERIFY_SELFTESTCASES_H

#include "compiler/Import/ConvertedRows.h"
#include "compiler/Serialization/SelfTestCase.h"
#include "dialects/Support/LLVM.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace llmc::verify {

/// Evaluates each self-test function of |module| on a few rows. A function
/// whose results are no numbers, all zero, or which takes an index tensor of
/// unknown meaning has no case. Rows that are quantized are kept in
/// |converted|. Fails when the weights can't be read.
llvm::Expected<std::vector<serialization::SelfTestCase>>
evaluateSelfTests(ModuleOp module, importer::ConvertedRows &converted,
                  unsigned numThreads);

} // namespace llmc::verify

#endif // LLMC_COMPILER_VERIFY_SELFTESTCASES_H
