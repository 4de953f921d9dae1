// SPDX-License-Identifier: Apache-2.0
//
// Sines and cosines of rotary embeddings, equally good on every device and at
// every position.
//
// Angles are counted in turns, as fixed-point fractions: position times
// frequency modulo one turn is then an integer product that wraps, exact where
// a product in f32 has lost the fraction. Sine and cosine are polynomials of
// our own, since a device's may be off by 2^-11.

#ifndef LLMC_CODEGEN_LOWERING_ROTARYANGLES_H
#define LLMC_CODEGEN_LOWERING_ROTARYANGLES_H

#include "codegen/Lowering/KernelBuilder.h"

#include <cstdint>
#include <utility>

namespace llmc::codegen {

/// A frequency in turns per position, modulo 1: (high + low / 2^12) / 2^32,
/// where low < 2^12.
struct TurnFrequency {
  uint32_t high;
  uint32_t low;
};

/// Positions must stay below this, so that position * low fits 32 bits.
inline constexpr int64_t kMaxRotaryPosition = int64_t(1) << 20;

/// What one rotation of `pair` advances by per position: scale * base^(-2 pair
/// / rotaryDim), in turns.
TurnFrequency turnFrequency(double base, int64_t rotaryDim, double scale,
                            int64_t pair);

/// Frequencies as i32 values, scalars or vectors: TurnFrequency in the kernel.
struct FrequencyValues {
  Value high;
  Value low;
};

/// `frequency` divided by `factors` (f32 of the same shape); exactly
/// `frequency` where a factor is 1.
FrequencyValues divideFrequency(KernelBuilder &builder,
                                FrequencyValues frequency, Value factors);

/// {sine, cosine} of position * frequency. `position` is i32 of the frequency's
/// shape.
std::pair<Value, Value> sineCosine(KernelBuilder &builder, Value position,
                                   FrequencyValues frequency);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_ROTARYANGLES_H
