// SPDX-License-Identifier: Apache-2.0
//
// ONNX ops on numbers that are known while a graph is imported: on shapes with
// symbols, and on the two numbers of masks. Plain C++.

#ifndef LLMC_COMPILER_IMPORT_ONNX_HOSTARITHMETIC_H
#define LLMC_COMPILER_IMPORT_ONNX_HOSTARITHMETIC_H

#include "compiler/Import/ONNX/Operand.h"

namespace llmc::onnx {

/// The ops of two operands that can be computed on numbers: Add, Sub, Mul, Div,
/// Pow, Max, Min, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, And, Or.
bool isHostBinary(StringRef opType);

/// Of one operand: Not, Neg, Abs, Sqrt, Exp, Log, Floor, Ceil, Reciprocal.
bool isHostUnary(StringRef opType);

/// Applies a binary op to numbers. None for integers that are no such term, and
/// comparisons that depend on a symbol.
std::optional<SymbolicInt> computeIntegers(StringRef opType, SymbolicInt lhs,
                                           SymbolicInt rhs);
double computeReals(StringRef opType, double lhs, double rhs);
double computeReal(StringRef opType, double value);

/// With broadcasting; none when the shapes don't fit or an element can't be
/// computed. Reals are rounded to float, comparisons give integers.
std::optional<HostTensor> computeHost(StringRef opType, const HostTensor &lhs,
                                      const HostTensor &rhs);
std::optional<HostTensor> computeHost(StringRef opType,
                                      const HostTensor &value);

/// condition ? lhs : rhs, with broadcasting.
std::optional<HostTensor> selectHost(const HostTensor &condition,
                                     const HostTensor &lhs,
                                     const HostTensor &rhs);

} // namespace llmc::onnx

#endif // LLMC_COMPILER_IMPORT_ONNX_HOSTARITHMETIC_H
