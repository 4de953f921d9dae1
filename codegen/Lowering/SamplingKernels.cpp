// SPDX-License-Identifier: Apache-2.0
//
// Both kernels take the best remaining candidate again and again, as often as
// there are to be candidates: once when greedy. An order of value, then id, is
// total, so that equal logits are taken by id, and the same candidates come out
// however the logits are shared among workgroups.
//
// Either is over before a device gets going, so that its time is that of loads
// which wait for each other and of barriers: whatever lies in memory is loaded
// before the first of it is used, and what only some tokens need (penalties,
// more candidates, the draw) stands behind conditions.

#include "codegen/Lowering/SamplingKernels.h"

#include "codegen/Lowering/CandidateOrder.h"

#include "llvm/Support/MathExtras.h"

namespace llmc::codegen {

using program::Access;

namespace {

/// Logits of an invocation, which it keeps in registers.
constexpr int64_t kMostLogits = 16, kFewestLogits = 4;
constexpr int64_t kMostLanes = 256;
/// A token's rank is its id and this, so that there is room below for
/// kBrokenRank.
constexpr int64_t kFirstRank = 2;
/// Of a logit that is NaN or infinite, and then has the largest value, so that
/// it is what is chosen.
constexpr int64_t kBrokenRank = 1;
constexpr int64_t kNoRank = CandidateOrder::kNoRank;
constexpr double kLargest = CandidateOrder::kLargest;
/// Workgroups of the first kernel that an invocation of the second one looks
/// at, at most, so that its invocations are one subgroup and need no barrier.
constexpr int64_t kMostGroupsPerLane = 8;

int64_t numGroups(int64_t vocabularySize, int64_t lanes,
                  int64_t logitsPerLane) {
  return llvm::divideCeil(vocabularySize, lanes * logitsPerLane);
}

int64_t lanesOf(target::DeviceAttr device) {
  return std::min<int64_t>(kMostLanes, llvm::bit_floor(static_cast<uint64_t>(
                                           device.getMaxInvocations())));
}

/// How the logits are shared among invocations of the first kernel.
struct Shares {
  int64_t lanes, logitsPerLane, groups;
  /// Where the first kernel leaves the candidates of its workgroups.
  Value found;
};

Shares sharesOf(target::DeviceAttr device, int64_t vocabularySize) {
  int64_t lanes = lanesOf(device);
  int64_t logits =
      samplingLogitsPerLane(vocabularySize, lanes, device.getComputeUnits());
  return {lanes, logits, numGroups(vocabularySize, lanes, logits), Value()};
}

/// The invocations of the second kernel, a power of two.
int64_t mergeLanesOf(target::DeviceAttr device, const Shares &shares) {
  int64_t lanes = CandidateOrder::subgroupOf(device, shares.lanes);
  if (lanes == 0)
    return llvm::bit_ceil(static_cast<uint64_t>(shares.groups));
  while (lanes * kMostGroupsPerLane < shares.groups)
    lanes *= 2;
  return lanes;
}

/// What both kernels do with candidates.
class SamplingKernel {
public:
  SamplingKernel(EntryBuilder &entry, target::DeviceAttr device, Location loc,
                 const SamplingSlices &slices, const Shares &shares,
                 int64_t lanes)
      : slices(slices), shares(shares), lanes(lanes),
        kernel(entry, device, loc, {lanes, 1, 1}), b(kernel.builder()),
        lane(b.localId()),
        words(kernel.bind(slices.sampling, b.getI32Type(), Access::Read)),
        order(b, device, lanes) {}

protected:
  Value word(SamplingWord word) {
    return b.load(words, b.index(static_cast<int64_t>(word)));
  }
  Value floatWord(SamplingWord number) { return b.bitcastToF32(word(number)); }
  /// Pairs of a value's bits and a rank.
  Value bindFound(Access access) {
    return kernel.bind(shares.found, b.i32x2(), access);
  }
  /// The first candidates of all groups are neighbours, so that the second
  /// kernel loads them at once; behind them are each group's others.
  Value placeOf(Value group, Value number) {
    Value others = b.add(b.mul(group, kSamplingRing), shares.groups);
    return b.select(b.equal(number, b.index(0)), group, b.add(others, number));
  }
  Value isFirstLane() { return b.equal(lane, b.index(0)); }

  graph::LoweringConfigAttr configOf(int64_t registers) {
    return graph::LoweringConfigAttr::get(
        b.getContext(), b.getStringAttr("sample"), {lanes, 1, 1},
        {shares.logitsPerLane}, /*splits=*/1, /*accumulators=*/0, registers,
        "f32", order.reduction(), "convert");
  }

  const SamplingSlices &slices;
  const Shares &shares;
  int64_t lanes;
  EntryKernel kernel;
  KernelBuilder &b;
  Value lane, words;
  CandidateOrder order;
};

/// The candidates of each workgroup's share, best first.
class TopKernel : public SamplingKernel {
public:
  using SamplingKernel::SamplingKernel;

  void emit();

private:
  SmallVector<Value> loadQuads();
  /// Bit i: token firstId + i is among the first `window` places of `recent`.
  Value recentBits(Value recent, Value window);
  /// Logit i as candidates have it, and with the penalty if it is recent.
  Value valueOf(Value logit, int64_t i);
  Value penalized(Value value, int64_t i, Value recentBits, Value penalty);
  void takeLogits();
  Candidate candidate(int64_t number);
  Candidate bestAfter(Candidate last);

  /// How many candidates there are to be.
  Value count;
  /// The invocation's first token, and its logits. Ranks follow from both and
  /// take no registers.
  Value firstId;
  SmallVector<Value> logits;
};

SmallVector<Value> TopKernel::loadQuads() {
  Value row = kernel.bind(slices.logits, b.f32x4(), Access::Read);
  Value number = b.add(b.mul(b.groupId(), lanes), lane);
  Value firstQuad = b.mul(number, shares.logitsPerLane / 4);
  firstId = b.toI32(b.mul(number, shares.logitsPerLane));
  int64_t numQuads = llvm::divideCeil(slices.vocabularySize, 4);
  SmallVector<Value> quads;
  for (int64_t i = 0; i < shares.logitsPerLane / 4; ++i)
    quads.push_back(
        b.load(row, b.min(b.add(firstQuad, i), b.index(numQuads - 1))));
  return quads;
}

/// Four places at a time, which are loaded a round ahead.
Value TopKernel::recentBits(Value recent, Value window) {
  Value last = b.index(kSamplingRing / 4 - 1);
  SmallVector<Value> carried =
      b.forLoop(b.index(0), b.div(b.add(window, 3), 4), b.index(1),
                {b.i32(0), b.load(recent, b.index(0))},
                [&](Value quad, ValueRange carried) -> SmallVector<Value> {
                  Value next = b.load(recent, b.min(b.add(quad, 1), last));
                  Value bits = carried[0];
                  for (int64_t i = 0; i < 4; ++i) {
                    Value place = b.add(b.mul(quad, 4), i);
                    Value offset = b.sub(b.extract(carried[1], i), firstId);
                    Value isHere = b.logicalAnd(
                        b.less(place, window),
                        b.less(offset, b.i32(shares.logitsPerLane)));
                    Value bit = b.shiftLeft(b.i32(1), b.bitAnd(offset, 31));
                    bits = b.bitOr(bits, b.select(isHere, bit, b.i32(0)));
                  }
                  return {bits, next};
                });
  return carried[0];
}

/// What is behind the vocabulary's end has the least value.
Value TopKernel::valueOf(Value logit, int64_t i) {
  constexpr int64_t kExponent = 0x7f800000;
  Value isBroken =
      b.equal(b.bitAnd(b.bitcastToI32(logit), kExponent), b.i32(kExponent));
  Value isInside = b.less(b.add(firstId, i), b.i32(slices.vocabularySize));
  return b.select(isInside, b.select(isBroken, b.f32(kLargest), logit),
                  b.f32(-kLargest));
}

/// Broken logits and what is behind the end stay what they are.
Value TopKernel::penalized(Value value, int64_t i, Value recentBits,
                           Value penalty) {
  Value isRecent = b.less(b.i32(0), b.bitAnd(b.shiftRight(recentBits, i), 1));
  Value isLogit = b.less(b.abs(value), b.f32(kLargest));
  Value penalized = b.select(b.less(b.f32(0), value), b.div(value, penalty),
                             b.mul(value, penalty));
  return b.select(b.logicalAnd(isRecent, isLogit), penalized, value);
}

/// Loads all that the kernel reads. Few invocations have recent tokens.
void TopKernel::takeLogits() {
  SmallVector<Value> quads = loadQuads();
  Value recent = kernel.bind(slices.recent, b.i32x4(), Access::Read);
  Value window = b.toIndex(word(SamplingWord::Window)),
        penalty = floatWord(SamplingWord::Penalty);
  count = b.toIndex(word(SamplingWord::Candidates));
  Value bits = recentBits(recent, window);
  for (int64_t i = 0; i < shares.logitsPerLane; ++i)
    logits.push_back(valueOf(b.extract(quads[i / 4], i % 4), i));
  logits = b.ifElse(
      mlir::TypeRange(ValueRange(logits)), b.equal(bits, b.i32(0)),
      [&] { return logits; },
      [&] {
        SmallVector<Value> values;
        for (auto [i, value] : llvm::enumerate(logits))
          values.push_back(
              penalized(value, static_cast<int64_t>(i), bits, penalty));
        return values;
      });
}

Candidate TopKernel::candidate(int64_t number) {
  Value isBroken = b.equal(logits[number], b.f32(kLargest));
  return {logits[number], b.select(isBroken, b.i32(kBrokenRank),
                                   b.add(firstId, number + kFirstRank))};
}

Candidate TopKernel::bestAfter(Candidate last) {
  Candidate best = order.none();
  for (int64_t i = 0; i < shares.logitsPerLane; ++i) {
    Candidate one = candidate(i);
    Value isNext =
        b.logicalAnd(order.isBetter(last, one), order.isBetter(one, best));
    best = {b.select(isNext, one.value, best.value),
            b.select(isNext, one.rank, best.rank)};
  }
  return best;
}

/// Whose candidate was taken looks for its next one; others have theirs still.
/// In the first round that is every invocation.
void TopKernel::emit() {
  takeLogits();
  Value found = bindFound(Access::Write), group = b.groupId();
  Value value = b.f32(kLargest), rank = b.i32(0);
  b.forLoop(b.index(0), count, b.index(1), {value, rank, value, rank},
            [&](Value round, ValueRange carried) -> SmallVector<Value> {
              ValueRange before = carried.take_front(2);
              Candidate last = {carried[2], carried[3]};
              SmallVector<Value> own = b.ifElse(
                  before.getTypes(), b.equal(carried[1], last.rank),
                  [&]() -> SmallVector<Value> {
                    Candidate next = bestAfter(last);
                    return {next.value, next.rank};
                  },
                  [&] { return SmallVector<Value>(before); });
              Candidate best = order.bestOfWorkgroup({own[0], own[1]}, round);
              b.ifThen(isFirstLane(), [&] {
                b.store(b.vector({b.bitcastToI32(best.value), best.rank}),
                        found, placeOf(group, round));
              });
              return {own[0], own[1], best.value, best.rank};
            });
  kernel.finish("sample top " + std::to_string(slices.vocabularySize),
                {shares.groups, 1, 1}, configOf(20 + 2 * shares.logitsPerLane));
}

/// Draws among the candidates of all groups.
class DrawKernel : public SamplingKernel {
public:
  using SamplingKernel::SamplingKernel;

  void emit();

private:
  int64_t groupsPerLane() const {
    return llvm::divideCeil(shares.groups, lanes);
  }
  void loadWords();
  /// What `merge` gives: of several candidates the sum of their weights, and
  /// the last one's rank.
  struct Merged {
    Value sum, rank;
  };
  Merged merge();
  Candidate load(int64_t i, Value number);
  SmallVector<Value> behind(ValueRange held, Candidate taken);
  /// The sum with the candidate of this round.
  Value addWeight(Value round, Candidate candidate, Value largest, Value sum);
  /// How many of the first `count` sums are less than `mark`; `orEqual`: or
  /// equal to it. At most `last`.
  Value place(Value mark, bool orEqual, Value count, Value last);
  Value draw(Value sum);
  void prepareNextStep(Value token);

  Value position, count, temperature, topP, window, next;
  /// What the first kernel has written.
  Value found;
  /// The random number.
  Value drawn;
  /// Workgroup memory of the first invocation, if there are several candidates:
  /// in order, and the sums of their weights.
  Value bestRanks, sums;
};

void DrawKernel::loadWords() {
  position = kernel.stepWord(StepWord::Position);
  count = b.toIndex(word(SamplingWord::Candidates));
  temperature = floatWord(SamplingWord::Temperature);
  topP = floatWord(SamplingWord::TopP);
  window = word(SamplingWord::Window);
  next = word(SamplingWord::Next);
}

/// Every invocation holds the best that is left of each of its groups; the
/// first one adds up the weights.
DrawKernel::Merged DrawKernel::merge() {
  found = bindFound(Access::Read);
  SmallVector<Value> initial;
  for (int64_t i = 0; i < groupsPerLane(); ++i) {
    Candidate first = load(i, b.index(0));
    initial.append({b.index(0), first.value, first.rank});
  }
  // Its address waits for the position, so it stands behind the others.
  drawn = b.load(kernel.bind(slices.draws, b.getF32Type(), Access::Read),
                 b.toIndex(b.bitAnd(position, kSamplingRing - 1)));
  size_t numHeld = initial.size();
  initial.append({b.f32(0), b.f32(0), b.i32(0)});
  Value adds = b.logicalAnd(isFirstLane(), b.less(b.index(1), count));
  SmallVector<Value> all = b.forLoop(
      b.index(0), count, b.index(1), initial,
      [&](Value round, ValueRange carried) -> SmallVector<Value> {
        ValueRange held = carried.take_front(numHeld);
        Value largest = carried[numHeld], sum = carried[numHeld + 1];
        SmallVector<Candidate> candidates;
        for (int64_t i = 0; i < groupsPerLane(); ++i)
          candidates.push_back({held[3 * i + 1], held[3 * i + 2]});
        Candidate own = order.bestOf(candidates);
        Candidate best = order.bestOfWorkgroup(own, round);
        largest = b.select(b.equal(round, b.index(0)), best.value, largest);
        sum = b.ifElse(
                   b.getF32Type(), adds,
                   [&] {
                     return SmallVector<Value>{
                         addWeight(round, best, largest, sum)};
                   },
                   [&] { return SmallVector<Value>{sum}; })
                  .front();
        Value isTaken = b.logicalAnd(b.less(b.add(round, 1), count),
                                     b.equal(own.rank, best.rank));
        SmallVector<Value> next = b.ifElse(
            held.getTypes(), isTaken, [&] { return behind(held, best); },
            [&] { return SmallVector<Value>(held); });
        next.append({largest, sum, best.rank});
        return next;
      });
  return {all[numHeld + 1], all[numHeld + 2]};
}

/// Candidate `number` of the invocation's group `i`. Behind the last group are
/// copies of it, whose candidates are taken together.
Candidate DrawKernel::load(int64_t i, Value number) {
  Value group = b.min(b.add(lane, i * lanes), b.index(shares.groups - 1));
  Value one = b.load(found, placeOf(group, number));
  return {b.bitcastToF32(b.extract(one, 0)), b.extract(one, 1)};
}

/// What the invocation holds when `taken` is no longer left: of each group the
/// candidate's number, value and rank.
SmallVector<Value> DrawKernel::behind(ValueRange held, Candidate taken) {
  SmallVector<Value> next;
  for (int64_t i = 0; 3 * i < static_cast<int64_t>(held.size()); ++i) {
    Value number = held[3 * i], isTaken = b.equal(held[3 * i + 2], taken.rank);
    number = b.select(isTaken, b.add(number, 1), number);
    Candidate left = load(i, number);
    next.append({number, left.value, left.rank});
  }
  return next;
}

Value DrawKernel::addWeight(Value round, Candidate candidate, Value largest,
                            Value sum) {
  Value distance = b.sub(candidate.value, largest);
  Value weight = b.select(b.equal(candidate.rank, b.i32(kNoRank)), b.f32(0),
                          b.exp(b.div(distance, temperature)));
  sum = b.add(sum, weight);
  b.store(candidate.rank, bestRanks, round);
  b.store(sum, sums, round);
  return sum;
}

Value DrawKernel::place(Value mark, bool orEqual, Value count, Value last) {
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

/// The rank of one of several candidates.
Value DrawKernel::draw(Value sum) {
  Value last = place(b.mul(sum, topP), /*orEqual=*/false, count,
                     b.sub(count, b.index(1)));
  Value mark = b.mul(drawn, b.load(sums, last));
  Value chosen = place(mark, /*orEqual=*/true, b.add(last, b.index(1)), last);
  return b.load(bestRanks, chosen);
}

/// The next step evaluates the token, behind this one's position. A broken
/// logit gives token -1, in whose place 0 is evaluated.
void DrawKernel::prepareNextStep(Value token) {
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
  b.ifThen(b.less(next, window), [&] {
    b.store(token, recent, b.toIndex(next));
    Value behind = b.add(next, 1);
    Value isEnd = b.equal(behind, window);
    b.store(b.select(isEnd, b.i32(0), behind),
            kernel.bind(slices.sampling, b.getI32Type(), Access::Write),
            b.index(static_cast<int64_t>(SamplingWord::Next)));
  });
}

/// One candidate is the token, whatever weight it would have.
void DrawKernel::emit() {
  bestRanks = b.workgroupMemory(kSamplingRing, b.getI32Type());
  sums = b.workgroupMemory(kSamplingRing, b.getF32Type());
  loadWords();
  Merged merged = merge();
  b.ifThen(isFirstLane(), [&] {
    Value rank = b.ifElse(
                      b.getI32Type(), b.equal(count, b.index(1)),
                      [&] { return SmallVector<Value>{merged.rank}; },
                      [&] { return SmallVector<Value>{draw(merged.sum)}; })
                     .front();
    prepareNextStep(b.sub(rank, b.i32(kFirstRank)));
  });
  kernel.finish("sample draw " + std::to_string(slices.vocabularySize),
                {1, 1, 1},
                configOf(lanes == 1 ? 20 : 31 + 3 * groupsPerLane()));
}

} // namespace

int64_t samplingLogitsPerLane(int64_t vocabularySize, int64_t lanes,
                              int64_t computeUnits) {
  int64_t logits = kMostLogits;
  while (logits > kFewestLogits &&
         numGroups(vocabularySize, lanes, logits) < computeUnits &&
         numGroups(vocabularySize, lanes, logits / 2) <= lanes)
    logits /= 2;
  return logits;
}

bool canSample(target::DeviceAttr device, int64_t vocabularySize) {
  Shares shares = sharesOf(device, vocabularySize);
  return shares.groups <= shares.lanes;
}

void emitSampling(EntryBuilder &entry, target::DeviceAttr device, Location loc,
                  const SamplingSlices &slices) {
  Shares shares = sharesOf(device, slices.vocabularySize);
  shares.found = entry.slice(loc, program::Storage::Arena, "",
                             shares.groups * (kSamplingRing + 1) * 8);
  TopKernel(entry, device, loc, slices, shares, shares.lanes).emit();
  DrawKernel(entry, device, loc, slices, shares, mergeLanesOf(device, shares))
      .emit();
}

} // namespace llmc::codegen
