// SPDX-License-Identifier: Apache-2.0
//
// Attention of one row that prepares its own heads: the workgroup of a KV head
// norms and turns the queries that share it, and the new key and value, which
// the workgroup whose keys they belong to writes to the caches.
//
// Only that workgroup reads these rows of the caches: blocks of keys are dealt
// to splits by their number, and the new row is in the last one. So what it
// writes has to be seen by itself alone.

#ifndef LLMC_CODEGEN_LOWERING_SDPAHEADS_H
#define LLMC_CODEGEN_LOWERING_SDPAHEADS_H

#include "codegen/Lowering/CachedRows.h"
#include "codegen/Lowering/HeadTurn.h"

#include <array>

namespace llmc::codegen {

/// The three chains of an attention, in the order query, key, value.
using SdpaChains = std::array<HeadChain, 3>;

/// Whether `sdpa` stands behind the ops that append its keys and values, in one
/// region with them.
bool preparesHeads(graph::SdpaOp sdpa);

/// Whether these chains can be computed together: those of key and value go to
/// caches; query and key are normed and turned alike, the value not at all, and
/// heads and halves are whole vectors of four.
bool canPrepareTogether(SdpaChains &chains);

/// Emits it.
class SdpaHeads {
public:
  SdpaHeads(KernelUnit &unit, graph::SdpaOp sdpa, const SdpaShape &shape);

  /// Where the chains begin, and their workgroup memory. An error when they
  /// cannot be computed together.
  LogicalResult bind();
  /// Prepares the heads of the workgroup's KV head, its number in y, and writes
  /// the new rows through `keys` and `values` where they belong to the split,
  /// its number in z. There are barriers; behind the last one, the workgroup
  /// sees the rows in the caches where it `readsBack`. `angles` as of HeadTurn.
  LogicalResult emit(const CachedRows &keys, const CachedRows &values,
                     bool readsBack = true, Value angles = {});
  /// The rotation of query and key; null without one.
  HeadChain &queryChain() { return chains[0]; }
  /// Registers of the kernel, whose loops take `ofLoops`.
  int64_t registers(int64_t ofLoops);
  /// A quad of the heads [queries of the KV head, key, value][quad], after
  /// `emit`.
  Value loadQuad(Value index) { return b.load(memory, index); }

private:
  /// A head that an invocation works at: the KV head's queries, then its key,
  /// then its value.
  struct Head {
    Value number, isQuery, isValue;
    /// Whether there is such a head.
    Value exists;
  };
  VectorPair loadSource(const Head &head, const HeadLane &at, Value kvHead);
  LogicalResult norm(const Head &head, const HeadLane &at, int64_t pass,
                     Value firstLane, VectorPair &x);
  void store(const CachedRows &rows, int64_t head, Value kvHead, Value place,
             Value isWritten);
  int64_t numHeads() const { return shape.group() + 2; }
  int64_t headsPerPass() const { return shape.workgroup / vectors.lanes(); }

  KernelUnit &unit;
  KernelBuilder &b;
  const SdpaShape &shape;
  SdpaChains chains;
  HeadVectors vectors;
  std::array<View, 3> sources;
  /// Workgroup memory: [queries of the KV head, key, value][quad]; one f32
  /// for each invocation and pass.
  Value memory, squares;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_SDPAHEADS_H
