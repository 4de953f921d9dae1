// SPDX-License-Identifier: Apache-2.0
//
// The choice of the tile of the kernel that multiplies in matrix units, as
// plain C++.

#ifndef LLMC_CODEGEN_STRATEGY_MATRIXTILE_H
#define LLMC_CODEGEN_STRATEGY_MATRIXTILE_H

#include "codegen/Strategy/LinearTile.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace llmc::codegen {

/// What a workgroup computes; columns are those of one linear.
struct MatrixTile {
  int64_t rows, columns, kStep;
  /// What one of its subgroups computes.
  int64_t subgroupRows, subgroupColumns;
  /// Steps that workgroup memory has room for, 1 or 2.
  int64_t buffers;
  /// Workgroups that share k.
  int64_t splits;
  int64_t invocations;
  /// 32-bit registers of an invocation: of the sums, and of everything.
  int64_t accumulators, registers;

  /// The numbers of a config's tile.
  void setSizes(llvm::ArrayRef<int64_t> sizes);
};

/// The best tile, or nothing where the linear is none for the kernel: with a
/// norm or quantized activations, of columns that no step divides, or beyond
/// the device's limits.
std::optional<MatrixTile> selectMatrixTile(const LinearShape &shape,
                                           const DeviceLimits &device);

/// `chosen` and the other tiles that the kernel can be built with, those first
/// that the choice expects to take the least time: up to `most` in all.
std::vector<MatrixTile> enumerateMatrixTiles(const LinearShape &shape,
                                             const MatrixTile &chosen,
                                             const DeviceLimits &device,
                                             size_t most);

/// Why the kernel cannot be built with that tile, naming the field, what was
/// found and what is allowed; empty if it can.
std::string checkMatrixTile(const LinearShape &shape, const MatrixTile &tile,
                            const DeviceLimits &device);

/// The tile with the invocations and registers that follow from its sizes.
MatrixTile withEstimate(const LinearShape &shape, MatrixTile tile,
                        const DeviceLimits &device);

/// Whether both give the same kernel.
bool isSameTile(const MatrixTile &a, const MatrixTile &b);

/// Bytes of workgroup memory of the kernel (LowerGemmMatrix.cpp).
int64_t matrixWorkgroupBytes(const LinearShape &shape, const MatrixTile &tile);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_MATRIXTILE_H
