// SPDX-License-Identifier: Apache-2.0
//
// Bounds of numbers that hold for every input of a model: what a norm, the
// lengths of weight rows and the formulas of ops leave possible. In real
// arithmetic; who uses a bound leaves room for rounding.

#ifndef LLMC_COMPILER_TRANSFORMS_MAGNITUDE_H
#define LLMC_COMPILER_TRANSFORMS_MAGNITUDE_H

#include <cstdint>
#include <limits>

namespace llmc::transforms {

/// What holds of each row (the last dimension) of a tensor: no number is larger
/// than `largest`, and the root of the sum of squares is at most `length`.
/// Infinite: nothing is known.
struct Magnitude {
  double largest = std::numeric_limits<double>::infinity();
  double length = std::numeric_limits<double>::infinity();
};

/// The rows of a matrix [outputs, inputs], or one row, the whole, of a vector.
struct RowMagnitudes {
  /// Over all rows: the longest, the most that the sum of magnitudes is, the
  /// largest number.
  double length = 0, sum = 0, largest = 0;
  /// The root of the sum of all squares.
  double total = 0;

  void addRow(const float *row, int64_t size);
};

/// Fills in what one of the two says about the other, for rows of `size`.
Magnitude ofRow(Magnitude magnitude, int64_t size);

/// x / root mean square (or deviation) * gain + bias.
Magnitude ofNorm(int64_t size, double largestGain, double largestBias = 0);
/// A matrix times a row.
Magnitude ofLinear(const Magnitude &input, const RowMagnitudes &weight,
                   int64_t outputs);
Magnitude ofSum(const Magnitude &lhs, const Magnitude &rhs);
Magnitude ofProduct(const Magnitude &lhs, const Magnitude &rhs);
/// Pairs of numbers turned.
Magnitude ofRotation(const Magnitude &input);
/// Rows of `from` numbers as rows of `to`.
Magnitude ofReshape(const Magnitude &input, int64_t from, int64_t to);

} // namespace llmc::transforms

#endif // LLMC_COMPILER_TRANSFORMS_MAGNITUDE_H
