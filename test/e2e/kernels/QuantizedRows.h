// SPDX-License-Identifier: Apache-2.0
//
// Quantized activations as kernels store them (docs/architecture.md), read back
// and compared with the numbers that they stand for.

#ifndef LLMC_TEST_E2E_KERNELS_QUANTIZEDROWS_H
#define LLMC_TEST_E2E_KERNELS_QUANTIZEDROWS_H

#include "test/e2e/kernels/KernelTest.h"

namespace llmc::test {

/// The types of codes, scales and sums, between commas.
inline std::string quantizedTypes(int columns, int group) {
  std::string k = std::to_string(columns),
              sums = "tensor<?x" + std::to_string(columns / 32) + "xf32>";
  return "tensor<?x" + k + "xi8>, " + (group ? sums : "tensor<?xf32>") + ", " +
         sums;
}

/// The result types of a function that gives them as "q", "s" and "t".
inline std::string quantizedResults(int columns, int group) {
  std::string k = std::to_string(columns),
              sums = "tensor<?x" + std::to_string(columns / 32) + "xf32>";
  return "tensor<?x" + k + "xi8> {graph.name = \"q\"}, " +
         (group ? sums : "tensor<?xf32>") + " {graph.name = \"s\"}, " + sums +
         " {graph.name = \"t\"}";
}

/// Those results after a run.
class QuantizedRows {
public:
  QuantizedRows(ProgramRunner &runner, int columns, int group)
      : codes(runner.read<int8_t>("q")), scales(runner.read<float>("s")),
        sums(runner.read<float>("t")), columns(columns), group(group) {}

  int code(int row, int k) const {
    size_t unit = size_t(row / 4) * (columns / 4) + k / 4;
    return codes.at(unit * 16 + row % 4 * 4 + k % 4);
  }
  float scale(int row, int block) const {
    return group ? scales.at(placeOf(row, block)) : scales.at(row);
  }
  float sum(int row, int block) const { return sums.at(placeOf(row, block)); }

  /// Expects what `x`, rows of `columns` numbers, is quantized to. `tolerance`
  /// is that of a number, in scales: one closer than that to the middle of two
  /// codes may have either.
  void expectOf(const std::vector<double> &x, double tolerance) const {
    for (int row = 0; row < static_cast<int>(x.size()) / columns; ++row) {
      const double *numbers = &x[size_t(row) * columns];
      int size = group ? group : columns;
      for (int first = 0; first < columns; first += size) {
        double largest = 0;
        for (int k = first; k < first + size; ++k)
          largest = std::max(largest, std::abs(numbers[k]));
        float found = scale(row, first / 32);
        ASSERT_NEAR(found, largest / 127, 1e-5 * largest / 127)
            << "scale of row " << row << " from " << first;
        for (int k = first; k < first + size; ++k)
          ASSERT_NEAR(code(row, k), found == 0 ? 0 : numbers[k] / found,
                      0.5 + tolerance)
              << "row " << row << ", column " << k;
      }
      for (int block = 0; block < columns / 32; ++block) {
        int total = 0;
        for (int k = 32 * block; k < 32 * block + 32; ++k)
          total += code(row, k);
        float expected = scale(row, block) * static_cast<float>(total);
        ASSERT_NEAR(sum(row, block), expected, 1e-6 * std::abs(expected))
            << "sum of row " << row << ", block " << block;
      }
    }
  }

private:
  size_t placeOf(int row, int block) const {
    return (size_t(row / 4) * (columns / 32) + block) * 4 + row % 4;
  }

  std::vector<int8_t> codes;
  std::vector<float> scales, sums;
  int columns, group;
};

} // namespace llmc::test

#endif // LLMC_TEST_E2E_KERNELS_QUANTIZEDROWS_H
