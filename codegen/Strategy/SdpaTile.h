// SPDX-License-Identifier: Apache-2.0
//
// The register and cost models of the attention kernel and the choice of its
// tile, as plain C++.

#ifndef LLMC_CODEGEN_STRATEGY_SDPATILE_H
#define LLMC_CODEGEN_STRATEGY_SDPATILE_H

#include <cstdint>
#include <optional>

namespace llmc::codegen {

/// The attention of a region, for a step of `rows` rows on a cache of `context`
/// positions.
struct SdpaProblem {
  int64_t rows, heads, kvHeads, headDim, context;
  /// Bits of a number of keys and values: 32, 16, or 8 of codes with scales.
  int64_t elementBits;
  /// Whether the result is quantized.
  bool isQuantized = false;
  /// What a query keeps beside its last key: its first one, its bias.
  int64_t extras = 0;
  /// What the keys of a block must divide; 0: nothing.
  int64_t keyAlignment = 0;
  /// Whether the kernel norms and turns the heads and writes the new key and
  /// value: a workgroup then has all queries of a KV head, and room for a head
  /// of two vectors an invocation.
  bool preparesHeads = false;

  int64_t group() const { return heads / kvHeads; }
  /// Queries of a row that share a KV head, its key and its value.
  int64_t numPrepared() const { return group() + 2; }
  /// (row, head) pairs of one KV head.
  int64_t queries() const { return rows * group(); }
};

/// The part of a device that the choice rests on; as in `#target.device`.
struct SdpaDevice {
  int64_t registersFullOccupancy, registersMax;
  int64_t subgroupSize, maxInvocations;
  int64_t workgroupMemoryBytes;
  int64_t computeUnits;
  /// Whether the driver's compiler takes registers as long as they cost no
  /// occupancy, to load early.
  bool loadsEarly = false;
  /// Whether many rows may take more registers than full occupancy leaves.
  bool tradesOccupancy = false;
  /// Loads of keys and of values that the loops' bodies have, where a compiler
  /// does not move those of later rounds forward.
  int64_t loadsAtOnce = 1;
  /// Whether the registers leave room for two vectors of a head, its norm and
  /// its angles.
  bool preparesHeads = true;
};

/// `queries` (row, head) pairs share a workgroup, `perInvocation` of them an
/// invocation, `lanes` invocations these, `valueLanes` of the lanes a value,
/// `splits` workgroups the keys; loops have `loadsAtOnce` loads in flight.
struct SdpaTile {
  int64_t queries, perInvocation, lanes, keys, valueLanes, splits, loadsAtOnce;
  /// 32-bit registers: of the sums, and of everything alive in the loops.
  int64_t accumulators, registers;

  int64_t workgroup() const { return queries / perInvocation * lanes; }
  /// Heads that the workgroup prepares side by side.
  int64_t headsAtOnce(const SdpaProblem &problem) const {
    return workgroup() / (problem.headDim / 8);
  }
  /// Maxima in two steps, weights, and sums of classes; for a quantized result,
  /// a magnitude and a sum of codes for each quad of the head; for heads that
  /// it prepares, these and a sum for each invocation that works at one; where
  /// keys are split, the workgroup's numbers and whether it is the last.
  int64_t workgroupBytes(const SdpaProblem &problem) const;
};

/// Registers of the kernel's loops with that tile.
int64_t sdpaRegisters(const SdpaProblem &problem, const SdpaTile &tile,
                      const SdpaDevice &device);

/// Instructions per multiply-add, about: loops with all that surrounds them.
double sdpaCost(const SdpaProblem &problem, const SdpaTile &tile);

/// The best tile, or nothing when none fits the device's limits. For few rows,
/// which wait for memory, full occupancy comes first; for many, which wait for
/// arithmetic, fewer instructions may be worth a step of occupancy. `headDim`
/// must be a multiple of 4, `heads` of `kvHeads`.
std::optional<SdpaTile> selectSdpaTile(const SdpaProblem &problem,
                                       const SdpaDevice &device);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_SDPATILE_H
