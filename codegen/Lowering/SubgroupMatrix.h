// SPDX-License-Identifier: Apache-2.0
//
// Matrices of 16 x 16 that the lanes of a subgroup hold together and multiply
// in matrix units (SPV_KHR_cooperative_matrix). For devices with the feature
// `f16_matrix`.

#ifndef LLMC_CODEGEN_LOWERING_SUBGROUPMATRIX_H
#define LLMC_CODEGEN_LOWERING_SUBGROUPMATRIX_H

#include "codegen/Lowering/KernelBuilder.h"
#include "codegen/Lowering/MatrixMemory.h"

namespace llmc::codegen {

/// What a matrix is in sum += left * right: f16, f16 and f32.
enum class MatrixUse { Left, Right, Sum };

/// How a matrix lies in memory: neighbours are columns of a row, or rows of a
/// column.
enum class MatrixOrder { Rows, Columns };

/// The matrix at `index` of a memref whose rows (of order Rows, else columns)
/// begin `stride` elements of the memref apart. Elements of the memref may be
/// vectors. All lanes of a subgroup pass the same values.
Value loadMatrix(KernelBuilder &b, MatrixUse use, Value memref, Value index,
                 int64_t stride, MatrixOrder order);
void storeMatrix(KernelBuilder &b, Value matrix, Value memref, Value index,
                 int64_t stride);
/// A sum of zeros.
Value zeroMatrix(KernelBuilder &b);
/// A power of two that brings numbers of up to some magnitude into the range of
/// f16, and its inverse; 1 where they are in it.
struct HalfScale {
  Value scale, inverse;
};
HalfScale scaleToHalf(KernelBuilder &b, Value magnitude);
/// Whether f16 cannot hold a number of that magnitude.
Value exceedsHalf(KernelBuilder &b, Value magnitude);
/// The largest magnitude of a vector's numbers, or `before` if that is larger.
Value largerMagnitude(KernelBuilder &b, Value vector, Value before);

/// What `count` neighbouring lanes have, combined; `count` is a power of two.
using CombineLanes = Value (*)(KernelBuilder &b, Value lhs, Value rhs);
Value overLanes(KernelBuilder &b, Value mine, int64_t count,
                int64_t subgroupSize, CombineLanes combine);
Value largerOf(KernelBuilder &b, Value lhs, Value rhs);
Value sumOf(KernelBuilder &b, Value lhs, Value rhs);
/// Two sums, element by element.
Value multiplyElements(KernelBuilder &b, Value lhs, Value rhs);
Value addElements(KernelBuilder &b, Value lhs, Value rhs);
/// sum + left * right
Value multiplyAdd(KernelBuilder &b, Value left, Value right, Value sum);

/// The subgroup's number in its workgroup, and the invocation's in its
/// subgroup, as indices.
Value subgroupNumber(KernelBuilder &b);
Value laneNumber(KernelBuilder &b);
/// The lanes of a subgroup wait for each other and see each other's workgroup
/// memory.
void subgroupBarrier(KernelBuilder &b);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_SUBGROUPMATRIX_H
