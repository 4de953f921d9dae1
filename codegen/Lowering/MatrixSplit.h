// SPDX-License-Identifier: Apache-2.0
//
// Linears in matrix units whose columns of k are shared by workgroups: where
// their sums wait, and the kernel that adds them up.

#ifndef LLMC_CODEGEN_LOWERING_MATRIXSPLIT_H
#define LLMC_CODEGEN_LOWERING_MATRIXSPLIT_H

#include "codegen/Lowering/LinearRegion.h"

namespace llmc::codegen {

/// Sums in f32, [splits][linears][rows of the step][quads] of four columns;
/// `rows` are the most.
struct MatrixSplit {
  int64_t splits, linears, rows, quads;

  int64_t bytes() const { return 16 * splits * linears * rows * quads; }
};

/// That of the context's region, by its config.
MatrixSplit matrixSplit(RegionContext &context, LinearRegion &parts);

/// Writes what a workgroup of `split` has found for a row of the step's
/// `numRows` and a quad (indices), a vector for each linear.
void storePartialQuads(KernelUnit &unit, const MatrixSplit &shape,
                       Value partials, Value split, Value numRows, Value row,
                       Value quad, ArrayRef<Value> sums);

/// Emits the kernel that adds them up, split 0 first, and computes what follows
/// the linears.
LogicalResult emitMatrixCombine(RegionContext &context, LinearRegion &parts,
                                const MatrixSplit &shape, Value partials);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_MATRIXSPLIT_H
