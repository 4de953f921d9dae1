// SPDX-License-Identifier: Apache-2.0
//
// Sums and maxima over the invocations of a workgroup, in an order that depends
// on nothing but their number, unless subgroup operations are asked for.

#ifndef LLMC_CODEGEN_LOWERING_REDUCTION_H
#define LLMC_CODEGEN_LOWERING_REDUCTION_H

#include "codegen/Lowering/KernelBuilder.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Target/Target.h"

namespace llmc::codegen {

/// The sum of `partial` (a scalar) over invocations 0 … count - 1, given to all
/// of them. `lane` is the invocation's number. Every invocation of the
/// workgroup must arrive here; takes `count` elements of workgroup memory.
///
/// With a `subgroupSize` other than 0, which the kernel then depends on, each
/// subgroup adds up by a subgroup operation and only their sums meet in
/// workgroup memory, if there are several; `count` must be a multiple of the
/// size. The order within a subgroup is the device's.
Value sumOverWorkgroup(KernelBuilder &builder, Value partial, Value lane,
                       int64_t count, int64_t subgroupSize = 0);

/// The subgroup size that a region's kernels depend on: 0 when its config
/// reduces through workgroup memory, or `count` invocations are no whole
/// subgroups.
int64_t reductionSubgroup(graph::LoweringConfigAttr config,
                          target::DeviceAttr device, int64_t count);

/// The sum of `partial` (a scalar or a vector of f32) over every invocation of
/// the subgroup whose number leaves the same rest when divided by `stride`, a
/// power of two; given to all of them. In a fixed order.
Value sumOverStrides(KernelBuilder &builder, Value partial, int64_t stride,
                     int64_t subgroupSize);

/// The same over `count` neighbours, a power of two: those whose numbers,
/// divided by it, are equal.
Value sumOverNeighbours(KernelBuilder &builder, Value partial, int64_t count,
                        int64_t subgroupSize);

/// `value` (a scalar or a vector of f32) of the invocation whose number in the
/// subgroup differs in the bits of `distance`.
Value shuffleXor(KernelBuilder &builder, Value value, int64_t distance,
                 int64_t subgroupSize);

/// The invocation's number in its workgroup, counted by subgroups, which are
/// full: which of its own `KernelBuilder::localId` counts Vulkan leaves open.
Value subgroupLane(KernelBuilder &builder, int64_t subgroupSize);

/// The largest `partial`, as for the sum through workgroup memory.
Value maxOverWorkgroup(KernelBuilder &builder, Value partial, Value lane,
                       int64_t count);

/// partials[first] + partials[first + stride] + … , `count` of them.
Value sumInOrder(KernelBuilder &builder, Value partials, Value first,
                 int64_t count, int64_t stride = 1);

/// The largest of partials[first] … partials[first + count - 1].
Value maxInOrder(KernelBuilder &builder, Value partials, Value first,
                 int64_t count);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_REDUCTION_H
