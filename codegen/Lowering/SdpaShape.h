// SPDX-License-Identifier: Apache-2.0
//
// What the parts of attention's kernel share: sizes with the tile that Strategy
// chose, and where partial results of splits lie.

#ifndef LLMC_CODEGEN_LOWERING_SDPASHAPE_H
#define LLMC_CODEGEN_LOWERING_SDPASHAPE_H

#include "codegen/Lowering/QuantizedStore.h"
#include "codegen/Lowering/RegionLowering.h"

namespace llmc::codegen {

/// The maximum of scores starts from here, and scores of hidden keys are lower
/// still: finite, so that no device has to get infinities right.
inline constexpr double kLowestScore = -1e38;
inline constexpr double kHiddenScore = -3e38;

/// Sizes of one attention, and its tile. A query is a (row, head) pair; those
/// of one KV head are numbered row by row.
struct SdpaShape {
  int64_t rows, heads, kvHeads, headDim;
  /// Keys that there is memory for.
  int64_t capacity;
  /// Queries of a workgroup and of an invocation; invocations that share the
  /// latter; keys whose weights pass through workgroup memory together;
  /// invocations that share a value; workgroups that share the keys.
  int64_t queries, perInvocation, lanes, keys, valueLanes, splits;
  int64_t workgroup;
  /// Loads of keys and of values in the bodies of the loops, at least.
  int64_t loadsAtOnce;

  int64_t group() const { return heads / kvHeads; }
  int64_t quads() const { return headDim / 4; }
  int64_t quadsPerLane() const { return quads() / valueLanes; }
  int64_t scoresPerLane() const { return keys / lanes; }
  /// Keys that are added up side by side by invocations of one query.
  int64_t classes() const { return lanes / valueLanes; }
  int64_t rowQuads() const { return heads * quads(); }
  /// Quads of the partial sums before the quads {maximum, sum, 0, 0} begin.
  int64_t partialQuads() const { return splits * rows * rowQuads(); }
  /// Workgroups of a KV head and a split.
  int64_t blocks() const { return (rows * group() + queries - 1) / queries; }
  /// Whether all queries of all workgroups are of row 0.
  bool hasOneRow() const { return rows == 1 && group() % queries == 0; }
  /// Bytes of all partial results.
  int64_t partialBytes() const {
    return 16 * (partialQuads() + splits * rows * heads);
  }
};

/// The sizes of `sdpa`, whose keys lie in `key`, with the tile of the region's
/// config; an error when they do not go together.
FailureOr<SdpaShape> sdpaShape(RegionContext &context, graph::SdpaOp sdpa,
                               const View &key);

/// The sizes of `sdpa` alone.
SdpaShape sdpaSizes(RegionContext &context, graph::SdpaOp sdpa,
                    const View &key);

/// Where attention's rows go: one of the two or both.
struct SdpaResult {
  std::optional<View> floats;
  std::optional<QuantizedResult> codes;
};

/// The op that the region's results are, as floats and quantized, through
/// reshapes, beside the caches that it appends to; null when they are something
/// else. Fills in `result`.
graph::SdpaOp findSdpa(RegionContext &context, SdpaResult &result);

/// cap * tanh(scores / cap), scalars and vectors.
Value softCap(KernelBuilder &builder, Value scores, double cap);

/// The numbers of a workgroup: which block of queries, KV head and split.
struct SdpaGroup {
  Value block, kvHead, split;
};

/// The workgroup's numbers as the device gives them.
SdpaGroup sdpaGroup(KernelBuilder &builder, const SdpaShape &shape);

/// Stores the workgroup's numbers, so that no register holds them while the
/// keys are gone through. Between this and loadSdpaGroup there must be a
/// barrier. `isFirst` is true in one invocation.
Value storeSdpaGroup(KernelBuilder &builder, const SdpaShape &shape,
                     Value isFirst);
SdpaGroup loadSdpaGroup(KernelBuilder &builder, const SdpaShape &shape,
                        Value memory);

/// Row and head (an index among all) of query `number` of a workgroup. The
/// last workgroup may have queries of rows that there are not.
struct SdpaRowAndHead {
  Value row, head;
};
SdpaRowAndHead sdpaRowAndHead(KernelBuilder &builder, const SdpaShape &shape,
                              const SdpaGroup &group, Value number);

/// 1 / sum, or 0 for a query that saw no key.
Value inverseSum(KernelBuilder &builder, Value sum);

/// What the splits of some queries share: partial results, as vectors of four
/// sums of the values [splits][rows][heads][head dimension], then {maximum, sum
/// of weights, 0, 0} [splits][rows][heads]; and a counter for each KV head and
/// block of queries.
struct SdpaSplits {
  Value partials, counters;
};

/// Of parts of one query's keys: the largest score, the sum of weights relative
/// to it, and that of weights times values.
struct SdpaParts {
  Value maximum, sum, total;
};

/// Adds up `count` parts in order. `statistics` gives a vector {maximum, sum of
/// weights, …} of a part, `quad` its vector of four sums of values.
SdpaParts addParts(KernelBuilder &builder, int64_t count,
                   llvm::function_ref<Value(int64_t)> statistics,
                   llvm::function_ref<Value(int64_t)> quad);

/// Emits what follows once a workgroup has stored its partial results: the last
/// of the workgroups that share the queries of `group` adds all up and stores
/// rows of `result`. Every invocation arrives here, `invocation` is its number
/// in the workgroup.
void emitSdpaCombine(KernelUnit &unit, const SdpaShape &shape,
                     const SdpaGroup &group, Value invocation,
                     const SdpaSplits &splits, const View &result);

/// Registers of adding up what the splits found.
int64_t sdpaCombineRegisters(target::DeviceAttr device, int64_t splits);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_SDPASHAPE_H
