// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic that both linear kernels' tiles rest on, and the choice
// between them.

#include "codegen/Strategy/LinearTile.h"

#include <algorithm>

namespace llmc::codegen {

namespace {
/// The largest power of two up to `limit` that divides `value`.
int64_t powerOfTwoDivisor(int64_t value, int64_t limit) {
  int64_t divisor = 1;
  while (divisor * 2 <= limit && value % (divisor * 2) == 0)
    divisor *= 2;
  return divisor;
}
} // namespace

int64_t highWords(WeightFormat format) {
  return format == WeightFormat::Q5_K || format == WeightFormat::Q6_K ? 4 : 0;
}

int64_t groupColumns(WeightFormat format, int64_t paddedColumns) {
  int64_t scaled = scaleGroupColumns(format);
  return scaled ? scaled : powerOfTwoDivisor(paddedColumns, 16);
}

int64_t selectKStep(const LinearShape &shape, int64_t limit) {
  int64_t paddedColumns = (shape.K + 3) / 4 * 4;
  int64_t smallest = std::max<int64_t>(4, columnsPerUnit(shape.format));
  return std::max(
      smallest,
      powerOfTwoDivisor(groupColumns(shape.format, paddedColumns), limit));
}

int64_t powerOfTwoAtMost(int64_t limit) {
  int64_t power = 1;
  while (power * 2 <= limit)
    power *= 2;
  return power;
}

std::optional<LinearTile> selectLinearTile(const LinearShape &shape,
                                           const DeviceLimits &device,
                                           const FamilyStrategy &strategy) {
  return shape.rows <= strategy.gemv.maxShapeRows && !shape.isInt8
             ? selectGemv(shape, device, strategy.gemv)
             : selectGemm(shape, device, strategy.gemm);
}

} // namespace llmc::codegen
