// SPDX-License-Identifier: Apache-2.0
//
// The generator behind sampling: the same numbers for the same seed on every
// platform.

#ifndef LLMC_RUNTIME_TEXT_RANDOM_H
#define LLMC_RUNTIME_TEXT_RANDOM_H

#include <cstdint>

namespace llmc::text {

/// PCG32 (O'Neill 2014, XSH-RR 64/32): a 64-bit linear congruential state, of
/// which 32 permuted bits come out.
class Random {
public:
  explicit Random(uint64_t seed, uint64_t stream = 54)
      : increment((stream << 1) | 1) {
    next();
    state += seed;
    next();
  }

  uint32_t next() {
    uint64_t old = state;
    state = old * 6364136223846793005u + increment;
    auto mixed = static_cast<uint32_t>(((old >> 18) ^ old) >> 27);
    auto rotation = static_cast<uint32_t>(old >> 59);
    return (mixed >> rotation) | (mixed << ((32 - rotation) & 31));
  }

  /// Uniform in [0, 1), a multiple of 2^-53 from two draws.
  double nextUniform() {
    uint64_t high = next() >> 5;
    uint64_t low = next() >> 6;
    return static_cast<double>((high << 26) | low) * 0x1p-53;
  }

private:
  uint64_t state = 0;
  uint64_t increment;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_RANDOM_H
