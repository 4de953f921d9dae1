// SPDX-License-Identifier: Apache-2.0
//
// CandidateOrder.h. Where subgroups reduce integers, each finds its best so,
// and only those of several meet in workgroup memory, behind one barrier.

#include "codegen/Lowering/CandidateOrder.h"

namespace llmc::codegen {

/// Candidates that the first of two steps in workgroup memory compares.
static constexpr int64_t kFirstStep = 8;

int64_t CandidateOrder::subgroupOf(target::DeviceAttr device, int64_t lanes) {
  int64_t size = device.getSubgroupSize();
  bool isUsable = size > 1 && device.hasFeature("subgroup_arithmetic") &&
                  !device.hasQuirk("no_subgroup_reduction");
  return isUsable && lanes % size == 0 ? size : 0;
}

CandidateOrder::CandidateOrder(KernelBuilder &builder,
                               target::DeviceAttr device, int64_t lanes)
    : b(builder), lanes(lanes), subgroup(subgroupOf(device, lanes)),
      places(subgroup == 0 ? lanes : lanes / subgroup) {
  if (places == 1)
    return;
  int64_t count = subgroup == 0 ? places : 2 * places;
  values = b.workgroupMemory(count, b.getF32Type());
  ranks = b.workgroupMemory(count, b.getI32Type());
}

Value CandidateOrder::isBetter(Candidate one, Candidate other) {
  return b.select(b.equal(one.value, other.value), b.less(one.rank, other.rank),
                  b.less(other.value, one.value));
}

Candidate CandidateOrder::better(Candidate one, Candidate other) {
  Value isOne = isBetter(one, other);
  return {b.select(isOne, one.value, other.value),
          b.select(isOne, one.rank, other.rank)};
}

Candidate CandidateOrder::load(Value place) {
  return {b.load(values, place), b.load(ranks, place)};
}

void CandidateOrder::store(Candidate candidate, Value place) {
  b.store(candidate.value, values, place);
  b.store(candidate.rank, ranks, place);
}

Candidate CandidateOrder::bestOf(SmallVector<Candidate> candidates) {
  for (; candidates.size() > 1;
       candidates.truncate((candidates.size() + 1) / 2))
    for (size_t i = 0; i < candidates.size(); i += 2)
      candidates[i / 2] = i + 1 < candidates.size()
                              ? better(candidates[i], candidates[i + 1])
                              : candidates[i];
  return candidates.front();
}

/// In the same places in every round: where compilers see them, llvmpipe has
/// one load for all lanes.
Candidate CandidateOrder::bestOfLanes(Candidate own, Value round) {
  Value lane = b.localId();
  // Who is late may still read what is from the round before.
  b.ifThen(b.less(b.index(0), round), [&] { b.barrier(); });
  store(own, lane);
  b.barrier();
  int64_t numLeft = lanes;
  if (lanes > kFirstStep) {
    numLeft = lanes / kFirstStep;
    b.ifThen(b.less(lane, b.index(numLeft)), [&] {
      Candidate best = own;
      for (int64_t i = 1; i < kFirstStep; ++i)
        best = better(best, load(b.add(lane, i * numLeft)));
      store(best, lane);
    });
    b.barrier();
  }
  Candidate best = load(b.index(0));
  for (int64_t i = 1; i < numLeft; ++i)
    best = better(best, load(b.index(i)));
  return best;
}

/// Bits of a float as an integer of the same order, and back.
static Value asOrdered(KernelBuilder &b, Value bits) {
  return b.bitXor(bits, b.bitAnd(b.shiftRightSigned(bits, 31), 0x7fffffff));
}

/// By reductions of integers, whose results do not depend on the order. Zeros
/// of either sign are equal.
Candidate CandidateOrder::bestOfSubgroup(Candidate own) {
  auto reduce = [&](Value value, gpu::AllReduceOperation operation) -> Value {
    return gpu::SubgroupReduceOp::create(b, value, operation,
                                         /*uniform=*/false);
  };
  Value zero = b.f32(0);
  Value value = b.select(b.equal(own.value, zero), zero, own.value);
  Value ordered = asOrdered(b, b.bitcastToI32(value));
  Value largest = reduce(ordered, gpu::AllReduceOperation::MAXSI);
  Value rank = b.select(b.equal(ordered, largest), own.rank, b.i32(kNoRank));
  return {b.bitcastToF32(asOrdered(b, largest)),
          reduce(rank, gpu::AllReduceOperation::MINUI)};
}

/// Rounds use the halves of the memory in turn, since who is late may still
/// read while others are in the next round. Invocations are not promised to
/// fill subgroups in order, so each asks for its subgroup's number.
Candidate CandidateOrder::bestOfSubgroups(Candidate own, Value round) {
  Value half = b.mul(b.bitAnd(round, 1), places);
  Value number = gpu::SubgroupIdOp::create(b, mlir::IntegerAttr());
  store(own, b.add(half, number));
  b.barrier();
  SmallVector<Candidate> all;
  for (int64_t i = 0; i < places; ++i)
    all.push_back(load(b.add(half, i)));
  return bestOf(std::move(all));
}

Candidate CandidateOrder::bestOfWorkgroup(Candidate own, Value round) {
  if (subgroup != 0)
    own = bestOfSubgroup(own);
  if (places == 1)
    return own;
  return subgroup != 0 ? bestOfSubgroups(own, round) : bestOfLanes(own, round);
}

} // namespace llmc::codegen
