// SPDX-License-Identifier: Apache-2.0
//
// What tests of linears share: types as text, weights into buffers, rows with
// and without padding.

#ifndef LLMC_TEST_E2E_KERNELS_LINEARTEXT_H
#define LLMC_TEST_E2E_KERNELS_LINEARTEXT_H

#include "test/e2e/kernels/KernelTest.h"
#include "test/e2e/support/TestWeight.h"

namespace llmc::test {

inline std::string activations(int columns) {
  return "tensor<?x" + std::to_string(columns) + "xf32>";
}

inline std::string encoded(const TestWeight &weight) {
  return "tensor<" + std::to_string(weight.rows) + "x" +
         std::to_string(weight.columns) + "x!graph.encoded<" + weight.encoding +
         ">>";
}

inline std::string encodedVector(int count) {
  return "tensor<" + std::to_string(count) + "x!graph.encoded<f32>>";
}

/// `graph.weight @name : type …`
inline std::string declare(const std::string &name, const std::string &type,
                           int rows) {
  return "  graph.weight @" + name + " : " + type +
         " from [#graph.source<file = 0, offset = 0, rows = " +
         std::to_string(rows) + ">]\n";
}

inline void writeWeight(ProgramRunner &runner, const std::string &name,
                        const TestWeight &weight) {
  for (size_t plane = 0; plane < weight.planes.size(); ++plane)
    runner.write(name, weight.planes[plane], static_cast<int>(plane));
}

/// Drops the padding of rows, and checks that it is zero.
inline std::vector<float> unpadRows(const std::vector<float> &y, int rows,
                                    int columns) {
  std::vector<float> result;
  int width = padToFour(columns);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < width; ++column) {
      float value = y[size_t(row) * width + column];
      if (column < columns)
        result.push_back(value);
      else
        EXPECT_EQ(value, 0.0F) << "padding of row " << row;
    }
  return result;
}

} // namespace llmc::test

#endif // LLMC_TEST_E2E_KERNELS_LINEARTEXT_H
