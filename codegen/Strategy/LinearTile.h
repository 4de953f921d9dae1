// SPDX-License-Identifier: Apache-2.0
//
// The register model of the two linear kernels and the choice of their tiles,
// as plain C++.

#ifndef LLMC_CODEGEN_STRATEGY_LINEARTILE_H
#define LLMC_CODEGEN_STRATEGY_LINEARTILE_H

#include "codegen/Lowering/GemvScaling.h"
#include "codegen/Lowering/WeightLayout.h"
#include "codegen/Strategy/FamilyStrategy.h"

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
  /// Whether the input is quantized activations, which a GEMM alone takes.
  bool isInt8 = false;
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
  /// Workgroups that the quads of a GEMV's tile are dealt to: 1, 2 or 4.
  int64_t splits = 1;
  /// Workgroups of a GEMV that go over all tiles; 0 for one a tile.
  int64_t tileWorkgroups = 0;
};

/// Registers of the inner loop of a kernel with that tile (GemvTile.cpp,
/// GemmTile.cpp).
int64_t gemvRegisters(const LinearShape &shape, const LinearTile &tile,
                      const DeviceLimits &device, const GemvStrategy &strategy);
int64_t gemmRegisters(const LinearShape &shape, const LinearTile &tile,
                      const DeviceLimits &device, const GemmStrategy &strategy);

/// The columns of the input that a GEMV with that tile stages at once
/// (GemvStage.h); 0 when the loop reads them from the buffer.
int64_t gemvStagedColumns(const LinearShape &shape, const LinearTile &tile,
                          const DeviceLimits &device,
                          const GemvStrategy &strategy);
/// The columns that the lanes of a share hand to each other (GemvExchange.h); 0
/// when each lane loads what it needs.
int64_t gemvExchangedColumns(const LinearShape &shape, const LinearTile &tile,
                             const DeviceLimits &device,
                             const GemvStrategy &strategy);
/// Whether it computes in the strategy's arithmetic, else in f32.
bool takesArithmetic(const LinearShape &shape, const LinearTile &tile,
                     const DeviceLimits &device, const GemvStrategy &strategy);
/// Bytes of workgroup memory of a GEMV: staged input, and sums of lanes that
/// share k, which meet there.
int64_t gemvWorkgroupBytes(const LinearShape &shape, const LinearTile &tile,
                           const DeviceLimits &device,
                           const GemvStrategy &strategy);

/// Of a GEMM: sums of all linears but the last wait there, with the place of
/// each invocation.
int64_t gemmWorkgroupBytes(const LinearShape &shape, const LinearTile &tile);

/// The best tile of the kernel, or nothing when none fits the device's limits.
std::optional<LinearTile> selectGemv(const LinearShape &shape,
                                     const DeviceLimits &device,
                                     const GemvStrategy &strategy);
std::optional<LinearTile> selectGemm(const LinearShape &shape,
                                     const DeviceLimits &device,
                                     const GemmStrategy &strategy);

/// GEMV for as few rows as the family says, else GEMM; nothing when no tile
/// fits the device's limits.
std::optional<LinearTile> selectLinearTile(const LinearShape &shape,
                                           const DeviceLimits &device,
                                           const FamilyStrategy &strategy);

// What both models rest on.

/// Words of the plane of high bits that stay alive with the codes.
int64_t highWords(WeightFormat format);
/// k that share one scale; of floats, as many as a step may take at most.
int64_t groupColumns(WeightFormat format, int64_t paddedColumns);
/// k per unrolled step: the most up to `limit` that divides a group.
int64_t selectKStep(const LinearShape &shape, int64_t limit);
int64_t powerOfTwoAtMost(int64_t limit);
constexpr int64_t ceilDiv(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_LINEARTILE_H
