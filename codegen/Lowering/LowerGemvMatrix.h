// SPDX-License-Identifier: Apache-2.0
//
// The lowering of kind gemv_matrix.

#ifndef LLMC_CODEGEN_LOWERING_LOWERGEMVMATRIX_H
#define LLMC_CODEGEN_LOWERING_LOWERGEMVMATRIX_H

#include "codegen/Lowering/RegionLowering.h"

namespace llmc::codegen {

LogicalResult lowerGemvMatrix(RegionContext &context);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_LOWERGEMVMATRIX_H
