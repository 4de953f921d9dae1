// SPDX-License-Identifier: Apache-2.0
//
// Sums and maxima over the invocations of a workgroup, in an order that depends
// on nothing but their number.

#ifndef LLMC_CODEGEN_LOWERING_REDUCTION_H
#define LLMC_CODEGEN_LOWERING_REDUCTION_H

#include "codegen/Lowering/KernelBuilder.h"

namespace llmc::codegen {

/// The sum of `partial` (a scalar) over invocations 0 … count - 1, given to all
/// of them. `lane` is the invocation's number. Every invocation of the
/// workgroup must arrive here; takes `count` elements of workgroup memory.
Value sumOverWorkgroup(KernelBuilder &builder, Value partial, Value lane,
                       int64_t count);

/// Likewise the largest.
Value maxOverWorkgroup(KernelBuilder &builder, Value partial, Value lane,
                       int64_t count);

/// partials[first] + partials[first + 1] + … , `count` of them.
Value sumInOrder(KernelBuilder &builder, Value partials, Value first,
                 int64_t count);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_REDUCTION_H
