// SPDX-License-Identifier: Apache-2.0
//
// Steps of ops whose result's elements follow each from the operands' elements
// at its place.

#ifndef LLMC_TEST_E2E_SUPPORT_LOCKSTEPARITHMETIC_H
#define LLMC_TEST_E2E_SUPPORT_LOCKSTEPARITHMETIC_H

#include "mlir/IR/Operation.h"
#include "test/e2e/support/LockstepMachine.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstring>

namespace llmc::test {

/// An f32 and its bits.
inline float toFloat(uint32_t bits) {
  float number;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}
inline uint32_t toBits(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

/// The numbers of f16 bits, and the bits nearest to a number.
float halfToFloat(uint32_t bits);
uint32_t floatToHalfBits(double number);

/// The step of arithmetic, a comparison, a conversion or a choice; empty for
/// other ops.
LockstepStep arithmeticStep(mlir::Operation &op, LockstepSlot result,
                            llvm::ArrayRef<LockstepSlot> operands);

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_LOCKSTEPARITHMETIC_H
