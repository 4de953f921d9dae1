// SPDX-License-Identifier: Apache-2.0
//
// The register model of the attention kernel and the choice of its tile, as
// plain C++.

#ifndef LLMC_CODEGEN_STRATEGY_SDPATILE_H
#define LLMC_CODEGEN_STRATEGY_SDPATILE_H

#include <cstdint>
#include <optional>

namespace llmc::codegen {

/// The attention of a region, for a step of `rows` rows on a cache of `context`
/// positions.
struct SdpaProblem {
  int64_t rows, heads, kvHeads, headDim, context;
  /// Whether keys and values are f16.
  bool isHalf;
  /// Whether the result is quantized.
  bool isQuantized = false;
};

/// The part of a device that the choice rests on; as in `#target.device`.
struct SdpaDevice {
  int64_t registersFullOccupancy, registersMax;
  int64_t subgroupSize, maxInvocations;
  int64_t workgroupMemoryBytes;
  int64_t computeUnits;
};

/// `queries` (row, head) pairs share a workgroup, `lanes` invocations a query,
/// `splits` workgroups the keys.
struct SdpaTile {
  int64_t queries, lanes, keys, splits;
  /// 32-bit registers: of the sums, and of everything alive in the loops.
  int64_t accumulators, registers;

  int64_t workgroup() const { return queries * lanes; }
  /// Maxima and weights; for a quantized result, a magnitude and a sum of codes
  /// for each quad of the head.
  int64_t workgroupBytes(const SdpaProblem &problem) const {
    int64_t codes = problem.isQuantized ? 2 * problem.headDim / 4 : 0;
    return 4 * queries * (lanes + keys + 1 + codes);
  }
};

/// Registers of the kernel's loops with that tile.
int64_t sdpaRegisters(const SdpaProblem &problem, const SdpaTile &tile);

/// The tile with the fewest lanes a query that fills a workgroup at full
/// occupancy, or what comes nearest to that; nothing when none fits the
/// device's limits. `headDim` must be a multiple of 4, `heads` of `kvHeads`.
std::optional<SdpaTile> selectSdpaTile(const SdpaProblem &problem,
                                       const SdpaDevice &device);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_SDPATILE_H
