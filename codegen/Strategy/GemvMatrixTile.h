// SPDX-License-Identifier: Apache-2.0
//
// The choice of how a linear for one row is multiplied in matrix units
// (LowerGemvMatrix.cpp), as plain C++.

#ifndef LLMC_CODEGEN_STRATEGY_GEMVMATRIXTILE_H
#define LLMC_CODEGEN_STRATEGY_GEMVMATRIXTILE_H

#include "codegen/Lowering/GemvMatrixSizes.h"
#include "codegen/Strategy/LinearTile.h"

#include <string>
#include <vector>

namespace llmc::codegen {

/// Nothing where the device has no such matrices, the weight is none that is
/// faster so, or its columns are no whole chunks.
std::optional<GemvMatrixSizes>
selectGemvMatrixTile(const LinearShape &shape, const DeviceLimits &device,
                     const GemvStrategy &strategy);

/// The tiles that the kernel can be built with, other than `chosen`: those with
/// the most subgroups a workgroup first, of 16 columns before 32. None where
/// there is no such kernel.
std::vector<GemvMatrixSizes> enumerateGemvMatrixTiles(
    const LinearShape &shape, const std::optional<GemvMatrixSizes> &chosen,
    const DeviceLimits &device, const GemvStrategy &strategy);

/// Why the kernel cannot compute the linear on the device with that tile,
/// naming the field, what was found and what is allowed; empty if it can.
std::string checkGemvMatrixTile(const LinearShape &shape,
                                const GemvMatrixSizes &tile,
                                const DeviceLimits &device,
                                const GemvStrategy &strategy);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_GEMVMATRIXTILE_H
