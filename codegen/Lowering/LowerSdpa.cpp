// SPDX-License-Identifier: Apache-2.0
//
// Attention with an online softmax, for one row or many. A workgroup holds
// `queries` (row, head) pairs of one KV head; `lanes` invocations share a
// query. Per block of `keys` keys each computes some scores over the whole
// head, gives them to the others as weights through workgroup memory, and adds
// up its slice of the values.
//
// Keys that a query may not see are read as the last one it may, with weight 0:
// whatever else the cache holds is never touched. Blocks are dealt to splits in
// turn, so that a row's sums do not depend on how many rows run with it.

#include "codegen/Lowering/QuantizedStore.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

/// Scores start from here, and hidden ones are lower still: finite, so that no
/// device has to get infinities right.
constexpr double kLowestScore = -1e38;
constexpr double kHiddenScore = -3e38;

/// Sizes of one attention, and the tile that Strategy chose.
struct SdpaShape {
  int64_t rows, heads, kvHeads, headDim;
  /// Keys that there is memory for.
  int64_t capacity;
  int64_t queries, lanes, keys, splits, workgroup;

  int64_t group() const { return heads / kvHeads; }
  int64_t quads() const { return headDim / 4; }
  int64_t quadsPerLane() const { return quads() / lanes; }
  int64_t scoresPerLane() const { return keys / lanes; }
  int64_t rowQuads() const { return heads * quads(); }
  /// Quads of the partial sums before the quads {maximum, sum, 0, 0} begin.
  int64_t partialQuads() const { return splits * rows * rowQuads(); }
};

/// Keys or values in memory: f32 or f16, in a state or in rows of an
/// activation.
class CachedRows {
public:
  CachedRows(KernelUnit &unit, const View &view, const SdpaShape &shape);

  /// Quads that one load gives.
  int64_t quadsPerLoad() const { return isHalf && loadsTwo ? 2 : 1; }
  /// Loads from one key to the next.
  int64_t loadsPerKey() const { return keyStride / quadsPerLoad(); }
  /// Index of the first load of key 0 of a KV head.
  Value firstLoad(Value kvHead);
  /// quadsPerLoad() vectors of f32.
  SmallVector<Value> load(Value index);

private:
  KernelUnit &unit;
  bool isHalf, loadsTwo;
  /// In quads.
  int64_t offset, headStride, keyStride;
  Value memref;
};

CachedRows::CachedRows(KernelUnit &unit, const View &view,
                       const SdpaShape &shape)
    : unit(unit) {
  isHalf = view.stateType && view.stateType.getElementType().isF16();
  loadsTwo = shape.quadsPerLane() % 2 == 0;
  offset = view.stateType ? 0 : view.offset / 4;
  keyStride = view.stateType ? shape.quads() : view.rowStride / 4;
  headStride = view.stateType ? shape.capacity * shape.quads() : shape.quads();
  KernelBuilder &b = unit.builder();
  Type element = b.f32x4();
  if (isHalf)
    element = loadsTwo ? b.i32x4() : b.i32x2();
  memref = unit.bind(view.slice, element, program::Access::Read);
}

Value CachedRows::firstLoad(Value kvHead) {
  KernelBuilder &b = unit.builder();
  return b.add(b.mul(kvHead, headStride / quadsPerLoad()),
               offset / quadsPerLoad());
}

SmallVector<Value> CachedRows::load(Value index) {
  KernelBuilder &b = unit.builder();
  Value loaded = b.load(memref, index);
  if (!isHalf)
    return {loaded};
  SmallVector<Value> quads;
  for (int64_t quad = 0; quad < quadsPerLoad(); ++quad) {
    SmallVector<Value> numbers;
    for (int64_t word = 2 * quad; word < 2 * quad + 2; ++word) {
      Value pair = b.unpackHalf2(b.extract(loaded, word));
      numbers.append({b.extract(pair, 0), b.extract(pair, 1)});
    }
    quads.push_back(b.vector(numbers));
  }
  return quads;
}

/// Where attention's rows go: one of the two or both.
struct SdpaResult {
  std::optional<View> floats;
  std::optional<QuantizedResult> codes;
};

/// The running softmax of one invocation.
struct Softmax {
  Value maximum, sum;
  /// Quads of the lane's slice of the values.
  SmallVector<Value> accumulators;

  SmallVector<Value> pack() const {
    SmallVector<Value> all = {maximum, sum};
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
             const View &query, const View &key, const View &value,
             StepWord position)
      : sdpa(sdpa), shape(shape),
        unit(context, context.getConfig().getWorkgroup()),
        keyRows(unit, key, shape), valueRows(unit, value, shape), query(query),
        key(key), position(position) {}

  /// `result` takes the rows; `partials` what each split found, when there is
  /// more than one.
  void emit(const SdpaResult &result, Value partials);

private:
  void emitPlace();
  Value emitNumKeys();
  Softmax emitBlock(Value firstKey, const Softmax &before);
  SmallVector<Value> emitScores(Value firstKey);
  Softmax emitWeights(Value firstKey, ArrayRef<Value> scores,
                      const Softmax &before);
  Softmax emitValues(Value firstKey, const Softmax &before);
  /// Calls `store` with each of the lane's accumulators and its quad in the
  /// head.
  void
  forEachQuad(const Softmax &softmax,
              llvm::function_ref<void(Value accumulator, Value quad)> store);
  void storePartials(const Softmax &softmax, Value partials);
  void storeResult(const Softmax &softmax, const View &result);
  void storeCodes(const Softmax &softmax, const QuantizedResult &result);

  graph::SdpaOp sdpa;
  const SdpaShape &shape;
  KernelUnit unit;
  CachedRows keyRows, valueRows;
  View query, key;
  StepWord position;

  /// The invocation's lane, query in the workgroup, row, head and KV head.
  Value lane, slot, row, head, kvHead;
  /// Index of the query's first quad; the last key that the query sees; keys
  /// that the workgroup goes over.
  Value queryQuad, lastKey, end;
  /// Workgroup memory: [queries][lanes] and [queries][keys + 1].
  Value maxima, weights;
};

/// Who the invocation is.
void SdpaKernel::emitPlace() {
  KernelBuilder &b = unit.builder();
  lane = b.rem(b.localId(), shape.lanes);
  slot = b.div(b.localId(), shape.lanes);
  kvHead = b.groupId(gpu::Dimension::y);
  Value firstQuery = b.mul(b.groupId(gpu::Dimension::x), shape.queries);
  Value number = b.add(firstQuery, slot);
  row = b.div(number, shape.group());
  head = b.add(b.mul(kvHead, shape.group()), b.rem(number, shape.group()));
  // The last workgroup may hold more queries than there are rows to read.
  Value readRow = b.min(row, b.index(shape.rows - 1));
  queryQuad = b.add(b.mul(readRow, query.rowStride / 4),
                    b.add(b.mul(head, shape.quads()), query.offset / 4));

  Value numKeys = emitNumKeys(), numRows = unit.numRows(query.type);
  Value lastOfAll =
      b.min(b.sub(numKeys, b.index(1)), b.index(shape.capacity - 1));
  Value groupEnd = numKeys;
  lastKey = lastOfAll;
  if (sdpa.getCausal()) {
    Value start = b.toIndex(unit.stepWord(position));
    lastKey = b.min(b.add(start, readRow), lastOfAll);
    Value lastRow = b.div(b.add(firstQuery, shape.queries - 1), shape.group());
    groupEnd = b.min(b.add(start, b.add(lastRow, 1)), numKeys);
  }
  Value hasRows = b.less(b.div(firstQuery, shape.group()), numRows);
  end = b.select(hasRows, b.min(groupEnd, b.index(shape.capacity)), b.index(0));
}

/// Keys that are there: position + rows in a cache, else the rows of the
/// tensor.
Value SdpaKernel::emitNumKeys() {
  KernelBuilder &b = unit.builder();
  if (!key.stateType)
    return unit.numRows(key.type);
  return b.add(b.toIndex(unit.stepWord(position)), unit.numRows(query.type));
}

/// This lane's scores: keys firstKey + lane, firstKey + lane + lanes, …,
/// unscaled.
SmallVector<Value> SdpaKernel::emitScores(Value firstKey) {
  KernelBuilder &b = unit.builder();
  Value memref = unit.bind(query.slice, b.f32x4(), program::Access::Read);
  int64_t perLoad = keyRows.quadsPerLoad();
  Value first = keyRows.firstLoad(kvHead);
  SmallVector<Value> starts;
  for (int64_t i = 0; i < shape.scoresPerLane(); ++i) {
    Value seen = b.min(b.add(b.add(firstKey, lane), i * shape.lanes), lastKey);
    starts.push_back(b.add(first, b.mul(seen, keyRows.loadsPerKey())));
  }
  auto addProducts = [&](Value step, ValueRange carried) {
    SmallVector<Value> scores(carried), queryQuads;
    Value quad = b.add(queryQuad, b.mul(step, perLoad));
    for (int64_t i = 0; i < perLoad; ++i)
      queryQuads.push_back(b.load(memref, b.add(quad, i)));
    for (auto [score, start] : llvm::zip_equal(scores, starts))
      for (auto [q, k] :
           llvm::zip_equal(queryQuads, keyRows.load(b.add(start, step))))
        for (int64_t element = 0; element < 4; ++element)
          score = b.fma(b.extract(q, element), b.extract(k, element), score);
    return scores;
  };
  SmallVector<Value> zeros(shape.scoresPerLane(), b.f32(0.0));
  return b.forLoop(b.index(0), b.opaqueIndex(shape.quads() / perLoad),
                   b.index(1), zeros, addProducts);
}

/// Turns scores into weights in workgroup memory, and rescales what was summed
/// before to the new maximum.
Softmax SdpaKernel::emitWeights(Value firstKey, ArrayRef<Value> scores,
                                const Softmax &before) {
  KernelBuilder &b = unit.builder();
  SmallVector<Value> scaled;
  Value laneMaximum = b.f32(kLowestScore);
  for (auto [i, score] : llvm::enumerate(scores)) {
    Value number = b.add(b.add(firstKey, lane), i * shape.lanes);
    Value isSeen = b.less(number, b.add(lastKey, 1));
    scaled.push_back(
        b.select(isSeen, b.mul(score, b.f32(sdpa.getScale().convertToFloat())),
                 b.f32(kHiddenScore)));
    laneMaximum = b.max(laneMaximum, scaled.back());
  }
  Value firstMaximum = b.mul(slot, shape.lanes);
  b.store(laneMaximum, maxima, b.add(firstMaximum, lane));
  b.barrier();
  Softmax after = before;
  for (int64_t i = 0; i < shape.lanes; ++i)
    after.maximum =
        b.max(after.maximum, b.load(maxima, b.add(firstMaximum, i)));
  Value firstWeight = b.add(b.mul(slot, shape.keys + 1), lane);
  for (auto [i, score] : llvm::enumerate(scaled))
    b.store(b.exp(b.sub(score, after.maximum)), weights,
            b.add(firstWeight, i * shape.lanes));
  b.barrier();
  Value factor = b.exp(b.sub(before.maximum, after.maximum));
  after.sum = b.mul(before.sum, factor);
  for (Value &accumulator : after.accumulators)
    accumulator = b.mul(accumulator, b.splat(factor));
  return after;
}

/// Adds weight * value over the block to the lane's slice.
Softmax SdpaKernel::emitValues(Value firstKey, const Softmax &before) {
  KernelBuilder &b = unit.builder();
  int64_t perLoad = valueRows.quadsPerLoad();
  int64_t unroll =
      std::clamp<int64_t>(unit.getContext().getDevice().getMaxUnroll(), 1, 4);
  while (shape.keys % unroll != 0)
    --unroll;
  Value first = b.add(valueRows.firstLoad(kvHead), lane);
  Value lastLoad = b.add(first, b.mul(lastKey, valueRows.loadsPerKey()));
  Value start =
      b.min(b.add(first, b.mul(firstKey, valueRows.loadsPerKey())), lastLoad);
  Value firstWeight = b.mul(slot, shape.keys + 1);

  SmallVector<Value> carried = before.pack();
  carried.push_back(start);
  auto addKeys = [&](Value keyInBlock, ValueRange values) {
    Softmax softmax = Softmax::unpack(values.drop_back());
    Value place = values.back();
    for (int64_t i = 0; i < unroll; ++i) {
      Value weight = b.load(weights, b.add(b.add(firstWeight, keyInBlock), i));
      softmax.sum = b.add(softmax.sum, weight);
      for (int64_t load = 0; load < shape.quadsPerLane() / perLoad; ++load)
        for (auto [j, quad] : llvm::enumerate(
                 valueRows.load(b.add(place, load * shape.lanes)))) {
          Value &accumulator = softmax.accumulators[load * perLoad + j];
          accumulator = b.fma(b.splat(weight), quad, accumulator);
        }
      place = b.min(b.add(place, valueRows.loadsPerKey()), lastLoad);
    }
    SmallVector<Value> next = softmax.pack();
    next.push_back(place);
    return next;
  };
  SmallVector<Value> results = b.forLoop(b.index(0), b.opaqueIndex(shape.keys),
                                         b.index(unroll), carried, addKeys);
  return Softmax::unpack(ValueRange(results).drop_back());
}

Softmax SdpaKernel::emitBlock(Value firstKey, const Softmax &before) {
  return emitValues(firstKey,
                    emitWeights(firstKey, emitScores(firstKey), before));
}

void SdpaKernel::forEachQuad(const Softmax &softmax,
                             llvm::function_ref<void(Value, Value)> store) {
  KernelBuilder &b = unit.builder();
  int64_t perLoad = valueRows.quadsPerLoad();
  for (auto [i, accumulator] : llvm::enumerate(softmax.accumulators)) {
    int64_t number = static_cast<int64_t>(i);
    Value load = b.add(lane, number / perLoad * shape.lanes);
    store(accumulator, b.add(b.mul(load, perLoad), number % perLoad));
  }
}

/// Partial sums: [splits][rows][heads] quads of the head, then one quad
/// {maximum, sum, 0, 0} for each.
void SdpaKernel::storePartials(const Softmax &softmax, Value partials) {
  KernelBuilder &b = unit.builder();
  Value memref = unit.bind(partials, b.f32x4(), program::Access::Write);
  Value splitRow = b.add(b.mul(b.groupId(gpu::Dimension::z), shape.rows), row);
  Value number = b.add(b.mul(splitRow, shape.heads), head);
  forEachQuad(softmax, [&](Value accumulator, Value quad) {
    b.store(accumulator, memref, b.add(b.mul(number, shape.quads()), quad));
  });
  b.ifThen(b.equal(lane, b.index(0)), [&] {
    Value zero = b.f32(0.0);
    b.store(b.vector({softmax.maximum, softmax.sum, zero, zero}), memref,
            b.add(number, shape.partialQuads()));
  });
}

/// 1 / sum, or 0 for a query that saw no key.
Value inverseSum(KernelBuilder &b, Value sum) {
  Value isPositive = b.less(b.f32(0.0), sum);
  return b.select(isPositive,
                  b.div(b.f32(1.0), b.select(isPositive, sum, b.f32(1.0))),
                  b.f32(0.0));
}

void SdpaKernel::storeResult(const Softmax &softmax, const View &result) {
  KernelBuilder &b = unit.builder();
  Value memref = unit.bind(result.slice, b.f32x4(), program::Access::Write);
  Value inverse = b.splat(inverseSum(b, softmax.sum));
  Value firstQuad = b.add(b.mul(row, result.rowStride / 4),
                          b.add(b.mul(head, shape.quads()), result.offset / 4));
  forEachQuad(softmax, [&](Value accumulator, Value quad) {
    b.store(b.mul(accumulator, inverse), memref, b.add(firstQuad, quad));
  });
}

/// The quads of a head, 32 columns and more, are spread over a query's lanes.
void SdpaKernel::storeCodes(const Softmax &softmax,
                            const QuantizedResult &result) {
  KernelBuilder &b = unit.builder();
  Value inverse = b.splat(inverseSum(b, softmax.sum));
  Value stores = b.less(row, b.index(shape.rows));
  Value firstQuad = b.mul(head, shape.quads()),
        firstSlot = b.mul(slot, shape.quads());
  SmallVector<SharedQuad> quads;
  forEachQuad(softmax, [&](Value accumulator, Value quad) {
    quads.push_back({{b.mul(accumulator, inverse)},
                     row,
                     b.add(firstQuad, quad),
                     b.add(firstSlot, quad),
                     stores});
  });
  QuantizedStore(unit, result)
      .storeShared(quads, shape.queries * shape.quads());
}

void SdpaKernel::emit(const SdpaResult &result, Value partials) {
  KernelBuilder &b = unit.builder();
  maxima = b.workgroupMemory(shape.queries * shape.lanes, b.getF32Type());
  weights = b.workgroupMemory(shape.queries * (shape.keys + 1), b.getF32Type());
  emitPlace();
  SmallVector<Value> zeros(shape.quadsPerLane(), b.constant(b.f32x4(), 0.0));
  Softmax start = {b.f32(kLowestScore), b.f32(0.0), zeros};
  Value firstBlock = b.mul(b.groupId(gpu::Dimension::z), shape.keys);
  SmallVector<Value> sums =
      b.forLoop(firstBlock, end, b.index(shape.splits * shape.keys),
                start.pack(), [&](Value firstKey, ValueRange carried) {
                  return emitBlock(firstKey, Softmax::unpack(carried)).pack();
                });
  if (partials || result.floats)
    b.ifThen(b.less(row, b.index(shape.rows)), [&] {
      if (partials)
        storePartials(Softmax::unpack(sums), partials);
      else
        storeResult(Softmax::unpack(sums), *result.floats);
    });
  if (result.codes)
    storeCodes(Softmax::unpack(sums), *result.codes);
  int64_t blocks = llvm::divideCeil(shape.rows * shape.group(), shape.queries);
  unit.finish(llvm::formatv("sdpa {0}/{1}x{2} rows {3}{4}", shape.heads,
                            shape.kvHeads, shape.headDim, shape.rows,
                            result.codes ? " quantized" : "")
                  .str(),
              {blocks, shape.kvHeads, shape.splits});
}

//===----------------------------------------------------------------------===//
// Combining splits
//===----------------------------------------------------------------------===//

/// Adds up what the splits found, split 0 first; one invocation a quad of the
/// result.
void emitCombine(RegionContext &context, const SdpaShape &shape, Value partials,
                 const View &result) {
  KernelUnit unit(context, context.getConfig().getWorkgroup());
  KernelBuilder &b = unit.builder();
  Value place = b.add(b.mul(b.groupId(), shape.workgroup), b.localId());
  Value number = b.div(place, shape.quads()),
        row = b.div(place, shape.rowQuads());
  int64_t perSplit = shape.rows * shape.heads;
  b.ifThen(b.less(row, b.index(shape.rows)), [&] {
    Value memref = unit.bind(partials, b.f32x4(), program::Access::Read);
    SmallVector<Value> statistics;
    Value maximum = b.f32(kLowestScore);
    for (int64_t split = 0; split < shape.splits; ++split) {
      statistics.push_back(b.load(
          memref, b.add(number, shape.partialQuads() + split * perSplit)));
      maximum = b.max(maximum, b.extract(statistics.back(), 0));
    }
    Value sum = b.f32(0.0), quad = b.constant(b.f32x4(), 0.0);
    for (int64_t split = 0; split < shape.splits; ++split) {
      Value factor = b.exp(b.sub(b.extract(statistics[split], 0), maximum));
      sum = b.fma(factor, b.extract(statistics[split], 1), sum);
      Value partial =
          b.load(memref, b.add(place, split * perSplit * shape.quads()));
      quad = b.fma(b.splat(factor), partial, quad);
    }
    Value target = unit.bind(result.slice, b.f32x4(), program::Access::Write);
    Value index =
        b.add(b.mul(row, result.rowStride / 4),
              b.add(b.rem(place, shape.rowQuads()), result.offset / 4));
    b.store(b.mul(quad, b.splat(inverseSum(b, sum))), target, index);
  });
  int64_t numGroups =
      llvm::divideCeil(shape.rows * shape.rowQuads(), shape.workgroup);
  unit.finish(llvm::formatv("sdpa combine {0} of {1}x{2} rows {3}",
                            shape.splits, shape.heads, shape.headDim,
                            shape.rows)
                  .str(),
              {numGroups, 1, 1});
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

FailureOr<SdpaShape> shapeOf(RegionContext &context, graph::SdpaOp sdpa,
                             const View &key) {
  auto query = cast<RankedTensorType>(sdpa.getQuery().getType());
  auto keys = cast<RankedTensorType>(sdpa.getKey().getType());
  graph::LoweringConfigAttr config = context.getConfig();
  ArrayRef<int64_t> tile = config.getTile();
  if (tile.size() != 3)
    return context.getRegion().emitOpError(
        "of kind sdpa needs tile = [queries, lanes, keys]");
  SdpaShape shape = {};
  shape.rows = context.rowsOf(query);
  shape.heads = query.getDimSize(1);
  shape.headDim = query.getDimSize(2);
  shape.kvHeads = keys.getDimSize(1);
  shape.capacity =
      key.stateType ? key.stateType.getDimSize(1) : context.rowsOf(keys);
  shape.queries = tile[0];
  shape.lanes = tile[1];
  shape.keys = tile[2];
  shape.splits = config.getSplits();
  shape.workgroup = config.getWorkgroup().front();
  if (shape.headDim % 4 != 0)
    return sdpa.emitOpError("head dimension ")
           << shape.headDim << " is no multiple of 4";
  if (shape.heads % shape.kvHeads != 0)
    return sdpa.emitOpError() << shape.heads << " heads are no multiple of "
                              << shape.kvHeads << " KV heads";
  if (shape.queries * shape.lanes != shape.workgroup ||
      shape.quads() % shape.lanes != 0 || shape.keys % shape.lanes != 0)
    return sdpa.emitOpError("does not fit its tile: workgroup ")
           << shape.workgroup << ", " << shape.queries << " queries of "
           << shape.lanes << " lanes, " << shape.keys
           << " keys, head dimension " << shape.headDim;
  return shape;
}

/// The op that the region's results are, as floats and quantized, through
/// reshapes. Fills in `result`.
graph::SdpaOp findRoot(RegionContext &context, SdpaResult &result) {
  Operation *yield = context.getRegion().getBody().front().getTerminator();
  graph::SdpaOp root;
  for (OpOperand &operand : yield->getOpOperands()) {
    Value value = operand.get();
    auto quantize = value.getDefiningOp<graph::QuantizeActivationsOp>();
    if (quantize)
      value = quantize.getInput();
    while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
      value = reshape.getInput();
    auto sdpa = value.getDefiningOp<graph::SdpaOp>();
    bool isSecond = (root && sdpa != root) || (!quantize && result.floats);
    if (!sdpa || isSecond)
      return {};
    root = sdpa;
    if (!quantize)
      result.floats = context.resultView(operand.getOperandNumber());
  }
  result.codes = findQuantizedResult(context);
  return root;
}

/// Whether the kernel can quantize: all of a block is in one head, and one
/// workgroup has it.
LogicalResult verifyQuantized(RegionContext &context, const SdpaShape &shape,
                              const QuantizedResult &result) {
  if (!result.hasRowScales() && shape.quads() % kQuadsPerBlock == 0 &&
      shape.splits == 1)
    return success();
  return context.getRegion().emitOpError(
             "of kind sdpa quantizes blocks of 32 columns of a head, of one "
             "split; found group ")
         << result.group << ", head dimension " << shape.headDim << ", splits "
         << shape.splits;
}

} // namespace

LogicalResult lowerSdpa(RegionContext &context) {
  SdpaResult result;
  graph::SdpaOp sdpa = findRoot(context, result);
  if (!sdpa)
    return context.getRegion().emitOpError("of kind sdpa must yield one sdpa");
  if (sdpa.getBias() || sdpa.getRanges() || sdpa.getWindow() != 0 ||
      !sdpa.getSoftCap().isZero())
    return sdpa.emitOpError("has a bias, ranges, a window or a soft cap, which "
                            "the lowering does not know");
  FailureOr<View> query = context.view(sdpa.getQuery()),
                  key = context.view(sdpa.getKey());
  FailureOr<View> value = context.view(sdpa.getValue());
  FailureOr<StepWord> position = context.word(sdpa.getPosition());
  if (failed(query) || failed(key) || failed(value) || failed(position))
    return failure();
  FailureOr<SdpaShape> shape = shapeOf(context, sdpa, *key);
  if (failed(shape))
    return failure();
  if (result.codes && failed(verifyQuantized(context, *shape, *result.codes)))
    return failure();
  Value partials;
  if (shape->splits > 1)
    partials = context.workspace(
        (shape->partialQuads() + shape->splits * shape->rows * shape->heads) *
        16);
  SdpaKernel(context, sdpa, *shape, *query, *key, *value, *position)
      .emit(result, partials);
  if (partials)
    emitCombine(context, *shape, partials, *result.floats);
  return success();
}

} // namespace llmc::codegen
