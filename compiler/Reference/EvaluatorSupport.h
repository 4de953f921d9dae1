// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the evaluator share: messages, and rounding to a type.

#ifndef LLMC_COMPILER_REFERENCE_EVALUATORSUPPORT_H
#define LLMC_COMPILER_REFERENCE_EVALUATORSUPPORT_H

#include "compiler/Reference/Numerics.h"
#include "compiler/Reference/Tensor.h"
#include "dialects/Support/LLVM.h"

#include "llvm/Support/Error.h"

#include <string>

namespace llmc::reference {

/// "LOCATION: 'OP' MESSAGE".
llvm::Error fail(Operation &op, const Twine &message);

/// "[2, ?, 64]"
std::string describe(ArrayRef<int64_t> shape);

/// Rounds to the element type; f32 stays in double when sums are double too.
void roundTo(Type elementType, Precision precision, Tensor &tensor);

} // namespace llmc::reference

#endif // LLMC_COMPILER_REFERENCE_EVALUATORSUPPORT_H
