// SPDX-License-Identifier: Apache-2.0
//
// Which ops run as one dispatch. Plain C++ on a small graph, without IR.

#ifndef LLMC_COMPILER_FUSION_REGIONPLANNER_H
#define LLMC_COMPILER_FUSION_REGIONPLANNER_H

#include <cstdint>
#include <vector>

namespace llmc::fusion {

/// What an op is to the planner.
enum class NodeKind {
  Leaf,        // constant, dequantize: computed anew wherever it is read
  Slice,       // a view, which moves into its readers
  Reshape,     // a view, which moves into its readers
  Elementwise, // works element by element
  SelectRows,
  Norm,     // over whole rows; linears of few rows compute it themselves
  RowNorm,  // over whole rows, by itself
  Pool,     // rows of a text become one
  Sum,      // over what experts give
  Conv,     // over neighbouring rows
  HeadNorm, // over the last dimension of [rows, heads, head dimension]
  Head,     // rotary, kv_append
  Linear,
  Embedding,
  Sdpa,
  Quantize, // of activations: joins what computes them
  Other,    // always alone
};

/// An op, whose results are read together. Nodes are numbered in program order.
struct PlanNode {
  NodeKind kind;
  /// The nodes it reads, in operand order. Operands from elsewhere (arguments,
  /// encoded weights) are left out.
  std::vector<int> operands;
  /// Results of equal types have equal numbers.
  int type = 0;
  /// Linears of one input, encoding and shape have equal numbers.
  int linearClass = 0;
  /// Whether its result must exist in any case: the function returns it, or it
  /// is a cache.
  bool isKept = false;
};

struct PlannedRegion {
  /// The op that names the region.
  int root = 0;
  /// All ops inside, in program order. An op that moves into its readers is in
  /// several regions.
  std::vector<int> body;
  /// Ops of the body whose results are read outside, in program order.
  std::vector<int> results;
};

/// The most rows for which a norm is computed again in each workgroup of the
/// linears that read it: few rows make the norm cheaper than one more dependent
/// dispatch.
constexpr int64_t kMaxRowsOfFusedNorm = 8;

/// Puts every node into regions and orders them so that each reads results of
/// earlier ones only. |rows| is the most rows of a step.
///
/// Roots in turn: linears (with a partner of the same class if one result
/// comes of both), embeddings, attention, the heads that attention reads,
/// convolutions, norms, sums over experts; then what is left. Around a root
/// grow the element-wise ops that leave the region with one result, and the op
/// that quantizes this result; into a convolution or norm that stands by itself
/// the element-wise ops that only it reads.
std::vector<PlannedRegion> planRegions(const std::vector<PlanNode> &nodes,
                                       int64_t rows);

} // namespace llmc::fusion

#endif // LLMC_COMPILER_FUSION_REGIONPLANNER_H
