// SPDX-License-Identifier: Apache-2.0
//
// Dispatches of more workgroups in a dimension than a device launches: the grid
// is folded into one that fits, and the kernel computes where in the wanted
// grid it is.

#ifndef LLMC_CODEGEN_LOWERING_GROUPGRID_H
#define LLMC_CODEGEN_LOWERING_GROUPGRID_H

#include "codegen/Lowering/KernelBuilder.h"

#include <array>

namespace llmc::codegen {

/// Workgroups in x, y and z.
using GroupGrid = std::array<int64_t, 3>;

/// `wanted` itself when no dimension exceeds `most`, or when nothing within
/// `most` has as many groups (the caller refuses it then). Else a grid within
/// `most` of at least as many groups in all, with less than z·y of its own too
/// many.
GroupGrid foldGrid(const GroupGrid &wanted, const GroupGrid &most);

/// Makes a kernel that was built for the grid `wanted` right in `folded`: its
/// group ids are computed from the number of the group, its counts are those of
/// `wanted`. Groups beyond the last wanted one do nothing: the condition around
/// the body is the same for a whole workgroup, so that barriers in it stay
/// legal.
void foldKernel(gpu::GPUFuncOp function, const GroupGrid &wanted,
                const GroupGrid &folded);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GROUPGRID_H
