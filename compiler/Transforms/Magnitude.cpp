// SPDX-License-Identifier: Apache-2.0
//
// Each formula is the triangle inequality or Cauchy and Schwarz's, or the
// smaller of both.

#include "compiler/Transforms/Magnitude.h"

#include <algorithm>
#include <cmath>

namespace llmc::transforms {

namespace {

/// 0 where one factor is 0, though the other is unknown.
double times(double lhs, double rhs) {
  return lhs == 0 || rhs == 0 ? 0 : lhs * rhs;
}

double rootOf(int64_t size) { return std::sqrt(static_cast<double>(size)); }

} // namespace

void RowMagnitudes::addRow(const float *row, int64_t size) {
  double squares = 0, magnitudes = 0;
  for (int64_t i = 0; i < size; ++i) {
    double magnitude = std::abs(static_cast<double>(row[i]));
    squares += magnitude * magnitude;
    magnitudes += magnitude;
    // Also a number that is none makes everything unknown.
    if (!(magnitude <= largest))
      largest = std::isnan(magnitude) ? std::numeric_limits<double>::infinity()
                                      : magnitude;
  }
  if (std::isnan(squares))
    squares = magnitudes = std::numeric_limits<double>::infinity();
  length = std::max(length, std::sqrt(squares));
  sum = std::max(sum, magnitudes);
  total = std::hypot(total, std::sqrt(squares));
}

Magnitude ofRow(Magnitude magnitude, int64_t size) {
  return {std::min(magnitude.largest, magnitude.length),
          std::min(magnitude.length, times(magnitude.largest, rootOf(size)))};
}

Magnitude ofNorm(int64_t size, double largestGain, double largestBias) {
  double normed = times(rootOf(size), largestGain);
  return ofRow(
      {normed + largestBias, normed + times(rootOf(size), largestBias)}, size);
}

Magnitude ofLinear(const Magnitude &input, const RowMagnitudes &weight,
                   int64_t outputs) {
  return ofRow({std::min(times(input.length, weight.length),
                         times(input.largest, weight.sum)),
                times(input.length, weight.total)},
               outputs);
}

Magnitude ofSum(const Magnitude &lhs, const Magnitude &rhs) {
  return {lhs.largest + rhs.largest, lhs.length + rhs.length};
}

Magnitude ofProduct(const Magnitude &lhs, const Magnitude &rhs) {
  return {
      times(lhs.largest, rhs.largest),
      std::min(times(lhs.largest, rhs.length), times(lhs.length, rhs.largest))};
}

Magnitude ofRotation(const Magnitude &input) {
  return {std::min(times(input.largest, std::sqrt(2.0)), input.length),
          input.length};
}

Magnitude ofReshape(const Magnitude &input, int64_t from, int64_t to) {
  if (to <= from && from % to == 0)
    return ofRow(input, to);
  // Parts of several rows.
  return ofRow({input.largest, std::numeric_limits<double>::infinity()}, to);
}

} // namespace llmc::transforms
