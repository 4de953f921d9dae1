// SPDX-License-Identifier: Apache-2.0
//
// The sizes of a kernel of kind gemv_matrix, as plain C++: Strategy and tuning
// files choose them, lowering obeys.

#ifndef LLMC_CODEGEN_LOWERING_GEMVMATRIXSIZES_H
#define LLMC_CODEGEN_LOWERING_GEMVMATRIXSIZES_H

#include "codegen/Lowering/WeightLayout.h"

namespace llmc::codegen {

/// Groups of scales that one sum holds apart: a chunk.
inline constexpr int64_t kChunkGroups = 4;
/// Chunks of a subgroup that are added up without a loop, each loaded ahead; of
/// more, none is.
inline constexpr int64_t kGemvMatrixTurns = 8;
/// Columns of a unit of codes, and those of x that share a power of two.
inline constexpr int64_t kGemvMatrixUnitColumns = 8,
                         kGemvMatrixBlockColumns = 32;

struct GemvMatrixSizes {
  int64_t invocations;
  /// Of the input: 1.
  int64_t rows;
  /// Of the result: what a workgroup computes at once of each linear, or a
  /// subgroup where workgroups go over all tiles.
  int64_t columns;
  /// Columns of the weight: a chunk.
  int64_t kStep;
  /// Workgroups that go over all tiles; 0 for one for each `columns`.
  int64_t tileWorkgroups;

  bool operator==(const GemvMatrixSizes &other) const {
    return invocations == other.invocations && rows == other.rows &&
           columns == other.columns && kStep == other.kStep &&
           tileWorkgroups == other.tileWorkgroups;
  }
};

/// Whether codes are whole numbers of 4 to 6 bits in units of eight columns.
bool hasPairsOfCodes(WeightFormat format);

/// Why there is no such kernel for weights of `K` columns, naming the field,
/// what was found and what is allowed; empty if there is.
std::string checkGemvMatrixSizes(const GemvMatrixSizes &sizes,
                                 WeightFormat format, int64_t K,
                                 int64_t subgroupSize);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMVMATRIXSIZES_H
