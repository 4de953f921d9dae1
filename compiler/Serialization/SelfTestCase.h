// SPDX-License-Identifier: Apache-2.0
//
// A case of a self-test before it is written: entries and ports by their names.

#ifndef LLMC_COMPILER_SERIALIZATION_SELFTESTCASE_H
#define LLMC_COMPILER_SERIALIZATION_SELFTESTCASE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace llmc::serialization {

struct SelfTestStep {
  int64_t position = 0;
  int64_t rows = 0;
  /// Inputs of i32; those of f32 follow from a formula.
  std::map<std::string, std::vector<int32_t>> indices;
};

/// What result |output| of the last step is, as sums of |block| numbers each
/// (runtime/format/SelfTestFormula.h).
struct SelfTestExpectation {
  std::string output;
  int64_t rows = 0;
  int64_t block = 0;
  std::vector<float> sums;
  float tolerance = 0;
};

struct SelfTestCase {
  std::string function; // of the entry: "selftest.4"
  std::vector<SelfTestStep> steps;
  std::vector<SelfTestExpectation> expectations;
};

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_SELFTESTCASE_H
