// SPDX-License-Identifier: Apache-2.0
//
// Matrices of a subgroup of 32 that its lanes make of registers. Vulkan leaves
// open which lane holds what; this is how NVIDIA's driver does it (measured on
// an H200; GemvStrategy's matrixFragments), and a self-test of a linear fails
// where it is not so. Of lane 4 * g + t, words of two f16 and numbers:
// - left, 16 x 16 of f16, words 0 … 3: row g + 8 * (word / 2), columns 2 * t +
//   8 * (word % 2) and the next;
// - right, 16 x 8 of f16, words 0 and 1: rows 2 * t + 8 * word and the next,
//   column g;
// - sum, 16 x 8 of f32, numbers 0 … 3: row g + 8 * (number / 2), column 2 * t +
//   number % 2.

#ifndef LLMC_CODEGEN_LOWERING_MATRIXFRAGMENTS_H
#define LLMC_CODEGEN_LOWERING_MATRIXFRAGMENTS_H

#include "codegen/Lowering/KernelBuilder.h"

#include <array>

namespace llmc::codegen {

/// Lanes that the rows of the right matrix's columns are dealt to, and such
/// groups of lanes: those numbers are t and g above.
inline constexpr int64_t kFragmentLanes = 4, kFragmentGroups = 8;

/// A sum of zeros.
Value zeroFragment(KernelBuilder &b);
/// sum + left * right, of i32 words with two f16 each.
Value multiplyFragments(KernelBuilder &b, const std::array<Value, 4> &left,
                        const std::array<Value, 2> &right, Value sum);
/// The lane's numbers of a sum.
std::array<Value, 4> numbersOf(KernelBuilder &b, Value sum);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_MATRIXFRAGMENTS_H
