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

/// Columns of k in a vector of workgroup memory: eight f16, 16 bytes.
inline constexpr int64_t kChunkColumns = 8;

/// Vectors between lines of a GEMM's memory, in excess of the line: a whole
/// line is an even number of them, so that eight lines begin in different
/// banks.
inline constexpr int64_t kLinePadding = 1;

/// Vectors of four f32 from row to row of a GEMM's sums that wait for the
/// epilogue.
inline constexpr int64_t kSumStride = kMatrixSize / 4 + 1;

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_MATRIXMEMORY_H
