// SPDX-License-Identifier: Apache-2.0
//
// How kernels for matrix units lay out workgroup memory, as plain C++: what
// Lowering allocates and Strategy counts.

#ifndef LLMC_CODEGEN_LOWERING_MATRIXMEMORY_H
#define LLMC_CODEGEN_LOWERING_MATRIXMEMORY_H

#include <cstdint>

namespace llmc::codegen {

/// Rows and columns of a matrix.
inline constexpr int64_t kMatrixSize = 16;

/// Vectors of 4 f16 between lines of a GEMM's memory, in excess of the line:
/// lines begin in different banks, and at 16 bytes. Likewise between blocks of
/// kMatrixSize lines.
inline constexpr int64_t kLinePadding = 2;
inline constexpr int64_t kBlockPadding = 2;

/// Distance of rows of a GEMM's sums that wait for the epilogue, in f32.
inline constexpr int64_t kSumStride = kMatrixSize + 4;

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_MATRIXMEMORY_H
