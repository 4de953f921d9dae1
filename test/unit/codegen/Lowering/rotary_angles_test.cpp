// SPDX-License-Identifier: Apache-2.0
//
// Fixed-point frequencies against long double. What kernels make of them is
// tested on a device (test/e2e/kernels).

#include "codegen/Lowering/RotaryAngles.h"

#include <gtest/gtest.h>

#include <cmath>

namespace llmc::codegen {
namespace {

constexpr long double kTwoPi = 6.28318530717958647692528676655900577L;

/// The angle of position * frequency as kernels compute it, in turns.
long double fixedPointTurns(uint32_t position, TurnFrequency frequency) {
  uint32_t phase = position * frequency.high + (position * frequency.low >> 12);
  return std::ldexp(static_cast<long double>(phase), -32);
}

TEST(RotaryAngles, anglesAreExactToAFewBillionthsOfATurn) {
  for (double base : {1e4, 5e5, 1e6})
    for (double scale : {1.0, 0.125})
      for (int64_t pair = 0; pair < 64; ++pair)
        for (uint32_t position : {0U, 1U, 2000U, 131071U, (1U << 20) - 1}) {
          long double exponent = -2.0L * pair / 128;
          long double turns =
              position * scale *
              std::pow(static_cast<long double>(base), exponent) / kTwoPi;
          long double difference =
              fixedPointTurns(position, turnFrequency(base, 128, scale, pair)) -
              turns;
          difference -= std::round(difference); // whole turns do not count
          // Half a unit of 2^-44 per position, and the bits that the shift
          // drops.
          EXPECT_LE(std::abs(difference),
                    std::ldexp(static_cast<long double>(position), -44) + 1e-9L)
              << "base " << base << ", pair " << pair << ", position "
              << position;
        }
}

TEST(RotaryAngles, lowPartFitsItsProduct) {
  for (int64_t pair = 0; pair < 64; ++pair)
    EXPECT_LT(uint64_t(turnFrequency(1e4, 128, 1.0, pair).low) *
                  (kMaxRotaryPosition - 1),
              uint64_t(1) << 32);
}

} // namespace
} // namespace llmc::codegen
