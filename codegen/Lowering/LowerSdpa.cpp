// SPDX-License-Identifier: Apache-2.0
//
// Attention with an online softmax, for one row or many. `lanes` invocations
// share some queries of one KV head. Per block of `keys` keys each computes
// some scores over the whole head, gives them to the others as weights through
// workgroup memory, and adds up its slice of the values: `valueLanes`
// invocations share a value, and classes of as many take the keys in turn. A
// key or value that was loaded serves all queries of the invocation.
//
// Keys beyond the last that any query of the invocation may see are read as
// that one, with weight 0: whatever else the cache holds is never touched.
// Blocks are dealt to splits in turn, so that a row's sums do not depend on how
// many rows run with it.

#include "codegen/Lowering/ActivationRows.h"
#include "codegen/Lowering/QuantizedStore.h"
#include "codegen/Lowering/SdpaHeads.h"
#include "codegen/Lowering/SdpaPlace.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

/// Lanes whose maxima are gone through one by one; those of more lanes take two
/// steps.
constexpr int64_t kMaxDirectLanes = 16;

/// The largest divisor of `value` up to `limit`.
int64_t divisorAtMost(int64_t value, int64_t limit) {
  while (value % limit != 0)
    --limit;
  return limit;
}

/// The running softmax of one invocation. `maxima` and `sums` hold a number for
/// each of its queries: a scalar for one, else a vector.
struct Softmax {
  /// Of the scores that any lane has seen; of this lane's own weights.
  Value maxima, sums;
  /// Query by query, the quads of the lane's slice of the values.
  SmallVector<Value> accumulators;

  SmallVector<Value> pack() const {
    SmallVector<Value> all = {maxima, sums};
    all.append(accumulators);
    return all;
  }
  static Softmax unpack(ValueRange values) {
    return {values[0], values[1], SmallVector<Value>(values.drop_front(2))};
  }
};

/// Emits the kernel that goes over the keys.
class SdpaKernel {
public:
  SdpaKernel(RegionContext &context, graph::SdpaOp sdpa, const SdpaShape &shape,
             const SdpaViews &views)
      : sdpa(sdpa), shape(shape), views(views),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
        keyRows(unit, views.key, shape, shape.quadsPerLane()),
        valueRows(unit, views.value, shape, shape.quadsPerLane()),
        place(unit, sdpa, shape, views) {
    if (views.preparesHeads)
      heads.emplace(unit, sdpa, shape);
  }

  /// `result` takes the rows; `splits` is there when there is more than one.
  LogicalResult emit(const SdpaResult &result,
                     std::optional<SdpaSplits> splits);

private:
  // One block of keys.
  Softmax emitBlock(Value firstKey, const Softmax &before);
  SmallVector<Value> emitScores(Value firstKey);
  Value finishScore(Value product, Value key, const SdpaQuery &query);
  Value emitWeights(Value firstKey, ArrayRef<Value> scores, Softmax &softmax);
  void scaleScores(Value firstKey, SmallVector<Value> &scores);
  Value scaledWeight(Value weight, Value key);
  void rescale(Softmax &softmax, Value factors);
  Softmax emitValues(Value firstKey, const Softmax &before);

  // All blocks.
  Softmax emitBlocks();

  // Over the lanes of the queries.
  using Combine = llvm::function_ref<Value(Value, Value)>;
  Value overLanes(Value mine, Combine combine);
  Value loadInOrder(Value memory, Value first, int64_t count, int64_t stride,
                    Combine combine);
  void addClasses(Softmax &softmax);

  void
  forEachQuad(const Softmax &softmax, int64_t number,
              llvm::function_ref<void(Value accumulator, Value quad)> store);
  void storePartials(const Softmax &softmax, const SdpaGroup &group,
                     Value partials);
  void storeResult(const Softmax &softmax, const View &result);
  void storeCodes(const Softmax &softmax, const QuantizedResult &result);
  void finish(const SdpaResult &result, bool isSplit);

  // Numbers of all queries of an invocation.
  Type perQueryType() {
    return shape.perInvocation == 1
               ? Type(b.getF32Type())
               : VectorType::get(shape.perInvocation, b.getF32Type());
  }
  Value join(ArrayRef<Value> numbers) {
    return numbers.size() == 1 ? numbers.front() : b.vector(numbers);
  }
  Value ofQuery(Value numbers, int64_t number) {
    return shape.perInvocation == 1 ? numbers : b.extract(numbers, number);
  }

  graph::SdpaOp sdpa;
  const SdpaShape &shape;
  const SdpaViews &views;
  KernelUnit unit;
  KernelBuilder &b;
  CachedRows keyRows, valueRows;
  SdpaPlace place;
  /// Where the kernel prepares them.
  std::optional<SdpaHeads> heads;

  /// Workgroup memory: numbers of all queries of an invocation, one a lane and
  /// half of those for a second step; [keys + 1] weights a slot.
  Value numbersOfLanes, numbersOfSteps, weights;
};

//===----------------------------------------------------------------------===//
// One block of keys
//===----------------------------------------------------------------------===//

/// This lane's products of query and key: keys firstKey + lane, firstKey + lane
/// + lanes, … for each of its queries; query by query.
SmallVector<Value> SdpaKernel::emitScores(Value firstKey) {
  std::optional<ActivationRows> queryRows;
  if (!heads)
    queryRows.emplace(unit, views.query, program::Access::Read);
  int64_t perLoad = keyRows.quadsPerLoad();
  Value first = keyRows.firstLoad(place.kvHead);
  SmallVector<Value> starts;
  for (int64_t i = 0; i < shape.scoresPerLane(); ++i) {
    Value seen = b.min(b.add(b.add(firstKey, place.lane), i * shape.lanes),
                       place.lastKey);
    starts.push_back(b.add(first, b.mul(seen, keyRows.loadsPerKey())));
  }
  int64_t numSteps = shape.quads() / perLoad,
          atOnce = divisorAtMost(numSteps, shape.loadsAtOnce);
  // A load's worth of the head, of one key for each score.
  auto addStep = [&](Value step, ArrayRef<SmallVector<Value>> keys,
                     SmallVector<Value> &scores) {
    for (int64_t number = 0; number < shape.perInvocation; ++number)
      for (int64_t i = 0; i < perLoad; ++i) {
        Value quad = b.add(place.queries[number].quad, b.mul(step, perLoad));
        Value index = b.add(quad, i);
        Value q = heads ? heads->loadQuad(index) : queryRows->load(index);
        for (int64_t j = 0; j < shape.scoresPerLane(); ++j) {
          Value &score = scores[number * shape.scoresPerLane() + j];
          for (int64_t element = 0; element < 4; ++element)
            score = b.fma(b.extract(q, element), b.extract(keys[j][i], element),
                          score);
        }
      }
  };
  auto addProducts = [&](Value firstStep, ValueRange carried) {
    SmallVector<Value> scores(carried);
    SmallVector<SmallVector<SmallVector<Value>>> keys(atOnce); // step, score
    for (int64_t number = 0; number < atOnce; ++number)
      for (Value start : starts)
        keys[number].push_back(
            keyRows.load(b.add(start, b.add(firstStep, number))));
    for (int64_t number = 0; number < atOnce; ++number)
      addStep(b.add(firstStep, number), keys[number], scores);
    return scores;
  };
  SmallVector<Value> zeros(shape.perInvocation * shape.scoresPerLane(),
                           b.f32(0.0));
  return b.forLoop(b.index(0), b.opaqueIndex(numSteps), b.index(atOnce), zeros,
                   addProducts);
}

/// Scale, cap, bias and what the query may not see.
Value SdpaKernel::finishScore(Value product, Value key,
                              const SdpaQuery &query) {
  Value score = b.mul(product, b.f32(sdpa.getScale().convertToFloat()));
  double cap = sdpa.getSoftCap().convertToFloat();
  if (cap != 0)
    score = softCap(b, score, cap);
  if (views.bias) {
    Value memref =
        unit.bind(views.bias->slice, b.getF32Type(), program::Access::Read);
    Value bias = b.load(memref, b.add(query.bias, b.min(key, place.lastKey)));
    score = b.select(b.less(bias, b.f32(kLowestScore)), b.f32(kHiddenScore),
                     b.add(score, bias));
  }
  if (views.relative) {
    Value memref = unit.bind(views.relative->planes.front(), b.getF32Type(),
                             program::Access::Read);
    Value distance = b.mul(b.min(key, place.lastKey), shape.heads);
    score = b.add(score, b.load(memref, b.add(query.relative, distance)));
  }
  Value isSeen = b.less(key, query.end);
  if (query.begin)
    isSeen = b.logicalAnd(isSeen, b.less(query.begin, b.add(key, 1)));
  return b.select(isSeen, score, b.f32(kHiddenScore));
}

/// Products with codes become products with keys.
void SdpaKernel::scaleScores(Value firstKey, SmallVector<Value> &scores) {
  if (!keyRows.hasScales())
    return;
  for (int64_t i = 0; i < shape.scoresPerLane(); ++i) {
    Value key = b.add(b.add(firstKey, place.lane), i * shape.lanes);
    Value scale = keyRows.scale(place.kvHead, b.min(key, place.lastKey));
    for (int64_t number = 0; number < shape.perInvocation; ++number) {
      Value &score = scores[number * shape.scoresPerLane() + i];
      score = b.mul(score, scale);
    }
  }
}

/// What the key's codes of the value are multiplied with, for all queries.
Value SdpaKernel::scaledWeight(Value weight, Value key) {
  if (!valueRows.hasScales())
    return weight;
  Value scale = valueRows.scale(place.kvHead, b.min(key, place.lastKey));
  return b.mul(weight, shape.perInvocation == 1
                           ? scale
                           : b.splat(scale, shape.perInvocation));
}

/// Turns scores into weights in workgroup memory and brings maxima and sums up
/// to date. Gives the factors, one a query, that sums of values shrink by.
Value SdpaKernel::emitWeights(Value firstKey, ArrayRef<Value> scores,
                              Softmax &softmax) {
  SmallVector<Value> laneMaxima;
  SmallVector<SmallVector<Value>> finished;
  for (auto [number, query] : llvm::enumerate(place.queries)) {
    Value maximum = b.f32(kLowestScore);
    SmallVector<Value> &own = finished.emplace_back();
    for (int64_t i = 0; i < shape.scoresPerLane(); ++i) {
      Value key = b.add(b.add(firstKey, place.lane), i * shape.lanes);
      own.push_back(finishScore(
          scores[static_cast<int64_t>(number) * shape.scoresPerLane() + i], key,
          query));
      maximum = b.max(maximum, own.back());
    }
    laneMaxima.push_back(maximum);
  }
  auto larger = [&](Value lhs, Value rhs) { return b.max(lhs, rhs); };
  Value ofBlock = overLanes(join(laneMaxima), larger);
  Value before = softmax.maxima;
  softmax.maxima = b.max(before, ofBlock);
  Value factors = b.exp(b.sub(before, softmax.maxima));
  softmax.sums = b.mul(softmax.sums, factors);
  Value firstWeight = b.add(b.mul(place.slot, shape.keys + 1), place.lane);
  for (int64_t i = 0; i < shape.scoresPerLane(); ++i) {
    SmallVector<Value> own;
    for (ArrayRef<Value> ofOne : finished)
      own.push_back(ofOne[i]);
    Value weight = b.exp(b.sub(join(own), softmax.maxima));
    softmax.sums = b.add(softmax.sums, weight);
    Value key = b.add(b.add(firstKey, place.lane), i * shape.lanes);
    b.store(scaledWeight(weight, key), weights,
            b.add(firstWeight, i * shape.lanes));
  }
  b.barrier();
  return factors;
}

void SdpaKernel::rescale(Softmax &softmax, Value factors) {
  for (auto [i, accumulator] : llvm::enumerate(softmax.accumulators)) {
    int64_t number = static_cast<int64_t>(i) / shape.quadsPerLane();
    accumulator = b.mul(accumulator, b.splat(ofQuery(factors, number)));
  }
}

/// Adds weight * value to the lane's slices, over the keys of its class.
Softmax SdpaKernel::emitValues(Value firstKey, const Softmax &before) {
  int64_t perLoad = valueRows.quadsPerLoad(), numClasses = shape.classes();
  int64_t keysOfClass = shape.keys / numClasses;
  int64_t unroll = divisorAtMost(
      keysOfClass,
      std::max<int64_t>(std::clamp<int64_t>(
                            unit.getContext().getDevice().getMaxUnroll(), 1, 4),
                        shape.loadsAtOnce));
  Value valueLane =
      numClasses == 1 ? place.lane : b.rem(place.lane, shape.valueLanes);
  Value first = b.add(valueRows.firstLoad(place.kvHead), valueLane);
  Value lastLoad = b.add(first, b.mul(place.lastKey, valueRows.loadsPerKey()));
  Value firstWeight = b.mul(place.slot, shape.keys + 1);
  if (numClasses != 1) {
    Value number = b.div(place.lane, shape.valueLanes);
    firstKey = b.add(firstKey, number);
    firstWeight = b.add(firstWeight, number);
  }
  Value start =
      b.min(b.add(first, b.mul(firstKey, valueRows.loadsPerKey())), lastLoad);

  SmallVector<Value> carried = before.accumulators;
  carried.append({start, firstWeight});
  auto addKeys = [&](Value, ValueRange values) {
    SmallVector<Value> sums(values.drop_back(2));
    Value load = values[sums.size()], weightPlace = values.back();
    for (int64_t key = 0; key < unroll; ++key) {
      Value weight = b.load(weights, b.add(weightPlace, key * numClasses));
      for (int64_t i = 0; i < shape.quadsPerLane() / perLoad; ++i)
        for (auto [j, quad] :
             llvm::enumerate(valueRows.load(b.add(load, i * shape.valueLanes))))
          for (int64_t number = 0; number < shape.perInvocation; ++number) {
            Value &sum = sums[number * shape.quadsPerLane() + i * perLoad +
                              static_cast<int64_t>(j)];
            sum = b.fma(b.splat(ofQuery(weight, number)), quad, sum);
          }
      load = b.min(b.add(load, numClasses * valueRows.loadsPerKey()), lastLoad);
    }
    sums.append({load, b.add(weightPlace, unroll * numClasses)});
    return sums;
  };
  SmallVector<Value> results = b.forLoop(b.index(0), b.opaqueIndex(keysOfClass),
                                         b.index(unroll), carried, addKeys);
  results.pop_back_n(2);
  return {before.maxima, before.sums, results};
}

Softmax SdpaKernel::emitBlock(Value firstKey, const Softmax &before) {
  Softmax softmax = before;
  SmallVector<Value> scores = emitScores(firstKey);
  scaleScores(firstKey, scores);
  Value factors = emitWeights(firstKey, scores, softmax);
  rescale(softmax, factors);
  return emitValues(firstKey, softmax);
}

/// Goes over the workgroup's blocks.
Softmax SdpaKernel::emitBlocks() {
  SmallVector<Value> zeros(shape.perInvocation * shape.quadsPerLane(),
                           b.constant(b.f32x4(), 0.0));
  Softmax start = {b.constant(perQueryType(), kLowestScore),
                   b.constant(perQueryType(), 0.0), zeros};
  auto addBlock = [&](Value firstKey, ValueRange carried) {
    return emitBlock(firstKey, Softmax::unpack(carried)).pack();
  };
  SmallVector<Value> sums =
      b.forLoop(place.firstBlock(), place.end,
                b.index(shape.splits * shape.keys), start.pack(), addBlock);
  return Softmax::unpack(sums);
}

//===----------------------------------------------------------------------===//
// Over the lanes of the queries
//===----------------------------------------------------------------------===//

Value SdpaKernel::loadInOrder(Value memory, Value first, int64_t count,
                              int64_t stride, Combine combine) {
  Value all = b.load(memory, first);
  for (int64_t i = 1; i < count; ++i)
    all = combine(all, b.load(memory, b.add(first, i * stride)));
  return all;
}

/// What all lanes of the queries have, combined; every invocation arrives here.
/// Between two calls there must be a barrier after the last load.
Value SdpaKernel::overLanes(Value mine, Combine combine) {
  Value firstLane = b.mul(place.slot, shape.lanes);
  b.store(mine, numbersOfLanes, b.add(firstLane, place.lane));
  b.barrier();
  if (shape.lanes <= kMaxDirectLanes)
    return loadInOrder(numbersOfLanes, firstLane, shape.lanes, 1, combine);
  // As many lanes as the largest factor not above the root take their share.
  int64_t numSteps = 1;
  for (int64_t factor = 1; factor * factor <= shape.lanes; ++factor)
    if (shape.lanes % factor == 0)
      numSteps = factor;
  Value firstStep = b.mul(place.slot, numSteps);
  b.ifThen(b.less(place.lane, b.index(numSteps)), [&] {
    Value share = loadInOrder(numbersOfLanes, b.add(firstLane, place.lane),
                              shape.lanes / numSteps, numSteps, combine);
    b.store(share, numbersOfSteps, b.add(firstStep, place.lane));
  });
  b.barrier();
  return loadInOrder(numbersOfSteps, firstStep, numSteps, 1, combine);
}

/// Gives the first class what all classes have summed.
void SdpaKernel::addClasses(Softmax &softmax) {
  if (shape.classes() == 1)
    return;
  Value sums = b.workgroupMemory(shape.workgroup, b.f32x4());
  for (Value &accumulator : softmax.accumulators) {
    b.store(accumulator, sums, b.localId());
    b.barrier();
    // Other classes compute something that is not used.
    Value first = b.add(b.mul(place.slot, shape.lanes),
                        b.rem(place.lane, shape.valueLanes));
    accumulator =
        loadInOrder(sums, first, shape.classes(), shape.valueLanes,
                    [&](Value lhs, Value rhs) { return b.add(lhs, rhs); });
    b.barrier();
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Calls `store` with each of the lane's accumulators of a query, and its quad
/// in the head.
void SdpaKernel::forEachQuad(const Softmax &softmax, int64_t number,
                             llvm::function_ref<void(Value, Value)> store) {
  int64_t perLoad = valueRows.quadsPerLoad();
  for (int64_t i = 0; i < shape.quadsPerLane(); ++i) {
    Value load = b.add(place.lane, i / perLoad * shape.valueLanes);
    store(softmax.accumulators[number * shape.quadsPerLane() + i],
          b.add(b.mul(load, perLoad), i % perLoad));
  }
}

void SdpaKernel::storePartials(const Softmax &softmax, const SdpaGroup &group,
                               Value partials) {
  Value memref = unit.bind(partials, b.f32x4(), program::Access::Write);
  for (int64_t number = 0; number < shape.perInvocation; ++number) {
    SdpaRowAndHead at = sdpaRowAndHead(
        b, shape, group, b.add(b.mul(place.slot, shape.perInvocation), number));
    Value splitRow = b.add(b.mul(group.split, shape.rows), at.row);
    Value partial = b.add(b.mul(splitRow, shape.heads), at.head);
    b.ifThen(b.less(at.row, b.index(shape.rows)), [&] {
      forEachQuad(softmax, number, [&](Value accumulator, Value quad) {
        b.store(accumulator, memref,
                b.add(b.mul(partial, shape.quads()), quad));
      });
      b.ifThen(b.equal(place.lane, b.index(0)), [&] {
        Value zero = b.f32(0.0);
        b.store(b.vector({ofQuery(softmax.maxima, number),
                          ofQuery(softmax.sums, number), zero, zero}),
                memref, b.add(partial, shape.partialQuads()));
      });
    });
  }
}

void SdpaKernel::storeResult(const Softmax &softmax, const View &result) {
  ActivationRows rows(unit, result, program::Access::Write);
  for (int64_t number = 0; number < shape.perInvocation; ++number) {
    const SdpaQuery &query = place.queries[number];
    b.ifThen(b.less(query.row, b.index(shape.rows)), [&] {
      Value inverse = b.splat(inverseSum(b, ofQuery(softmax.sums, number)));
      Value firstQuad =
          b.add(b.mul(query.row, result.rowStride / 4),
                b.add(b.mul(query.head, shape.quads()), result.offset / 4));
      forEachQuad(softmax, number, [&](Value accumulator, Value quad) {
        rows.store(b.mul(accumulator, inverse), b.add(firstQuad, quad));
      });
    });
  }
}

/// The quads of a head, 32 columns and more, are spread over a query's lanes.
void SdpaKernel::storeCodes(const Softmax &softmax,
                            const QuantizedResult &result) {
  SmallVector<SharedQuad> quads;
  for (int64_t number = 0; number < shape.perInvocation; ++number) {
    const SdpaQuery &query = place.queries[number];
    Value inverse = b.splat(inverseSum(b, ofQuery(softmax.sums, number)));
    Value stores = b.less(query.row, b.index(shape.rows));
    Value firstQuad = b.mul(query.head, shape.quads()),
          firstSlot =
              b.mul(b.add(b.mul(place.slot, shape.perInvocation), number),
                    shape.quads());
    forEachQuad(softmax, number, [&](Value accumulator, Value quad) {
      quads.push_back({{b.mul(accumulator, inverse)},
                       query.row,
                       b.add(firstQuad, quad),
                       b.add(firstSlot, quad),
                       stores});
    });
  }
  QuantizedStore(unit, result)
      .storeShared(quads, shape.queries * shape.quads());
}

void SdpaKernel::finish(const SdpaResult &result, bool isSplit) {
  RegionContext &context = unit.getContext();
  int64_t registers = context.getConfig().getRegisters();
  if (heads)
    registers = heads->registers(registers);
  if (isSplit)
    registers = std::max(
        registers, sdpaCombineRegisters(context.getDevice(), shape.splits));
  unit.finish(llvm::formatv("{0} {1}/{2}x{3} rows {4}{5}",
                            heads ? "heads sdpa" : "sdpa", shape.heads,
                            shape.kvHeads, shape.headDim, shape.rows,
                            result.codes ? " quantized" : "")
                  .str(),
              {shape.blocks(), shape.kvHeads, shape.splits}, registers);
}

LogicalResult SdpaKernel::emit(const SdpaResult &result,
                               std::optional<SdpaSplits> splits) {
  int64_t slots = shape.queries / shape.perInvocation;
  numbersOfLanes = b.workgroupMemory(shape.workgroup, perQueryType());
  numbersOfSteps = b.workgroupMemory(shape.workgroup / 2 + 1, perQueryType());
  weights = b.workgroupMemory(slots * (shape.keys + 1), perQueryType());
  if (heads && failed(heads->bind()))
    return failure();
  if (heads && failed(heads->emit(keyRows, valueRows)))
    return failure();
  place.emit();
  Value kept = splits
                   ? storeSdpaGroup(b, shape, b.equal(b.localId(), b.index(0)))
                   : Value();
  Softmax softmax = emitBlocks();
  softmax.sums = overLanes(
      softmax.sums, [&](Value lhs, Value rhs) { return b.add(lhs, rhs); });
  addClasses(softmax);
  // There was a barrier.
  SdpaGroup group = splits ? loadSdpaGroup(b, shape, kept) : SdpaGroup();
  auto store = [&] {
    if (splits)
      storePartials(softmax, group, splits->partials);
    else if (result.floats)
      storeResult(softmax, *result.floats);
  };
  if (shape.classes() == 1)
    store();
  else
    b.ifThen(b.less(place.lane, b.index(shape.valueLanes)), store);
  if (result.codes)
    storeCodes(softmax, *result.codes);
  // The invocation's number from what is alive in the loops anyway.
  if (splits)
    emitSdpaCombine(unit, shape, group,
                    b.add(b.mul(place.slot, shape.lanes), place.lane), *splits,
                    *result.floats);
  finish(result, splits.has_value());
  return success();
}

/// Whether the kernel can quantize: all of a block is in one head, and one
/// workgroup has it.
LogicalResult verifyQuantized(RegionContext &context, const SdpaShape &shape,
                              const QuantizedResult &result) {
  if (!result.hasRowScales() && shape.quads() % kQuadsPerBlock == 0 &&
      shape.splits == 1 && shape.classes() == 1)
    return success();
  return context.getRegion().emitOpError(
             "of kind sdpa quantizes blocks of 32 columns of a head, of one "
             "split, all lanes on one value; found group ")
         << result.group << ", head dimension " << shape.headDim << ", splits "
         << shape.splits << ", lanes " << shape.lanes << ", value lanes "
         << shape.valueLanes;
}

} // namespace

LogicalResult lowerSdpa(RegionContext &context) {
  SdpaResult result;
  graph::SdpaOp sdpa = findSdpa(context, result);
  if (!sdpa)
    return context.getRegion().emitOpError("of kind sdpa must yield one sdpa");
  FailureOr<SdpaViews> views = sdpaViews(context, sdpa);
  if (failed(views))
    return failure();
  FailureOr<SdpaShape> shape = sdpaShape(context, sdpa, views->key);
  if (failed(shape))
    return failure();
  if (views->preparesHeads && shape->queries < shape->group())
    return context.getRegion().emitOpError(
               "of kind sdpa prepares heads where a workgroup has all queries "
               "of a KV head, ")
           << shape->group() << "; found " << shape->queries;
  if (result.codes && failed(verifyQuantized(context, *shape, *result.codes)))
    return failure();
  std::optional<SdpaSplits> splits;
  if (shape->splits > 1)
    splits = {context.workspace(shape->partialBytes()),
              context.getEntry().counterSlice(
                  context.getLoc(), shape->kvHeads * shape->blocks())};
  return SdpaKernel(context, sdpa, *shape, *views).emit(result, splits);
}

} // namespace llmc::codegen
