// SPDX-License-Identifier: Apache-2.0
//
// Rotary angles in fixed-point turns; sine and cosine by polynomials on an
// eighth of a turn to either side.

#include "codegen/Lowering/RotaryAngles.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

namespace llmc::codegen {

namespace arith = mlir::arith;

static constexpr int64_t kLowBits = 12;
static constexpr double kPi = 3.14159265358979323846;

TurnFrequency turnFrequency(double base, int64_t rotaryDim, double scale,
                            int64_t pair) {
  double exponent =
      -2.0 * static_cast<double>(pair) / static_cast<double>(rotaryDim);
  double turns = scale * std::pow(base, exponent) / (2 * kPi);
  turns -= std::floor(turns);
  auto fixed =
      static_cast<uint64_t>(std::llround(std::ldexp(turns, 32 + kLowBits)));
  // Rounding up to a whole turn wraps to 0 in the cast.
  return {static_cast<uint32_t>(fixed >> kLowBits),
          static_cast<uint32_t>(fixed & ((1 << kLowBits) - 1))};
}

/// A float below 2^32 to an integer, towards zero.
static Value toUnsigned(KernelBuilder &builder, Value number, Type type) {
  return arith::FPToUIOp::create(builder, type, number);
}

FrequencyValues divideFrequency(KernelBuilder &builder,
                                FrequencyValues frequency, Value factors) {
  Type type = factors.getType(), integers = frequency.high.getType();
  auto constant = [&](double value) { return builder.constant(type, value); };
  Value turns = builder.fma(builder.unsignedToF32(frequency.low),
                            constant(std::ldexp(1.0, -32 - kLowBits)),
                            builder.mul(builder.unsignedToF32(frequency.high),
                                        constant(std::ldexp(1.0, -32))));
  Value quotient = builder.div(turns, factors);
  quotient =
      builder.sub(quotient, mlir::math::FloorOp::create(builder, quotient));
  // Both steps are exact: a quotient of 24 bits is split at a power of two.
  Value scaled = builder.mul(quotient, constant(std::ldexp(1.0, 32)));
  Value high = toUnsigned(builder, scaled, integers);
  Value rest = builder.mul(builder.sub(scaled, builder.unsignedToF32(high)),
                           constant(std::ldexp(1.0, kLowBits)));
  Value low = toUnsigned(builder, rest, integers);
  Value isOne = builder.equal(factors, constant(1.0));
  return {builder.select(isOne, frequency.high, high),
          builder.select(isOne, frequency.low, low)};
}

/// The polynomial with these coefficients, highest power first, in `x`.
static Value polynomial(KernelBuilder &builder, Value x,
                        ArrayRef<double> coefficients) {
  Value sum = builder.constant(x.getType(), coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = builder.fma(sum, x, builder.constant(x.getType(), coefficient));
  return sum;
}

std::pair<Value, Value> sineCosine(KernelBuilder &builder, Value position,
                                   FrequencyValues frequency) {
  Value phase = builder.add(
      builder.mul(position, frequency.high),
      builder.shiftRight(builder.mul(position, frequency.low), kLowBits));
  // phase = quadrant * 2^30 + rest, rest in [-2^29, 2^29): an angle in [-pi/4,
  // pi/4).
  Value quadrant = builder.shiftRight(builder.add(phase, int64_t(1) << 29), 30);
  Value rest = builder.sub(phase, builder.shiftLeft(quadrant, 30));
  Value angle = builder.signedToF32(rest);
  angle = builder.mul(
      angle, builder.constant(angle.getType(), std::ldexp(2 * kPi, -32)));

  // Taylor series; the first term left out is below 2e-9 there.
  Value square = builder.mul(angle, angle);
  Value oddTerms = polynomial(builder, square,
                              {1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6});
  Value sine = builder.fma(builder.mul(angle, square), oddTerms, angle);
  Value evenTerms =
      polynomial(builder, square,
                 {-1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5});
  Value cosine =
      builder.fma(square, evenTerms, builder.constant(angle.getType(), 1.0));

  auto hasBit = [&](Value number, int64_t bit) {
    return builder.equal(builder.bitAnd(number, bit),
                         builder.constant(number.getType(), bit));
  };
  Value swapped = hasBit(quadrant, 1);
  Value sineOut = builder.select(swapped, cosine, sine),
        cosineOut = builder.select(swapped, sine, cosine);
  sineOut = builder.select(hasBit(quadrant, 2), builder.neg(sineOut), sineOut);
  cosineOut = builder.select(hasBit(builder.add(quadrant, 1), 2),
                             builder.neg(cosineOut), cosineOut);
  return {sineOut, cosineOut};
}

} // namespace llmc::codegen
