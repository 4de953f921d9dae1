// SPDX-License-Identifier: Apache-2.0
//
// Candidates for the next token, and the best of those that a kernel's
// invocations have.

#ifndef LLMC_CODEGEN_LOWERING_CANDIDATEORDER_H
#define LLMC_CODEGEN_LOWERING_CANDIDATEORDER_H

#include "codegen/Lowering/KernelBuilder.h"
#include "dialects/Target/Target.h"

#include <limits>

namespace llmc::codegen {

/// A logit, f32, and its rank, a positive i32: of two equal values the lower
/// rank is better.
struct Candidate {
  Value value, rank;
};

/// Of a kernel of `lanes` invocations.
class CandidateOrder {
public:
  /// Behind every token.
  static constexpr int64_t kNoRank = std::numeric_limits<int32_t>::max();
  static constexpr double kLargest = std::numeric_limits<float>::max();

  CandidateOrder(KernelBuilder &builder, target::DeviceAttr device,
                 int64_t lanes);

  /// The size of the subgroups that a kernel of `lanes` invocations depends on:
  /// 0 where candidates meet in workgroup memory alone.
  static int64_t subgroupOf(target::DeviceAttr device, int64_t lanes);

  /// Of a lowering config.
  StringRef reduction() const {
    return subgroup == 0 ? "workgroup" : "subgroup";
  }

  Candidate none() { return {b.f32(-kLargest), b.i32(kNoRank)}; }
  Value isBetter(Candidate one, Candidate other);
  /// Neighbours first, so that few comparisons wait for each other.
  Candidate bestOf(SmallVector<Candidate> candidates);
  /// The best of all invocations, given to all of them; `round`: an index, how
  /// often it was asked for before.
  Candidate bestOfWorkgroup(Candidate own, Value round);

private:
  Candidate better(Candidate one, Candidate other);
  Candidate load(Value place);
  void store(Candidate candidate, Value place);
  Candidate bestOfLanes(Candidate own, Value round);
  Candidate bestOfSubgroup(Candidate own);
  Candidate bestOfSubgroups(Candidate own, Value round);

  KernelBuilder &b;
  int64_t lanes, subgroup;
  /// Invocations or subgroups, whose candidates meet in workgroup memory unless
  /// it is one.
  int64_t places;
  Value values, ranks;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_CANDIDATEORDER_H
