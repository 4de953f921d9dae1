// SPDX-License-Identifier: Apache-2.0
//
// Who an invocation of attention is: its queries, the keys that each of them
// sees, and the blocks of keys that its workgroup goes over.

#ifndef LLMC_CODEGEN_LOWERING_SDPAPLACE_H
#define LLMC_CODEGEN_LOWERING_SDPAPLACE_H

#include "codegen/Lowering/SdpaShape.h"

#include <optional>

namespace llmc::codegen {

/// One of the queries of an invocation.
struct SdpaQuery {
  Value row, head;
  /// Index of its first quad, in memory or among the prepared ones.
  Value quad;
  /// It sees the keys begin … end - 1; a null begin is 0.
  Value begin, end;
  /// Index of key 0 in its row of the bias, and in the table of biases by
  /// distance; null without one.
  Value bias, relative;
};

/// Where the operands of an attention lie; those that it may lack are optional.
/// Of queries that the kernel prepares itself, there is only the type.
struct SdpaViews {
  View query, key, value;
  std::optional<View> bias, ranges;
  std::optional<WeightView> relative;
  StepWord position;
  /// Whether the kernel prepares its heads (SdpaHeads.h).
  bool preparesHeads = false;
};

/// The operands of `sdpa`, or an error when keys of a cache come without a
/// position.
FailureOr<SdpaViews> sdpaViews(RegionContext &context, graph::SdpaOp sdpa);

/// The first key of the first block of the workgroup's split: blocks are dealt
/// by their number in the cache, wherever `begin`, which starts a block, is
/// (null: 0).
Value firstKeyOfSplit(KernelBuilder &builder, const SdpaShape &shape,
                      Value begin);

/// Computes all of it at the kernel's start. The workgroups' numbers are:
/// blocks of queries, KV head, split.
class SdpaPlace {
public:
  SdpaPlace(KernelUnit &unit, graph::SdpaOp sdpa, const SdpaShape &shape,
            const SdpaViews &views)
      : sdpa(sdpa), shape(shape), views(views), unit(unit), b(unit.builder()) {}

  /// Emits the values below. Every invocation arrives here: there may be a
  /// barrier.
  void emit();
  /// The first key of the split's first block.
  Value firstBlock() { return firstKeyOfSplit(b, shape, begin); }

  /// The invocation's number among those that share its queries, and these
  /// queries' number in the workgroup; its KV head.
  Value lane, slot, kvHead;
  SmallVector<SdpaQuery> queries;
  /// Keys that there are; the last that any query of the invocation sees.
  Value numKeys, lastKey;
  /// Keys that the workgroup goes over; `begin` (null: 0) starts a block.
  Value begin, end;

private:
  void emitQuery(int64_t number);
  void emitSeenKeys(SdpaQuery &query, Value readRow);
  void emitBlocks();
  void meetRanges();

  graph::SdpaOp sdpa;
  const SdpaShape &shape;
  const SdpaViews &views;
  KernelUnit &unit;
  KernelBuilder &b;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_SDPAPLACE_H
