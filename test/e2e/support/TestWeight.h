// SPDX-License-Identifier: Apache-2.0
//
// Weights for tests of kernels: codes and scales of every device format, their
// planes packed straight from docs/layouts.md, and the numbers they stand for.
// Written apart from the packer of the serializer.

#ifndef LLMC_TEST_E2E_SUPPORT_TESTWEIGHT_H
#define LLMC_TEST_E2E_SUPPORT_TESTWEIGHT_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace llmc::test {

struct TestWeight {
  /// Of `!graph.encoded<…>`: the encoding of a file that is kept in this format
  /// on the device.
  std::string encoding;
  int rows = 0, columns = 0;
  /// In the order of docs/layouts.md.
  std::vector<std::vector<uint8_t>> planes;
  /// values[row * columns + column].
  std::vector<double> values;
};

/// f32, f16 or bf16 numbers; `number` must be exact in the encoding.
TestWeight
makeDenseWeight(const std::string &encoding, int rows, int columns,
                const std::function<float(int row, int column)> &number);

/// q8_0 with scales of one: whole numbers from -127 to 127.
TestWeight
makeWholeQ8Weight(int rows, int columns,
                  const std::function<int(int row, int column)> &number);

/// Pseudo-random codes and scales of any encoding.
TestWeight makeRandomWeight(const std::string &encoding, int rows, int columns,
                            uint32_t seed);

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_TESTWEIGHT_H
