// SPDX-License-Identifier: Apache-2.0
//
// In which numbers a dispatch computes, which says how far from the evaluator
// it may be.

#ifndef LLMC_COMPILER_VERIFY_ARITHMETIC_H
#define LLMC_COMPILER_VERIFY_ARITHMETIC_H

#include "dialects/Graph/Graph.h"

#include <string>

namespace llmc::verify {

/// "i8" of linears on quantized activations; the cache's type of attention on
/// one that is not f32; "f16" of linears that multiply so and of what reads or
/// gives such values, since what the device put there may be the other
/// neighbour of a number; else "f32".
std::string arithmeticOf(graph::RegionOp region);

/// Most of max |difference| / max |number| for a dispatch (decision 0008).
double boundOf(const std::string &arithmetic);

} // namespace llmc::verify

#endif // LLMC_COMPILER_VERIFY_ARITHMETIC_H
