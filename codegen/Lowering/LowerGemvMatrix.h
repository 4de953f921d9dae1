// SPDX-License-Identifier: Apache-2.0
//
// The lowering of kind gemv_matrix, and which weights it takes.

#ifndef LLMC_CODEGEN_LOWERING_LOWERGEMVMATRIX_H
#define LLMC_CODEGEN_LOWERING_LOWERGEMVMATRIX_H

#include "codegen/Lowering/RegionLowering.h"

namespace llmc::codegen {

/// Whether codes are whole numbers of 4 to 6 bits in units of eight columns.
bool hasPairsOfCodes(WeightFormat format);

LogicalResult lowerGemvMatrix(RegionContext &context);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_LOWERGEMVMATRIX_H
