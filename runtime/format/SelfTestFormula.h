// SPDX-License-Identifier: Apache-2.0
//
// The numbers that a self-test is given and how its results are summed, so that
// a file need not hold them: the compiler and the runtime agree on them here.
// They are a part of the file format and never change.

#ifndef LLMC_RUNTIME_FORMAT_SELFTESTFORMULA_H
#define LLMC_RUNTIME_FORMAT_SELFTESTFORMULA_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace llmc::format {

/// Bits without a pattern.
inline uint32_t scrambled(uint32_t value) {
  value ^= value >> 16;
  value *= 0x7feb352du;
  value ^= value >> 15;
  value *= 0x846ca68bu;
  return value ^ (value >> 16);
}

/// Of the input port `name` in step `step` of a case.
inline uint32_t selfTestSeed(const std::string &name, uint32_t step) {
  uint32_t seed = step + 1;
  for (const char c : name)
    seed = scrambled(seed * 31 + static_cast<unsigned char>(c));
  return seed;
}

/// Element `element` of an input, counted row by row without padding: a
/// multiple of 1/1024 in [-2, 2), so that f16 has it too.
inline float selfTestInput(uint32_t seed, uint64_t element) {
  const uint32_t bits = scrambled(seed + static_cast<uint32_t>(element));
  return static_cast<float>(static_cast<int32_t>(bits >> 20) - 2048) / 1024.0f;
}

/// 1 or -1: the sign of number `element` of a result in its block's sum.
inline double selfTestSign(uint64_t element) {
  return scrambled(static_cast<uint32_t>(element) ^ 0x5bd1e995u) & 1 ? 1 : -1;
}

/// The sum of block `block` of blocks of `size` numbers among `count`.
template <typename Number>
double selfTestSum(const Number *numbers, size_t count, size_t size,
                   size_t block) {
  double sum = 0;
  for (size_t i = block * size; i < count && i < (block + 1) * size; ++i)
    sum += selfTestSign(i) * static_cast<double>(numbers[i]);
  return sum;
}

} // namespace llmc::format

#endif // LLMC_RUNTIME_FORMAT_SELFTESTFORMULA_H
