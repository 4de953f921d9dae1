// SPDX-License-Identifier: Apache-2.0
//
// The choice of how a linear for one row is multiplied in matrix units
// (LowerGemvMatrix.cpp), as plain C++.

#ifndef LLMC_CODEGEN_STRATEGY_GEMVMATRIXTILE_H
#define LLMC_CODEGEN_STRATEGY_GEMVMATRIXTILE_H

#include "codegen/Strategy/LinearTile.h"

namespace llmc::codegen {

struct GemvMatrixTile {
  /// Of a workgroup, which share the chunks of the columns.
  int64_t subgroups;
  /// Columns of a chunk.
  int64_t kStep;
  /// Workgroups that go over all tiles; 0 for one for every two tiles.
  int64_t tileWorkgroups;
};

/// Nothing where the device has no such matrices, the weight is none that is
/// faster so, or its columns are no whole chunks.
std::optional<GemvMatrixTile>
selectGemvMatrixTile(const LinearShape &shape, const DeviceLimits &device,
                     const GemvStrategy &strategy);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_GEMVMATRIXTILE_H
