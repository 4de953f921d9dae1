// SPDX-License-Identifier: Apache-2.0
//
// Attention of one row that prepares its own heads: a workgroup norms and turns
// its queries, which share a KV head, and the new key and value, which one
// workgroup writes to the caches.
//
// That is the only one that may read these rows of the caches: where rows are
// read back, blocks of keys are dealt to splits by their number, and the new
// row is in the last one. So what it writes has to be seen by itself alone.

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

/// How a kernel prepares its heads.
struct SdpaHeadsUse {
  /// Whether the workgroup reads the new rows in the caches.
  bool readsBack = true;
  /// As of HeadTurn; null: computed.
  Value angles = {};
  /// The size of subgroups in which norms are added up, 0 for workgroup memory;
  /// and the invocation's number counted by subgroups.
  int64_t subgroup = 0;
  Value thread = {};
  /// Whether the workgroup writes the new rows; null: the one whose split they
  /// are in.
  Value writes = {};
};

/// Emits it.
class SdpaHeads {
public:
  SdpaHeads(KernelUnit &unit, graph::SdpaOp sdpa, const SdpaShape &shape);

  /// Where the chains begin, and their workgroup memory. An error when they
  /// cannot be computed together.
  LogicalResult bind();
  /// Prepares the heads of the workgroup's block of queries, its number in x,
  /// of KV head y, split z, and writes the new rows through `keys` and
  /// `values`. There are barriers; behind the last one, the workgroup sees the
  /// rows in the caches where it reads back.
  LogicalResult emit(const CachedRows &keys, const CachedRows &values,
                     const SdpaHeadsUse &use = {});
  /// The rotation of query and key; null without one.
  HeadChain &queryChain() { return chains[0]; }
  /// Registers of the kernel, whose loops take `ofLoops`.
  int64_t registers(int64_t ofLoops);
  /// Queries of the workgroup.
  int64_t numQueries() const { return std::min(shape.queries, shape.group()); }
  /// A quad of the heads [queries of the workgroup, key, value][quad], after
  /// `emit`.
  Value loadQuad(Value index) { return b.load(memory, index); }

private:
  /// A head that an invocation works at: the workgroup's queries, then the key,
  /// then the value.
  struct Head {
    Value number, isQuery, isValue;
    /// Whether there is such a head.
    Value exists;
  };
  VectorPair loadSource(const Head &head, const HeadLane &at, Value kvHead);
  LogicalResult norm(const Head &head, const HeadLane &at, int64_t pass,
                     Value firstLane, const SdpaHeadsUse &use, VectorPair &x);
  bool sumsInSubgroup(int64_t subgroup) const;
  void store(const CachedRows &rows, int64_t head, Value kvHead, Value place,
             Value isWritten);
  int64_t numHeads() const { return numQueries() + 2; }
  int64_t headsPerPass() const { return shape.workgroup / vectors.lanes(); }

  KernelUnit &unit;
  KernelBuilder &b;
  const SdpaShape &shape;
  SdpaChains chains;
  HeadVectors vectors;
  std::array<View, 3> sources;
  /// Workgroup memory: [queries of the workgroup, key, value][quad]; one f32
  /// for each invocation and pass, where norms need it.
  Value memory, squares;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_SDPAHEADS_H
