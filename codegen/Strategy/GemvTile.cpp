// SPDX-License-Identifier: Apache-2.0
//
// The register model of the GEMV kernel and the choice of its tile.
//
// A result is kept in vectors of four columns (a quad). In the inner loop these
// are alive per invocation: the sums; the 16-byte unit of codes of each linear;
// four decoded weights; scale and offset of each linear; one vector of x; and
// addresses.

#include "codegen/Strategy/LinearTile.h"
#include "codegen/Strategy/StreamingRegisters.h"

#include <algorithm>

namespace llmc::codegen {

/// Of a workgroup.
constexpr int64_t kFewestLanes = 4 * kQuadsPerTile;

/// Of a compiler that loads early: decoded columns of a quad, of one linear,
/// and inputs are alive as whole vectors, inputs of both halves of a unit of
/// nibbles; and a quarter more for what is moved ahead. Fitted to turnip's.
static int64_t earlyLoadRegisters(const LinearShape &shape,
                                  const LinearTile &tile,
                                  const DeviceLimits &device) {
  constexpr int64_t kMovedAheadPercent = 25, kVector = 4;
  int64_t linears = tile.columns / 4,
          unitColumns = columnsPerUnit(shape.format),
          codes = std::max<int64_t>(kVector / unitColumns, 1) +
                  highWords(shape.format) / kVector;
  bool isScaled = scaleGroupColumns(shape.format) != 0,
       sumsCodes = isScaled && tile.rows <= kMaxGroupSumRows;
  int64_t vectors =
      tile.rows * linears * (sumsCodes ? 2 : 1) + linears * codes + kVector +
      tile.rows * (unitColumns == 8 ? 2 : 1) +
      linears * (isScaled + hasOffsets(shape.format)) + shape.hasNorm;
  int64_t live = kVector * vectors + kAddressRegisters;
  return std::max(live * (100 + kMovedAheadPercent) / 100,
                  device.registersFullOccupancy);
}

static bool isHalf(const LinearShape &shape, const GemvStrategy &strategy) {
  return strategy.arithmetic == "f16" && columnsPerUnit(shape.format) == 8 &&
         codebookOf(shape.format) == Codebook::None;
}

/// Whether the input of some linears waits in workgroup memory.
static bool stagesInMemory(const GemvStrategy &strategy) {
  return strategy.staging == Staging::Changed ||
         strategy.staging == Staging::Always;
}

int64_t gemvStagedColumns(const LinearShape &shape, const LinearTile &tile,
                          const DeviceLimits &device,
                          const GemvStrategy &strategy) {
  bool isChanged = shape.hasNorm || isHalf(shape, strategy);
  if (!stagesInMemory(strategy) || tile.rows != 1 || tile.columns != 4 ||
      (strategy.staging == Staging::Changed && !isChanged))
    return 0;
  // Half of the memory is left for the sums.
  int64_t bytes = powerOfTwoAtMost(
      std::min(strategy.stagedBytes, device.workgroupMemoryBytes / 2));
  int64_t most = bytes / (isHalf(shape, strategy) ? 2 : 4);
  if (int64_t columns = ceilDiv(shape.K, 4) * 4; columns <= most)
    return columns;
  bool isWhole = most % (tile.workgroup[0] / kQuadsPerTile * tile.kStep) == 0 &&
                 most % 256 == 0;
  return isWhole ? most : 0;
}

int64_t gemvExchangedColumns(const LinearShape &shape, const LinearTile &tile,
                             const DeviceLimits &device,
                             const GemvStrategy &strategy) {
  int64_t group = scaleGroupColumns(shape.format);
  bool isWhole = tile.workgroup[0] % device.subgroupSize == 0 &&
                 device.subgroupSize % kQuadsPerTile == 0 &&
                 (group ? group : tile.kStep) % (4 * kQuadsPerTile) == 0;
  return strategy.staging == Staging::Lanes &&
                 strategy.reduction == "subgroup" && isWhole
             ? tile.kStep
             : 0;
}

bool takesArithmetic(const LinearShape &shape, const LinearTile &tile,
                     const DeviceLimits &device, const GemvStrategy &strategy) {
  return isHalf(shape, strategy) &&
         gemvStagedColumns(shape, tile, device, strategy) != 0;
}

int64_t gemvWorkgroupBytes(const LinearShape &shape, const LinearTile &tile,
                           const DeviceLimits &device,
                           const GemvStrategy &strategy) {
  // Linears in turn share the memory of their sums, unless input is staged.
  constexpr int64_t kBytesPerSum = 4;
  int64_t staged = gemvStagedColumns(shape, tile, device, strategy),
          columns = staged ? 4 * shape.numLinears : tile.columns,
          sums = tile.workgroup[0] * tile.rows * (columns + 1) * kBytesPerSum;
  if (staged == 0)
    return sums;
  // Of each invocation and of the workgroup, what is needed after the loops.
  constexpr int64_t kWaitingBytes = 16, kFactorBytes = 8;
  int64_t bytes = isHalf(shape, strategy) ? 2 : 4;
  return sums + staged * bytes + tile.workgroup[0] * kWaitingBytes +
         kFactorBytes;
}

/// One linear and one row, with the input staged: codes are converted as they
/// are used, scales are loaded when the group's sums are complete, and
/// K-quants' sums wait in workgroup memory.
static int64_t stagedRegisters(const LinearShape &shape,
                               const LinearTile &tile) {
  constexpr int64_t kInputs = 4, kCodes = 4, kConverted = 2;
  int64_t high = highWords(shape.format);
  bool isNibble = columnsPerUnit(shape.format) == 8,
       isKQuant = high != 0 || shape.format == WeightFormat::Q4_K;
  int64_t live = kInputs + kCodes + high + kConverted + kAddressRegisters;
  if (!isKQuant)
    live += 4; // the sums
  if (scaleGroupColumns(shape.format) != 0)
    live += 4; // those of the group
  if (isNibble)
    live += 1; // the sum of the inputs
  if (hasOffsets(shape.format))
    live += 4; // constants that unpack their header, words of it
  if (shape.format == WeightFormat::Q4_K &&
      tile.kStep == 2 * scaleGroupColumns(shape.format))
    live += 4; // sums of the first of two groups, scaled together
  return live;
}

int64_t gemvRegisters(const LinearShape &shape, const LinearTile &tile,
                      const DeviceLimits &device,
                      const GemvStrategy &strategy) {
  if (strategy.loadsEarly)
    return earlyLoadRegisters(shape, tile, device);
  if (gemvStagedColumns(shape, tile, device, strategy) != 0)
    return stagedRegisters(shape, tile);
  int64_t linears = tile.columns / 4;
  int64_t sums = tile.accumulators;
  if (tile.rows <= kMaxGroupSumRows && scaleGroupColumns(shape.format) != 0)
    sums *= 2;
  if (shape.hasNorm)
    sums += tile.rows + 4; // the sum of squares, the gain
  int64_t weights = linears * (4 + highWords(shape.format)) + 4;
  int64_t scales =
      linears * 4 *
      ((scaleGroupColumns(shape.format) != 0) + hasOffsets(shape.format));
  return sums + weights + scales + 4 + kAddressRegisters;
}

/// Tiles of a linear that a lane takes side by side.
static int64_t selectTiles(const LinearShape &shape, const DeviceLimits &device,
                           const GemvStrategy &strategy) {
  if (shape.rows != 1 || shape.numLinears != 1)
    return 1;
  int64_t tiles = strategy.rowTiles;
  if (shape.hasNorm && highWords(shape.format) == 0)
    tiles = std::max(tiles, strategy.normTiles);
  while (tiles > 1 && 2 * (shape.N / (tiles * kTileRows)) < device.computeUnits)
    tiles /= 2;
  return tiles;
}

/// k of one share: one or two groups of scales, at most `limit` unless a group
/// is more.
static int64_t selectShare(const LinearShape &shape, int64_t limit) {
  int64_t paddedColumns = ceilDiv(shape.K, 4) * 4;
  int64_t group = groupColumns(shape.format, paddedColumns);
  bool isPair = scaleGroupColumns(shape.format) != 0 && 2 * group <= limit &&
                paddedColumns % (2 * group) == 0;
  return isPair ? 2 * group : group;
}

/// As many invocations as there are shares for; 64: 16 shares of k for each of
/// a tile's four quads.
static int64_t selectLanes(const LinearShape &shape, int64_t kStep,
                           const DeviceLimits &device,
                           const GemvStrategy &strategy) {
  int64_t shares = ceilDiv(shape.K, kStep),
          lanes = powerOfTwoAtMost(
              std::min(strategy.maxLanes, device.maxInvocations));
  while (lanes > kFewestLanes && lanes / kQuadsPerTile > shares)
    lanes /= 2;
  return lanes;
}

/// Whether a compiler takes more than the registers of full occupancy for two
/// groups in the body, where the input is staged: in parts, or for invocations
/// that are fewer because rows are short (Q4_K's pairs are unpacked together
/// and fit; measured with panvk).
static bool isPairTooMuch(const LinearShape &shape, const LinearTile &tile,
                          const DeviceLimits &device,
                          const GemvStrategy &strategy) {
  if (!stagesInMemory(strategy) ||
      tile.kStep != 2 * scaleGroupColumns(shape.format))
    return false;
  int64_t staged = gemvStagedColumns(shape, tile, device, strategy);
  return (staged != 0 && staged < shape.K) ||
         (shape.format != WeightFormat::Q4_K &&
          tile.workgroup[0] <
              std::min(strategy.maxLanes, device.maxInvocations));
}

/// A tile of one row whose lanes have one load of codes or two each: all of the
/// weight is in flight once the workgroups are. Nothing for large weights,
/// which keep the memory busy anyhow, and where groups are no whole number of
/// shares. Bounds from measurements on an H200 (docs/performance.md).
static std::optional<LinearTile> dealtTile(const LinearShape &shape,
                                           const DeviceLimits &device,
                                           const GemvStrategy &strategy,
                                           const LinearTile &whole) {
  constexpr int64_t kMostLanes = 1024, kMostLanesInTurn = 512;
  int64_t tiles = ceilDiv(shape.N, 4 * kQuadsPerTile),
          paddedColumns = ceilDiv(shape.K, 4) * 4,
          group = scaleGroupColumns(shape.format);
  if (!strategy.dealsTiles || whole.rows != 1 ||
      whole.columns != 4 * shape.numLinears || tiles >= 4 * device.computeUnits)
    return std::nullopt;
  LinearTile tile = whole;
  tile.splits = 2 * tiles < 3 * device.computeUnits ? 2 : 1;
  // A pair's headers of K-quants are much to unpack for one unit of codes.
  bool sharesHeaders =
      shape.numLinears > 1 && (shape.format == WeightFormat::Q4_K ||
                               shape.format == WeightFormat::Q5_K);
  tile.kStep = group == 0 ? 4 : sharesHeaders ? 16 : 8;
  int64_t quads = kQuadsPerTile / tile.splits, most = kMostLanes;
  if (paddedColumns / tile.kStep * quads > kMostLanes) {
    tile.kStep *= 2;
    most = kMostLanesInTurn;
  }
  most = std::min(most, device.maxInvocations);
  int64_t shares = ceilDiv(paddedColumns, tile.kStep),
          turns = ceilDiv(shares * quads, most), subgroup = device.subgroupSize;
  tile.workgroup[0] =
      ceilDiv(ceilDiv(shares, turns) * quads, subgroup) * subgroup;
  bool isWhole =
      paddedColumns % tile.kStep == 0 &&
      (group == 0 || (group % tile.kStep == 0 &&
                      tile.workgroup[0] / quads % (group / tile.kStep) == 0));
  return isWhole && tile.workgroup[0] <= most ? std::optional(tile)
                                              : std::nullopt;
}

/// A tile of one row of a vocabulary whose codes are much to decode: workgroups
/// that go over many tiles have their inputs in registers.
static std::optional<LinearTile> turningTile(const LinearShape &shape,
                                             const DeviceLimits &device,
                                             const GemvStrategy &strategy,
                                             const LinearTile &whole) {
  constexpr int64_t kLanes = 256, kWorkgroupsPerUnit = 16;
  int64_t tiles = ceilDiv(shape.N, 4 * kQuadsPerTile),
          workgroups = kWorkgroupsPerUnit * device.computeUnits,
          group = scaleGroupColumns(shape.format),
          step = shape.K * kQuadsPerTile / kLanes;
  bool isWhole = shape.K * kQuadsPerTile % kLanes == 0 && step % 4 == 0 &&
                 (step == 2 * group || step == group);
  if (!strategy.dealsTiles || whole.rows != 1 || shape.numLinears != 1 ||
      whole.columns != 4 || highWords(shape.format) == 0 || !isWhole ||
      tiles < 2 * workgroups || kLanes % device.subgroupSize != 0 ||
      device.maxInvocations < kLanes)
    return std::nullopt;
  LinearTile tile = whole;
  tile.workgroup[0] = kLanes;
  tile.kStep = step;
  tile.tileWorkgroups = workgroups;
  return tile;
}

std::optional<LinearTile> selectGemv(const LinearShape &shape,
                                     const DeviceLimits &device,
                                     const GemvStrategy &strategy) {
  if (device.maxInvocations < kFewestLanes)
    return std::nullopt;
  bool inTurn = strategy.linearsInTurn ||
                (strategy.highBitsInTurn && highWords(shape.format) != 0);
  int64_t mostRows = strategy.maxRows;
  if (highWords(shape.format) != 0 && hasStoredOffsets(shape.format))
    mostRows = std::min(mostRows, strategy.maxHighRows);
  std::optional<LinearTile> best;
  for (int64_t rows : {1, 2, 4, 8}) {
    if (rows > 1 && (rows / 2 >= shape.rows || rows > mostRows))
      break;
    bool sideBySide = !inTurn && rows * shape.numLinears <= strategy.maxVectors;
    int64_t vectors = (sideBySide ? shape.numLinears : 1) *
                      selectTiles(shape, device, strategy);
    // As many k for few rows that loads are in flight; less for many, so that
    // the body stays short.
    int64_t step = strategy.maxStep;
    if (highWords(shape.format) != 0)
      step = strategy.maxHighStep;
    else if (shape.format == WeightFormat::Q4_K)
      step = std::max(step, strategy.maxHeaderStep);
    int64_t limit = std::min({step, 2 * step / rows, device.maxUnroll});
    LinearTile tile{
        true, {1, 1, 1}, rows, 4 * vectors, selectShare(shape, limit), 0, 0};
    tile.workgroup[0] = selectLanes(shape, tile.kStep, device, strategy);
    if (isPairTooMuch(shape, tile, device, strategy)) {
      tile.kStep /= 2;
      tile.workgroup[0] = selectLanes(shape, tile.kStep, device, strategy);
    }
    tile = dealtTile(shape, device, strategy, tile).value_or(tile);
    tile = turningTile(shape, device, strategy, tile).value_or(tile);
    tile.accumulators = rows * tile.columns;
    tile.registers = gemvRegisters(shape, tile, device, strategy);
    bool fits = tile.registers <= device.registersMax &&
                gemvWorkgroupBytes(shape, tile, device, strategy) <=
                    device.workgroupMemoryBytes;
    if (!best || fits)
      best = tile;
  }
  return best;
}

} // namespace llmc::codegen
