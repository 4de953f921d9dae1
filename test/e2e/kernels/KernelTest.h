// SPDX-License-Identifier: Apache-2.0
//
// What the tests of kernels share: a fixture with the machine's device, numbers
// to compute on, comparisons.

#ifndef LLMC_TEST_E2E_KERNELS_KERNELTEST_H
#define LLMC_TEST_E2E_KERNELS_KERNELTEST_H

#include "test/e2e/support/ProgramRunner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace llmc::test {

/// Whether all kernels are to run in lockstep, where accesses that they must
/// not make are found (the CTest test KernelTests.InLockstep).
inline bool runsInLockstep() {
  return std::getenv("LLMC_KERNELS_IN_LOCKSTEP") != nullptr;
}

class KernelTest : public testing::Test {
protected:
  void SetUp() override {
    if (!runsInLockstep() && !ProgramRunner::sharedDevice())
      GTEST_SKIP() << "this machine has no Vulkan device";
  }

  /// Kernels for matrix units run in lockstep on the host: no driver of a CPU
  /// has such matrices, nor subgroups of 32.
  std::unique_ptr<ProgramRunner>
  compile(const std::string &text, const ProgramRunner::Options &options = {}) {
    auto runner = runsInLockstep() || options.target == "nvidia-h200"
                      ? ProgramRunner::compileForHost(text, options)
                      : ProgramRunner::compile(*ProgramRunner::sharedDevice(),
                                               text, options);
    EXPECT_NE(runner, nullptr) << text;
    return runner;
  }
};

/// Numbers that look random and are the same on every machine: multiples of
/// 1/128 in [-1, 1), exact in f16.
class Numbers {
public:
  explicit Numbers(uint32_t seed) : state(seed * 2654435761U + 12345U) {}
  float next() {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(static_cast<int>(state >> 24) - 128) / 128.0F;
  }
  std::vector<float> take(size_t count) {
    std::vector<float> result(count);
    for (float &number : result)
      number = next();
    return result;
  }

private:
  uint32_t state;
};

/// Whether subgroups are those of the device that tests compile for. Kernels
/// that know their subgroups are right on no other; the runtime refuses them
/// there.
inline bool hasDescribedSubgroups() {
  constexpr uint32_t kDescribedSize = 8;
  return runsInLockstep() ||
         (ProgramRunner::sharedDevice() &&
          ProgramRunner::sharedDevice()->subgroupSize() == kDescribedSize);
}

/// Expects |actual - expected| <= tolerance * max |expected|, and no NaN.
inline void expectClose(const std::vector<float> &actual,
                        const std::vector<double> &expected, double tolerance) {
  ASSERT_GE(actual.size(), expected.size());
  double largest = 0;
  for (double value : expected)
    largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_TRUE(std::abs(actual[i] - expected[i]) <= tolerance * largest)
        << "element " << i << ": " << actual[i] << ", expected " << expected[i];
}

/// f16 bits to the number.
inline float fromHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  float mantissa = static_cast<float>(bits & 1023) / 1024.0F;
  float magnitude = exponent ? std::ldexp(1 + mantissa, exponent - 15)
                             : std::ldexp(mantissa, -14);
  return bits >> 15 ? -magnitude : magnitude;
}

/// The f16 bits of a number that f16 holds exactly.
inline uint16_t toHalf(float number) {
  if (number == 0)
    return 0;
  int exponent = 0;
  float fraction = std::frexp(std::abs(number), &exponent); // in [0.5, 1)
  auto mantissa = static_cast<uint32_t>(std::lround((fraction * 2 - 1) * 1024));
  return static_cast<uint16_t>((number < 0 ? 0x8000U : 0U) |
                               static_cast<uint32_t>(exponent + 14) << 10 |
                               mantissa);
}

inline int padToFour(int count) { return (count + 3) / 4 * 4; }

} // namespace llmc::test

#endif // LLMC_TEST_E2E_KERNELS_KERNELTEST_H
