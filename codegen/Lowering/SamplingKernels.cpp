// SPDX-License-Identifier: Apache-2.0
//
// Both kernels take the best remaining candidate again and again, as often as
// there are to be candidates: once when greedy. An order of value, then id, is
// total, so that equal logits are taken by id, and the same candidates come out
// however the logits are shared among workgroups.

#include "codegen/Lowering/SamplingKernels.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

namespace llmc::codegen {

using program::Access;

namespace {

/// Logits of an invocation, which it keeps in registers.
constexpr int64_t kLogitsPerLane = 16;
constexpr int64_t kMostLanes = 256;
/// Of two equal values the lower rank is better. A token's rank is its id and
/// this, so that there is room below for kBrokenRank.
constexpr int64_t kFirstRank = 2;
/// Of a logit that is NaN or infinite, and then has the largest value, so that
/// it is what is chosen.
constexpr int64_t kBrokenRank = 1;
/// Behind every token.
constexpr int64_t kNoRank = std::numeric_limits<int32_t>::max();
constexpr double kLargest = std::numeric_limits<float>::max();
/// Candidates that the first of two steps compares.
constexpr int64_t kFirstStep = 8;

struct Candidate {
  Value value, rank;
};

int64_t numGroups(int64_t vocabularySize, int64_t lanes) {
  return llvm::divideCeil(vocabularySize, lanes * kLogitsPerLane);
}

int64_t lanesOf(target::DeviceAttr device) {
  return std::min<int64_t>(kMostLanes, llvm::bit_floor(static_cast<uint64_t>(
                                           device.getMaxInvocations())));
}

/// What both kernels do with candidates.
class SamplingKernel {
public:
  SamplingKernel(EntryBuilder &entry, target::DeviceAttr device, Location loc,
                 const SamplingSlices &slices, int64_t lanes)
      : slices(slices), lanes(lanes), kernel(entry, device, loc, {lanes, 1, 1}),
        b(kernel.builder()), lane(b.localId()),
        words(kernel.bind(slices.sampling, b.getI32Type(), Access::Read)),
        values(b.workgroupMemory(lanes, b.getF32Type())),
        ranks(b.workgroupMemory(lanes, b.getI32Type())) {}

protected:
  Value word(SamplingWord word) {
    return b.load(words, b.index(static_cast<int64_t>(word)));
  }
  Value floatWord(SamplingWord number) { return b.bitcastToF32(word(number)); }
  Candidate none() { return {b.f32(-kLargest), b.i32(kNoRank)}; }

  Value isBetter(Candidate one, Candidate other) {
    return b.select(b.equal(one.value, other.value),
                    b.less(one.rank, other.rank),
                    b.less(other.value, one.value));
  }
  Candidate better(Candidate one, Candidate other) {
    Value isOne = isBetter(one, other);
    return {b.select(isOne, one.value, other.value),
            b.select(isOne, one.rank, other.rank)};
  }

  /// The best of all invocations, given to all of them.
  Candidate bestOfWorkgroup(Candidate own);

  graph::LoweringConfigAttr configOf(int64_t registers) {
    return graph::LoweringConfigAttr::get(
        b.getContext(), b.getStringAttr("sample"), {lanes, 1, 1},
        {kLogitsPerLane}, /*splits=*/1, /*accumulators=*/0, registers);
  }

  const SamplingSlices &slices;
  int64_t lanes;
  EntryKernel kernel;
  KernelBuilder &b;
  Value lane, words;

private:
  /// Workgroup memory, the same in every round.
  Value values, ranks;
};

Candidate SamplingKernel::bestOfWorkgroup(Candidate own) {
  auto load = [&](Value place) {
    return Candidate{b.load(values, place), b.load(ranks, place)};
  };
  b.store(own.value, values, lane);
  b.store(own.rank, ranks, lane);
  b.barrier();
  int64_t numLeft = lanes;
  if (lanes > kFirstStep) {
    numLeft = lanes / kFirstStep;
    b.ifThen(b.less(lane, b.index(numLeft)), [&] {
      Candidate best = own;
      for (int64_t i = 1; i < kFirstStep; ++i)
        best = better(best, load(b.add(lane, i * numLeft)));
      b.store(best.value, values, lane);
      b.store(best.rank, ranks, lane);
    });
    b.barrier();
  }
  Candidate best = load(b.index(0));
  for (int64_t i = 1; i < numLeft; ++i)
    best = better(best, load(b.index(i)));
  // Before the next round writes.
  b.barrier();
  return best;
}

/// The candidates of each workgroup's share, best first.
class TopKernel : public SamplingKernel {
public:
  using SamplingKernel::SamplingKernel;

  /// `values` and `ranks`: kSamplingRing of each group.
  void emit(Value values, Value ranks);

private:
  /// Bit i: token firstId + i is among the recent ones.
  Value recentBits();
  void loadLogits();
  Candidate candidate(int64_t number);
  Candidate bestAfter(Candidate last);

  /// The invocation's first token, and its logits. Ranks follow from both and
  /// take no registers.
  Value firstId;
  SmallVector<Value> logits;
};

Value TopKernel::recentBits() {
  Value recent = kernel.bind(slices.recent, b.getI32Type(), Access::Read);
  return b
      .forLoop(b.index(0), b.toIndex(word(SamplingWord::Window)), b.index(1),
               b.i32(0),
               [&](Value place, ValueRange carried) -> SmallVector<Value> {
                 Value offset = b.sub(b.load(recent, place), firstId);
                 Value isHere = b.less(offset, b.i32(kLogitsPerLane));
                 Value bit = b.shiftLeft(b.i32(1), b.bitAnd(offset, 31));
                 return {b.bitOr(carried[0], b.select(isHere, bit, b.i32(0)))};
               })
      .front();
}

/// What is behind the vocabulary's end has the least value.
void TopKernel::loadLogits() {
  Value row = kernel.bind(slices.logits, b.f32x4(), Access::Read);
  Value number = b.add(b.mul(b.groupId(), lanes), lane);
  Value firstQuad = b.mul(number, kLogitsPerLane / 4);
  firstId = b.toI32(b.mul(number, kLogitsPerLane));
  Value recent = recentBits();
  Value penalty = floatWord(SamplingWord::Penalty);
  int64_t numQuads = llvm::divideCeil(slices.vocabularySize, 4);
  constexpr int64_t kExponent = 0x7f800000;
  for (int64_t i = 0; i < kLogitsPerLane; ++i) {
    Value quad = b.min(b.add(firstQuad, i / 4), b.index(numQuads - 1));
    Value logit = b.extract(b.load(row, quad), i % 4);
    Value isInside = b.less(b.add(firstId, i), b.i32(slices.vocabularySize));
    Value isBroken =
        b.equal(b.bitAnd(b.bitcastToI32(logit), kExponent), b.i32(kExponent));
    Value isRecent = b.less(b.i32(0), b.bitAnd(b.shiftRight(recent, i), 1));
    Value penalized = b.select(b.less(b.f32(0), logit), b.div(logit, penalty),
                               b.mul(logit, penalty));
    Value value = b.select(isBroken, b.f32(kLargest),
                           b.select(isRecent, penalized, logit));
    logits.push_back(b.select(isInside, value, b.f32(-kLargest)));
  }
}

Candidate TopKernel::candidate(int64_t number) {
  Value isBroken = b.equal(logits[number], b.f32(kLargest));
  return {logits[number], b.select(isBroken, b.i32(kBrokenRank),
                                   b.add(firstId, number + kFirstRank))};
}

Candidate TopKernel::bestAfter(Candidate last) {
  Candidate best = none();
  for (int64_t i = 0; i < kLogitsPerLane; ++i) {
    Candidate one = candidate(i);
    Value isNext = b.logicalAnd(isBetter(last, one), isBetter(one, best));
    best = {b.select(isNext, one.value, best.value),
            b.select(isNext, one.rank, best.rank)};
  }
  return best;
}

void TopKernel::emit(Value values, Value ranks) {
  Value outValues = kernel.bind(values, b.getF32Type(), Access::Write);
  Value outRanks = kernel.bind(ranks, b.getI32Type(), Access::Write);
  loadLogits();
  Value first = b.mul(b.groupId(), kSamplingRing);
  b.forLoop(b.index(0), b.toIndex(word(SamplingWord::Candidates)), b.index(1),
            {b.f32(kLargest), b.i32(0)},
            [&](Value round, ValueRange last) -> SmallVector<Value> {
              Candidate best = bestOfWorkgroup(bestAfter({last[0], last[1]}));
              b.ifThen(b.equal(lane, b.index(0)), [&] {
                Value place = b.add(first, round);
                b.store(best.value, outValues, place);
                b.store(best.rank, outRanks, place);
              });
              return {best.value, best.rank};
            });
  kernel.finish("sample top " + std::to_string(slices.vocabularySize),
                {numGroups(slices.vocabularySize, lanes), 1, 1},
                configOf(/*registers=*/52));
}

/// Draws among the candidates of all groups.
class DrawKernel : public SamplingKernel {
public:
  using SamplingKernel::SamplingKernel;

  void emit(Value values, Value ranks, int64_t groups);

private:
  void merge(Value values, Value ranks, int64_t groups);
  /// How many of the first `count` sums are less than `mark`; `orEqual`: or
  /// equal to it. At most `last`.
  Value place(Value count, Value mark, bool orEqual, Value last);
  void draw(Value position);
  void prepareNextStep(Value token, Value position);

  /// Workgroup memory: the candidates in order, and the sums of their weights.
  Value bestValues, bestRanks, sums;
};

/// Every invocation holds the best that is left of its group.
void DrawKernel::merge(Value values, Value ranks, int64_t groups) {
  Value inValues = kernel.bind(values, b.getF32Type(), Access::Read);
  Value inRanks = kernel.bind(ranks, b.getI32Type(), Access::Read);
  Value count = b.toIndex(word(SamplingWord::Candidates));
  Value hasGroup = b.less(lane, b.index(groups));
  Value first = b.mul(b.min(lane, b.index(groups - 1)), kSamplingRing);
  auto load = [&](Value next) {
    Value isThere = b.logicalAnd(hasGroup, b.less(next, count));
    Value place = b.add(first, b.min(next, b.index(kSamplingRing - 1)));
    return Candidate{
        b.select(isThere, b.load(inValues, place), b.f32(-kLargest)),
        b.select(isThere, b.load(inRanks, place), b.i32(kNoRank))};
  };
  Candidate initial = load(b.index(0));
  b.forLoop(b.index(0), count, b.index(1),
            {b.index(0), initial.value, initial.rank},
            [&](Value round, ValueRange own) -> SmallVector<Value> {
              Candidate best = bestOfWorkgroup({own[1], own[2]});
              b.ifThen(b.equal(lane, b.index(0)), [&] {
                b.store(best.value, bestValues, round);
                b.store(best.rank, bestRanks, round);
              });
              Value isOwn = b.equal(own[2], best.rank);
              Value next = b.select(isOwn, b.add(own[0], b.index(1)), own[0]);
              Candidate left = load(next);
              return {next, left.value, left.rank};
            });
}

Value DrawKernel::place(Value count, Value mark, bool orEqual, Value last) {
  Value number =
      b.forLoop(b.index(0), count, b.index(1), b.index(0),
                [&](Value i, ValueRange carried) -> SmallVector<Value> {
                  Value sum = b.load(sums, i);
                  Value isBelow = b.less(sum, mark);
                  if (orEqual)
                    isBelow = b.select(b.equal(sum, mark), b.equal(sum, sum),
                                       isBelow);
                  return {b.select(isBelow, b.add(carried[0], b.index(1)),
                                   carried[0])};
                })
          .front();
  return b.min(number, last);
}

/// With one candidate, which may have no number for its weight, that one.
void DrawKernel::draw(Value position) {
  Value draws = kernel.bind(slices.draws, b.getF32Type(), Access::Read);
  Value count = b.toIndex(word(SamplingWord::Candidates));
  Value temperature = floatWord(SamplingWord::Temperature);
  Value largest = b.load(bestValues, b.index(0));
  Value sum =
      b.forLoop(b.index(0), count, b.index(1), b.f32(0),
                [&](Value i, ValueRange carried) -> SmallVector<Value> {
                  Value distance = b.sub(b.load(bestValues, i), largest);
                  Value weight =
                      b.select(b.equal(b.load(bestRanks, i), b.i32(kNoRank)),
                               b.f32(0), b.exp(b.div(distance, temperature)));
                  Value next = b.add(carried[0], weight);
                  b.store(next, sums, i);
                  return {next};
                })
          .front();
  Value last = place(count, b.mul(sum, floatWord(SamplingWord::TopP)),
                     /*orEqual=*/false, b.sub(count, b.index(1)));
  Value slot = b.toIndex(b.bitAnd(position, kSamplingRing - 1));
  Value mark = b.mul(b.load(draws, slot), b.load(sums, last));
  Value drawn = place(b.add(last, b.index(1)), mark, /*orEqual=*/true, last);
  prepareNextStep(b.sub(b.load(bestRanks, drawn), b.i32(kFirstRank)), position);
}

/// The next step evaluates the token, behind this one's position. A broken
/// logit gives token -1, in whose place 0 is evaluated.
void DrawKernel::prepareNextStep(Value token, Value position) {
  Value tokens = kernel.bind(slices.tokens, b.getI32Type(), Access::Write);
  Value chosen = kernel.bind(slices.chosen, b.getI32Type(), Access::Write);
  Value recent = kernel.bind(slices.recent, b.getI32Type(), Access::Write);
  Value isToken = b.less(token, b.i32(slices.vocabularySize));
  b.store(b.select(isToken, token, b.i32(0)), tokens, b.index(0));
  b.store(token, chosen, b.toIndex(b.bitAnd(position, kSamplingRing - 1)));
  auto storeStep = [&](StepWord word, Value value) {
    b.store(value, kernel.stepWords(Access::Write),
            b.index(static_cast<int64_t>(word)));
  };
  storeStep(StepWord::Position, b.add(position, 1));
  storeStep(StepWord::Rows, b.i32(1));
  storeStep(StepWord::FirstRow, b.i32(0));
  Value window = word(SamplingWord::Window), place = word(SamplingWord::Next);
  b.ifThen(b.less(place, window), [&] {
    b.store(token, recent, b.toIndex(place));
    Value next = b.add(place, 1);
    Value isEnd = b.equal(next, window);
    b.store(b.select(isEnd, b.i32(0), next),
            kernel.bind(slices.sampling, b.getI32Type(), Access::Write),
            b.index(static_cast<int64_t>(SamplingWord::Next)));
  });
}

void DrawKernel::emit(Value values, Value ranks, int64_t groups) {
  bestValues = b.workgroupMemory(kSamplingRing, b.getF32Type());
  bestRanks = b.workgroupMemory(kSamplingRing, b.getI32Type());
  sums = b.workgroupMemory(kSamplingRing, b.getF32Type());
  Value position = kernel.stepWord(StepWord::Position);
  merge(values, ranks, groups);
  b.barrier();
  b.ifThen(b.equal(lane, b.index(0)), [&] { draw(position); });
  kernel.finish("sample draw " + std::to_string(slices.vocabularySize),
                {1, 1, 1}, configOf(/*registers=*/24));
}

} // namespace

bool canSample(target::DeviceAttr device, int64_t vocabularySize) {
  int64_t lanes = lanesOf(device);
  return numGroups(vocabularySize, lanes) <= lanes;
}

void emitSampling(EntryBuilder &entry, target::DeviceAttr device, Location loc,
                  const SamplingSlices &slices) {
  int64_t lanes = lanesOf(device);
  int64_t groups = numGroups(slices.vocabularySize, lanes);
  auto workspace = [&] {
    return entry.slice(loc, program::Storage::Arena, "",
                       groups * kSamplingRing * 4);
  };
  Value values = workspace(), ranks = workspace();
  TopKernel(entry, device, loc, slices, lanes).emit(values, ranks);
  int64_t mergeLanes = std::max<int64_t>(
      kFirstStep, llvm::bit_ceil(static_cast<uint64_t>(groups)));
  DrawKernel(entry, device, loc, slices, mergeLanes)
      .emit(values, ranks, groups);
}

} // namespace llmc::codegen
