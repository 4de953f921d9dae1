// SPDX-License-Identifier: Apache-2.0
//
// A device and linears that tests of tiles and of registers start from.

#ifndef LLMC_TEST_UNIT_CODEGEN_STRATEGY_LINEARCASE_H
#define LLMC_TEST_UNIT_CODEGEN_STRATEGY_LINEARCASE_H

#include "codegen/Strategy/LinearTile.h"

namespace llmc::codegen {

inline DeviceLimits device(int64_t fullOccupancy, int64_t most) {
  return {fullOccupancy, most, 16, 512, 32768, 128, 4};
}

inline LinearShape shape(WeightFormat format, int64_t rows,
                         int64_t numLinears = 1) {
  return {format, rows, 2048, 2048, numLinears, false};
}

} // namespace llmc::codegen

#endif // LLMC_TEST_UNIT_CODEGEN_STRATEGY_LINEARCASE_H
