// SPDX-License-Identifier: Apache-2.0
//
// Steps in which the lanes of a subgroup have to do with each other.

#ifndef LLMC_TEST_E2E_SUPPORT_LOCKSTEPSUBGROUP_H
#define LLMC_TEST_E2E_SUPPORT_LOCKSTEPSUBGROUP_H

#include "mlir/IR/Operation.h"
#include "test/e2e/support/LockstepMachine.h"

#include "llvm/ADT/ArrayRef.h"

namespace llmc::test {

/// The step of a shuffle, a reduction, or an op of matrices but for those that
/// load and store; empty for other ops.
LockstepStep subgroupStep(mlir::Operation &op, LockstepSlot result,
                          llvm::ArrayRef<LockstepSlot> operands);

/// Elements of a matrix, which are in `words` of each subgroup or in memory.
struct MatrixShape {
  size_t rows, columns;
  /// Of an element.
  size_t bytes;

  size_t elements() const { return rows * columns; }
};
MatrixShape matrixShape(mlir::Type type);

/// Moves matrices from memory into a slot or back. The index of the first
/// element is in `index`, in elements of `memoryElementBytes` as `stride` is.
struct MatrixMove {
  LockstepSlot matrix, index;
  size_t memory, stride, memoryElementBytes;
  MatrixShape shape;
  bool isTransposed, isStore;
};
LockstepStep matrixMoveStep(const MatrixMove &move);

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_LOCKSTEPSUBGROUP_H
