// SPDX-License-Identifier: Apache-2.0
//
// Bounds from measurements on an H200 (docs/performance.md). K-quants alone:
// what other formats take to decode is hidden behind their loads.

#include "codegen/Strategy/GemvMatrixTile.h"

#include <algorithm>

namespace llmc::codegen {

/// Rows of the weight that a workgroup takes at once.
constexpr int64_t kRows = 32;
/// Of a column of x in two f16, and of a group's sum and factor
/// (GemvMatrixInput.h).
constexpr int64_t kBytesPerColumn = 4, kBytesPerGroup = 8;

std::optional<GemvMatrixTile>
selectGemvMatrixTile(const LinearShape &shape, const DeviceLimits &device,
                     const GemvStrategy &strategy) {
  constexpr int64_t kChunkGroups = 4, kSubgroups = 8, kWorkgroupsInTurn = 8,
                    kMostSubgroupsPerUnit = 24, kFewestChunks = 16,
                    kMostChunksInTurn = 16;
  bool isKQuant =
      shape.format == WeightFormat::Q4_K || shape.format == WeightFormat::Q6_K;
  if (!strategy.matrixFragments || !isKQuant || shape.rows != 1)
    return std::nullopt;
  int64_t chunk = kChunkGroups * scaleGroupColumns(shape.format),
          chunks = shape.K / chunk, workgroups = ceilDiv(shape.N, kRows),
          most = device.maxInvocations / device.subgroupSize;
  if (shape.K % chunk != 0 || most < kSubgroups)
    return std::nullopt;
  // Of longer rows, workgroups whose inputs are in registers are faster.
  int64_t inTurn = kWorkgroupsInTurn * device.computeUnits,
          stagedBytes = shape.K * kBytesPerColumn +
                        kChunkGroups * chunks * kBytesPerGroup;
  if (workgroups >= 4 * inTurn && shape.numLinears == 1 &&
      chunks <= kMostChunksInTurn &&
      2 * stagedBytes <= device.workgroupMemoryBytes)
    return GemvMatrixTile{kSubgroups, chunk, inTurn};
  // Of others, pairs alone are faster so, with enough to do for each subgroup.
  if (shape.numLinears != 2 || 2 * workgroups < 3 * device.computeUnits ||
      chunks < kFewestChunks)
    return std::nullopt;
  int64_t subgroups = powerOfTwoAtMost(std::min(chunks, most));
  while (subgroups > kSubgroups &&
         subgroups * workgroups > kMostSubgroupsPerUnit * device.computeUnits)
    subgroups /= 2;
  return GemvMatrixTile{subgroups, chunk, 0};
}

} // namespace llmc::codegen
