// SPDX-License-Identifier: Apache-2.0
//
// Bounds from measurements on an H200 (docs/performance.md). K-quants alone:
// what other formats take to decode is hidden behind their loads.

#include "codegen/Strategy/GemvMatrixTile.h"

#include "codegen/Lowering/TileMisfit.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

/// Of a column of x in two f16, and of a group's sum and factor
/// (GemvMatrixInput.h).
constexpr int64_t kBytesPerColumn = 4, kBytesPerGroup = 8;
/// Rows of the weight that a workgroup takes at once: those of two left
/// matrices of 16 rows, or of one.
constexpr int64_t kRows = 32, kFewRows = 16;
/// Of a workgroup, if they share the columns of pairs, or go over all tiles;
/// and workgroups of a compute unit that do that.
constexpr int64_t kSubgroups = 8, kWorkgroupsInTurn = 8;

int64_t chunkOf(const LinearShape &shape) {
  return kChunkGroups * scaleGroupColumns(shape.format);
}

int64_t workgroupBytes(const LinearShape &shape, const GemvMatrixSizes &tile,
                       const DeviceLimits &device) {
  constexpr int64_t kBytesOfSum = 4;
  int64_t subgroups = tile.invocations / device.subgroupSize,
          squares = shape.hasNorm ? subgroups * kBytesOfSum : 0;
  if (tile.tileWorkgroups != 0)
    return squares + shape.K * kBytesPerColumn +
           shape.K / scaleGroupColumns(shape.format) * kBytesPerGroup;
  // Four groups of scales of each column are added up in the subgroup.
  return squares + shape.numLinears * subgroups * tile.columns * kBytesOfSum;
}

/// Workgroups of 32 rows leave half of the compute units idle, those of 16 next
/// to none, and the columns are many. Measured on an H200 in a bare kernel:
/// 2048 rows of 11008 columns by 128 workgroups on 132 multiprocessors, as many
/// subgroups as fit, Q4_K and Q6_K 8.6 to 8.8 µs where a gemv takes 11.3 and
/// 12.8.
std::optional<GemvMatrixSizes> selectFewRows(const LinearShape &shape,
                                             const DeviceLimits &device) {
  constexpr int64_t kFewestColumns = 8192;
  int64_t workgroups = ceilDiv(shape.N, kFewRows), units = device.computeUnits;
  bool fillsUnits = 10 * workgroups >= 9 * units && workgroups <= units;
  if (!fillsUnits || shape.numLinears != 1 || shape.hasNorm ||
      shape.K < kFewestColumns)
    return std::nullopt;
  int64_t subgroups = device.maxInvocations / device.subgroupSize;
  return GemvMatrixSizes{subgroups * device.subgroupSize, 1, kFewRows,
                         chunkOf(shape), 0};
}

} // namespace

std::optional<GemvMatrixSizes>
selectGemvMatrixTile(const LinearShape &shape, const DeviceLimits &device,
                     const GemvStrategy &strategy) {
  constexpr int64_t kMostSubgroupsPerUnit = 24, kFewestChunks = 16,
                    kMostChunksInTurn = 16;
  bool isKQuant =
      shape.format == WeightFormat::Q4_K || shape.format == WeightFormat::Q6_K;
  if (!strategy.matrixFragments || !isKQuant || shape.rows != 1)
    return std::nullopt;
  int64_t chunk = chunkOf(shape), chunks = shape.K / chunk,
          workgroups = ceilDiv(shape.N, kRows),
          most = device.maxInvocations / device.subgroupSize;
  if (shape.K % chunk != 0 || most < kSubgroups)
    return std::nullopt;
  // Of longer rows, workgroups whose inputs are in registers are faster.
  GemvMatrixSizes inTurn = {kSubgroups * device.subgroupSize, 1, kRows, chunk,
                            kWorkgroupsInTurn * device.computeUnits};
  if (workgroups >= 4 * inTurn.tileWorkgroups && shape.numLinears == 1 &&
      chunks <= kMostChunksInTurn &&
      2 * workgroupBytes(shape, inTurn, device) <= device.workgroupMemoryBytes)
    return inTurn;
  if (std::optional<GemvMatrixSizes> tile = selectFewRows(shape, device))
    return tile;
  // Of others, pairs alone are faster so, with enough to do for each subgroup.
  if (shape.numLinears != 2 || 2 * workgroups < 3 * device.computeUnits ||
      chunks < kFewestChunks)
    return std::nullopt;
  int64_t subgroups = powerOfTwoAtMost(std::min(chunks, most));
  while (subgroups > kSubgroups &&
         subgroups * workgroups > kMostSubgroupsPerUnit * device.computeUnits)
    subgroups /= 2;
  return GemvMatrixSizes{subgroups * device.subgroupSize, 1, kRows, chunk, 0};
}

std::vector<GemvMatrixSizes> enumerateGemvMatrixTiles(
    const LinearShape &shape, const std::optional<GemvMatrixSizes> &chosen,
    const DeviceLimits &device, const GemvStrategy &strategy) {
  std::vector<GemvMatrixSizes> tiles;
  auto add = [&](int64_t subgroups, int64_t rows, int64_t tileWorkgroups) {
    GemvMatrixSizes tile = {subgroups * device.subgroupSize, 1, rows,
                            chunkOf(shape), tileWorkgroups};
    if (!(chosen && tile == *chosen) &&
        checkGemvMatrixTile(shape, tile, device, strategy).empty())
      tiles.push_back(tile);
  };
  for (int64_t subgroups = device.maxInvocations / device.subgroupSize;
       subgroups >= kSubgroups; subgroups /= 2)
    for (int64_t rows : {kFewRows, kRows})
      add(subgroups, rows, /*tileWorkgroups=*/0);
  add(kSubgroups, kRows, kWorkgroupsInTurn * device.computeUnits);
  return tiles;
}

std::string checkGemvMatrixTile(const LinearShape &shape,
                                const GemvMatrixSizes &tile,
                                const DeviceLimits &device,
                                const GemvStrategy &strategy) {
  if (!strategy.matrixFragments)
    return "kind is 'gemv_matrix', which needs a device whose lanes hold "
           "matrices in a known way";
  if (shape.rows != 1)
    return describeMisfit("rows of a gemv_matrix", shape.rows, "is 1");
  if (shape.isInt8)
    return "activations are i8, allowed are f32 for a gemv_matrix";
  if (std::string wrong = checkGemvMatrixSizes(tile, shape.format, shape.K,
                                               device.subgroupSize);
      !wrong.empty())
    return wrong;
  if (tile.invocations > device.maxInvocations)
    return describeMisfit("workgroup's number of invocations", tile.invocations,
                          "are " + std::to_string(device.maxInvocations));
  if (int64_t bytes = workgroupBytes(shape, tile, device);
      bytes > device.workgroupMemoryBytes)
    return describeMisfit("workgroup memory", bytes,
                          "are " + std::to_string(device.workgroupMemoryBytes) +
                              " bytes");
  return "";
}

} // namespace llmc::codegen
