// SPDX-License-Identifier: Apache-2.0
//
// The register model of the two linear kernels and the choice of their tiles,
// as plain C++.

#ifndef LLMC_CODEGEN_STRATEGY_LINEARTILE_H
#define LLMC_CODEGEN_STRATEGY_LINEARTILE_H

#include "codegen/Lowering/GemvScaling.h"
#include "codegen/Lowering/WeightLayout.h"

#include <cstdint>
#include <optional>

namespace llmc::codegen {

/// The linear(s) of a region: `numLinears` weights [N, K] of one format and
/// shape on one input of `rows` rows.
struct LinearShape {
  WeightFormat format;
  int64_t rows;
  int64_t N, K;
  int64_t numLinears;
  /// Whether the rms_norm of the input is computed by the same kernel.
  bool hasNorm;
};

/// The part of a device that the choice rests on; as in `#target.device`.
struct DeviceLimits {
  int64_t registersFullOccupancy, registersMax;
  int64_t subgroupSize, maxInvocations;
  int64_t workgroupMemoryBytes;
  int64_t maxUnroll;
  int64_t computeUnits;
};

/// What one invocation computes, and how invocations are arranged.
struct LinearTile {
  bool isGemv;
  int64_t workgroup[3];
  /// Rows and columns of the result, and k per unrolled step.
  int64_t rows, columns, kStep;
  /// 32-bit registers: of the sums, and of everything alive in the inner loop.
  int64_t accumulators, registers;
};

/// Registers of the inner loop of a kernel with that tile.
int64_t linearRegisters(const LinearShape &shape, const LinearTile &tile);

/// GEMV for up to eight rows, else GEMM; nothing when no tile fits the device's
/// limits.
std::optional<LinearTile> selectLinearTile(const LinearShape &shape,
                                           const DeviceLimits &device);

/// Up to that many rows a linear is a GEMV.
inline constexpr int64_t kMaxGemvRows = 8;

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_LINEARTILE_H
