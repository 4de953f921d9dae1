// SPDX-License-Identifier: Apache-2.0
//
// Bounds from measurements on an H200 (docs/performance.md). K-quants alone:
// what other formats take to decode is hidden behind their loads.

#include "codegen/Strategy/GemvMatrixTile.h"

#include "codegen/Lowering/TileMisfit.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

/// Of a number of f32, and of a column of x in two f16 (GemvMatrixInput.h).
constexpr int64_t kBytesOfNumber = 4, kBytesPerColumn = 4;
/// Rows of the weight that a workgroup takes at once: those of two left
/// matrices of 16 rows, or of one.
constexpr int64_t kRows = 32, kFewRows = 16;
/// Of a workgroup, if there are some workgroups for a compute unit; and
/// workgroups of a compute unit that go over all tiles.
constexpr int64_t kSubgroups = 8, kWorkgroupsInTurn = 8;

int64_t chunkOf(const LinearShape &shape) {
  return kChunkGroups * scaleGroupColumns(shape.format);
}

int64_t workgroupBytes(const LinearShape &shape, const GemvMatrixSizes &tile,
                       const DeviceLimits &device) {
  int64_t subgroups = tile.invocations / device.subgroupSize,
          squares = shape.hasNorm ? subgroups * kBytesOfNumber : 0;
  int64_t sumsAndFactors = shape.K / scaleGroupColumns(shape.format) +
                           shape.K / kGemvMatrixBlockColumns,
          words = shape.K * kBytesPerColumn,
          zeros = chunkOf(shape) * kBytesPerColumn,
          input = squares + words + zeros + sumsAndFactors * kBytesOfNumber;
  if (tile.tileWorkgroups != 0)
    return input;
  // Four groups of scales of each column are added up in the subgroup. Sums
  // take the place of the words where there is no other, as vectors of four.
  int64_t sums = shape.numLinears * subgroups * tile.columns * kBytesOfNumber,
          inWords = shape.numLinears * subgroups * kRows * kBytesOfNumber;
  bool isShared =
      input + sums > device.workgroupMemoryBytes && inWords <= words;
  return input + (isShared ? 0 : sums);
}

/// A vocabulary: a subgroup goes over many tiles, none waits for another.
std::optional<GemvMatrixSizes> selectInTurn(const LinearShape &shape,
                                            const DeviceLimits &device) {
  constexpr int64_t kMostColumns = 2048;
  GemvMatrixSizes tile = {kSubgroups * device.subgroupSize, 1, kRows,
                          chunkOf(shape),
                          kWorkgroupsInTurn * device.computeUnits};
  bool isLarge = ceilDiv(shape.N, kRows) >= 4 * tile.tileWorkgroups;
  if (!isLarge || shape.numLinears != 1 || shape.K > kMostColumns ||
      2 * workgroupBytes(shape, tile, device) > device.workgroupMemoryBytes)
    return std::nullopt;
  return tile;
}

/// A workgroup of 16 rows for each compute unit, of as many subgroups as there
/// are 80 registers an invocation for; 32, with 64 registers, take 10.7 and
/// 12.1 µs for a 3B model's down (Q4_K, Q6_K), a gemv 11.4 and 13.0.
std::optional<GemvMatrixSizes> selectOneForUnit(const LinearShape &shape,
                                                const DeviceLimits &device) {
  constexpr int64_t kFewestColumns = 2048, kMostSubgroups = 24;
  int64_t workgroups = ceilDiv(shape.N, kFewRows), units = device.computeUnits;
  bool fillsUnits = 10 * workgroups >= 9 * units && workgroups <= units;
  if (!fillsUnits || shape.numLinears != 1 || shape.hasNorm ||
      shape.K < kFewestColumns)
    return std::nullopt;
  int64_t subgroups = std::min({shape.K / chunkOf(shape), kMostSubgroups,
                                device.maxInvocations / device.subgroupSize});
  return GemvMatrixSizes{subgroups * device.subgroupSize, 1, kFewRows,
                         chunkOf(shape), 0};
}

/// Several workgroups of a compute unit at once. 32 rows of subgroups that have
/// more than one chunk take too many registers for that: a 3B model's pair
/// takes 17 µs with 86, of which two workgroups fit, and 13 with 80.
std::optional<GemvMatrixSizes> selectSeveral(const LinearShape &shape,
                                             const DeviceLimits &device) {
  int64_t chunks = shape.K / chunkOf(shape),
          rows = chunks <= kSubgroups ? kRows : kFewRows,
          workgroups = ceilDiv(shape.N, rows);
  bool hasRows = 10 * workgroups >= 7 * device.computeUnits;
  // A kernel of one linear without a norm waits for its loads either way.
  bool isMuch = shape.numLinears == 2 ||
                (shape.hasNorm && shape.format == WeightFormat::Q4_K);
  if (!hasRows || !isMuch || chunks > kSubgroups * kGemvMatrixTurns)
    return std::nullopt;
  int64_t subgroups = std::min(powerOfTwoAtMost(chunks), kSubgroups);
  return GemvMatrixSizes{subgroups * device.subgroupSize, 1, rows,
                         chunkOf(shape), 0};
}

} // namespace

std::optional<GemvMatrixSizes>
selectGemvMatrixTile(const LinearShape &shape, const DeviceLimits &device,
                     const GemvStrategy &strategy) {
  bool isKQuant =
      shape.format == WeightFormat::Q4_K || shape.format == WeightFormat::Q6_K;
  if (!strategy.matrixFragments || !isKQuant)
    return std::nullopt;
  for (auto select : {selectInTurn, selectOneForUnit, selectSeveral})
    if (std::optional<GemvMatrixSizes> tile = select(shape, device);
        tile && checkGemvMatrixTile(shape, *tile, device, strategy).empty())
      return tile;
  return std::nullopt;
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
