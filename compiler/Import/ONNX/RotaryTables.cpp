// SPDX-License-Identifier: Apache-2.0
//
// The last column's angle in row 1 tells the base; all other numbers have to
// agree.

#include "compiler/Import/ONNX/RotaryTables.h"

#include "compiler/Import/ONNX/Operand.h"

#include <cmath>

namespace llmc::onnx {

namespace {

constexpr int64_t kMaxRows = 4096;

bool isReal(DataType type) {
  return type == DataType::Float || type == DataType::Float16 ||
         type == DataType::BFloat16 || type == DataType::Double;
}

/// What exporters' arithmetic and the type leave: angles are products of floats
/// in f32, and small types round the result.
double toleranceAt(DataType type, int64_t position) {
  double rounding = type == DataType::Float16    ? 5e-4
                    : type == DataType::BFloat16 ? 4e-3
                                                 : 1e-6;
  return rounding + 2.5e-7 * static_cast<double>(position);
}

bool agrees(const Tensor &cosines, const Tensor &sines, double base) {
  int64_t half = cosines.shape[1];
  int64_t rows = std::min(cosines.shape[0], kMaxRows);
  for (int64_t row = 0; row != rows; ++row)
    for (int64_t i = 0; i != half; ++i) {
      double angle =
          static_cast<double>(row) *
          std::pow(base, -static_cast<double>(i) / static_cast<double>(half));
      double tolerance = toleranceAt(cosines.type, row);
      int64_t place = row * half + i;
      bool isClose =
          std::abs(realAt(cosines, place) - std::cos(angle)) <= tolerance &&
          std::abs(realAt(sines, place) - std::sin(angle)) <= tolerance;
      if (!isClose)
        return false;
    }
  return true;
}

/// To so many significant digits.
double rounded(double number, int digits) {
  double unit = std::pow(10, std::floor(std::log10(number)) - (digits - 1));
  return std::round(number / unit) * unit;
}

} // namespace

std::optional<double> rotaryBase(const Tensor &cosines, const Tensor &sines) {
  if (cosines.shape.size() != 2 || cosines.shape != sines.shape ||
      cosines.type != sines.type || !isReal(cosines.type) ||
      cosines.shape[0] < 2 || cosines.shape[1] < 1)
    return std::nullopt;
  int64_t half = cosines.shape[1], last = 2 * half - 1;
  double angle = std::atan2(realAt(sines, last), realAt(cosines, last));
  if (half == 1 || !(angle > 0) || angle >= 1)
    return std::nullopt;
  double estimate = std::pow(angle, -static_cast<double>(half) /
                                        static_cast<double>(half - 1));
  // Bases are round numbers, which the tables give to a few digits.
  for (double base : {rounded(estimate, 1), rounded(estimate, 2),
                      rounded(estimate, 5), estimate})
    if (agrees(cosines, sines, base))
      return base;
  return std::nullopt;
}

} // namespace llmc::onnx
