// SPDX-License-Identifier: Apache-2.0
//
// Attention of one row that prepares its heads, for devices whose subgroups
// exchange values by shuffles. A *stream* is the lanes that share a key: each
// has the same columns of the key, of the value and of the queries, so that a
// row of the cache is read in one piece, and only a score crosses lanes. Each
// stream has a softmax of its own over every n-th key; streams meet at the end,
// those of a subgroup by shuffles, then subgroups in workgroup memory. Loops
// have no barrier.
//
// The rows that the step adds are taken from workgroup memory, so that the
// first keys of the cache are on their way while heads are prepared.

#include "codegen/Lowering/ActivationRows.h"
#include "codegen/Lowering/QuantizedStore.h"
#include "codegen/Lowering/Reduction.h"
#include "codegen/Lowering/SdpaHeads.h"
#include "codegen/Lowering/SdpaPlace.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

/// One query in a stream: the largest score and the sum of weights, the same in
/// all lanes of the stream; the lane's columns of the sum of values.
struct RowSoftmax {
  Value maximum, sum;
  SmallVector<Value> total;
};

class SdpaRowKernel {
public:
  SdpaRowKernel(RegionContext &context, graph::SdpaOp sdpa,
                const SdpaShape &shape, const SdpaViews &views,
                int64_t subgroup, Value angles)
      : sdpa(sdpa), shape(shape), views(views), subgroup(subgroup),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
        keyRows(unit, views.key, shape, shape.quads()),
        valueRows(unit, views.value, shape, shape.quads()),
        heads(unit, sdpa, shape), angles(angles) {}

  LogicalResult emit(const View &result, std::optional<SdpaSplits> splits);

private:
  /// A key and its value as they lie in the cache: the lane's columns.
  struct Packed {
    Value key; // its number
    SmallVector<Value> keys, values;
  };
  using State = SmallVector<RowSoftmax>; // a query each

  void emitPlace();
  Packed load(Value firstKey);
  SmallVector<Value> columnsOf(CachedRows &rows, ArrayRef<Value> packed,
                               int64_t head, Value isNew);
  Value scoreOf(ArrayRef<Value> query, ArrayRef<Value> key, Value isSeen);
  State addKeys(ArrayRef<Packed> keys, const State &before);
  State emitBlocks(const Packed &first);
  Value shuffled(Value value, int64_t distance);
  void meetInSubgroup(State &state);
  void
  meet(State &state,
       llvm::function_ref<void(Value query, Value quad, SdpaParts all)> store);
  void storeAll(State &state, const View &result,
                std::optional<SdpaSplits> splits);

  static SmallVector<Value> pack(const State &state) {
    SmallVector<Value> values;
    for (const RowSoftmax &query : state) {
      values.append({query.maximum, query.sum});
      values.append(query.total);
    }
    return values;
  }
  State unpack(ValueRange values) const {
    State state;
    for (int64_t query = 0; query < shape.group(); ++query) {
      state.push_back({values[0], values[1],
                       SmallVector<Value>(values.slice(2, quadsPerLane()))});
      values = values.drop_front(2 + quadsPerLane());
    }
    return state;
  }

  int64_t loadsPerLane() const { return keyRows.loadsPerKey() / shape.lanes; }
  int64_t quadsPerLane() const { return shape.quads() / shape.lanes; }
  /// Of the lane's column vector `number`: its number in the head.
  Value quadOf(int64_t number) {
    int64_t perLoad = keyRows.quadsPerLoad();
    Value load = b.add(part, number / perLoad * shape.lanes);
    return b.add(b.mul(load, perLoad), number % perLoad);
  }

  graph::SdpaOp sdpa;
  const SdpaShape &shape;
  const SdpaViews &views;
  int64_t subgroup;
  KernelUnit unit;
  KernelBuilder &b;
  CachedRows keyRows, valueRows;
  SdpaHeads heads;
  Value angles;

  /// The invocation's number, its part of a key, its stream; the KV head.
  Value thread, part, stream, kvHead;
  /// The row's position; behind the last key that it sees, and the first (null:
  /// 0); the last key that was in the cache before the step.
  Value position, end, begin, lastOld;
  /// [query][column vector of the lane].
  SmallVector<SmallVector<Value>> queries;
};

void SdpaRowKernel::emitPlace() {
  thread = subgroupLane(b, subgroup);
  part = b.rem(thread, shape.lanes);
  stream = b.div(thread, shape.lanes);
  kvHead = b.groupId(gpu::Dimension::y);
  position = b.toIndex(unit.stepWord(views.position));
  Value capacity = b.index(shape.capacity);
  end = b.min(b.add(position, 1), capacity);
  if (auto window = static_cast<int64_t>(sdpa.getWindow()))
    begin = b.sub(b.max(b.add(position, 1), b.index(window)), b.index(window));
  lastOld = b.sub(b.max(b.min(position, capacity), b.index(1)), b.index(1));
}

/// The stream's key of the block that begins at `firstKey`.
SdpaRowKernel::Packed SdpaRowKernel::load(Value firstKey) {
  Packed packed = {b.add(firstKey, stream), {}, {}};
  Value readable = b.min(packed.key, lastOld);
  auto loadAll = [&](CachedRows &rows, SmallVector<Value> &into) {
    Value first = b.add(b.add(rows.firstLoad(kvHead), part),
                        b.mul(readable, rows.loadsPerKey()));
    for (int64_t i = 0; i < loadsPerLane(); ++i)
      into.push_back(rows.loadPacked(b.add(first, i * shape.lanes)));
  };
  loadAll(keyRows, packed.keys);
  loadAll(valueRows, packed.values);
  return packed;
}

/// The lane's columns, those of prepared head `head` where the key `isNew`.
SmallVector<Value> SdpaRowKernel::columnsOf(CachedRows &rows,
                                            ArrayRef<Value> packed,
                                            int64_t head, Value isNew) {
  SmallVector<Value> columns;
  for (Value load : packed)
    columns.append(rows.unpack(load));
  for (auto [number, column] : llvm::enumerate(columns)) {
    Value quad = b.add(quadOf(static_cast<int64_t>(number)),
                       b.index(head * shape.quads()));
    column = b.select(isNew, rows.rounded(heads.loadQuad(quad)), column);
  }
  return columns;
}

Value SdpaRowKernel::scoreOf(ArrayRef<Value> query, ArrayRef<Value> key,
                             Value isSeen) {
  Value sum = b.f32(0.0);
  for (auto [q, k] : llvm::zip_equal(query, key))
    for (int64_t i = 0; i < 4; ++i)
      sum = b.fma(b.extract(q, i), b.extract(k, i), sum);
  for (int64_t distance = 1; distance < shape.lanes; distance *= 2)
    sum = b.add(sum, shuffled(sum, distance));
  Value score = b.mul(sum, b.f32(sdpa.getScale().convertToFloat()));
  double cap = sdpa.getSoftCap().convertToFloat();
  if (cap != 0)
    score = softCap(b, score, cap);
  return b.select(isSeen, score, b.f32(kHiddenScore));
}

/// Of every stream a key for each of `keys`.
SdpaRowKernel::State SdpaRowKernel::addKeys(ArrayRef<Packed> keys,
                                            const State &before) {
  State state = before;
  SmallVector<SmallVector<Value>> scores(state.size()), values;
  for (const Packed &packed : keys) {
    Value isNew = b.less(position, b.add(packed.key, 1));
    Value isSeen = b.less(packed.key, end);
    if (begin)
      isSeen = b.logicalAnd(isSeen, b.less(begin, b.add(packed.key, 1)));
    SmallVector<Value> key =
        columnsOf(keyRows, packed.keys, shape.group(), isNew);
    for (auto [number, query] : llvm::enumerate(queries))
      scores[number].push_back(scoreOf(query, key, isSeen));
    values.push_back(
        columnsOf(valueRows, packed.values, shape.group() + 1, isNew));
  }
  for (auto [query, own] : llvm::zip_equal(state, scores)) {
    Value maximum = query.maximum;
    for (Value score : own)
      maximum = b.max(maximum, score);
    Value factor = b.exp(b.sub(query.maximum, maximum));
    query.maximum = maximum;
    query.sum = b.mul(query.sum, factor);
    for (Value &total : query.total)
      total = b.mul(total, b.splat(factor));
    for (auto [score, value] : llvm::zip_equal(own, values)) {
      Value weight = b.exp(b.sub(score, maximum));
      query.sum = b.add(query.sum, weight);
      for (auto [total, column] : llvm::zip_equal(query.total, value))
        total = b.fma(b.splat(weight), column, total);
    }
  }
  return state;
}

/// All blocks of the split: the first, which is loaded, then `loadsAtOnce`
/// together, then the rest.
SdpaRowKernel::State SdpaRowKernel::emitBlocks(const Packed &first) {
  State state;
  for (int64_t query = 0; query < shape.group(); ++query)
    state.push_back(
        {b.f32(kLowestScore), b.f32(0.0),
         SmallVector<Value>(quadsPerLane(), b.constant(b.f32x4(), 0.0))});
  state = addKeys(first, state);
  int64_t stride = shape.splits * shape.keys,
          reach = (shape.loadsAtOnce - 1) * stride;
  Value next =
      b.add(firstKeyOfSplit(b, shape,
                            begin ? b.mul(b.div(begin, shape.keys), shape.keys)
                                  : Value()),
            stride);
  if (shape.loadsAtOnce > 1) {
    SmallVector<Value> carried = pack(state);
    carried.push_back(next);
    auto addSome = [&](Value firstKey, ValueRange values) {
      SmallVector<Packed> keys;
      for (int64_t i = 0; i < shape.loadsAtOnce; ++i)
        keys.push_back(load(b.add(firstKey, i * stride)));
      SmallVector<Value> all = pack(addKeys(keys, unpack(values)));
      all.push_back(b.add(firstKey, shape.loadsAtOnce * stride));
      return all;
    };
    Value last = b.sub(b.max(end, b.index(reach)), b.index(reach));
    carried = b.forLoop(next, last, b.index(shape.loadsAtOnce * stride),
                        carried, addSome);
    next = carried.pop_back_val();
    state = unpack(carried);
  }
  return unpack(b.forLoop(next, end, b.index(stride), pack(state),
                          [&](Value firstKey, ValueRange values) {
                            return pack(
                                addKeys(load(firstKey), unpack(values)));
                          }));
}

Value SdpaRowKernel::shuffled(Value value, int64_t distance) {
  auto one = [&](Value scalar) -> Value {
    return gpu::ShuffleOp::create(b, scalar, static_cast<int32_t>(distance),
                                  static_cast<int32_t>(subgroup),
                                  gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  if (!isa<VectorType>(value.getType()))
    return one(value);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < 4; ++i)
    elements.push_back(one(b.extract(value, i)));
  return b.vector(elements);
}

/// Gives the first stream of each subgroup what all of them have.
void SdpaRowKernel::meetInSubgroup(State &state) {
  for (int64_t distance = shape.lanes; distance < subgroup; distance *= 2)
    for (RowSoftmax &query : state) {
      Value other = shuffled(query.maximum, distance),
            maximum = b.max(query.maximum, other);
      Value factor = b.exp(b.sub(query.maximum, maximum)),
            ofOther = b.exp(b.sub(other, maximum));
      query.maximum = maximum;
      query.sum = b.fma(shuffled(query.sum, distance), ofOther,
                        b.mul(query.sum, factor));
      for (Value &total : query.total)
        total = b.fma(shuffled(total, distance), b.splat(ofOther),
                      b.mul(total, b.splat(factor)));
    }
}

/// Calls `store` with every quad of the queries, an invocation each.
void SdpaRowKernel::meet(
    State &state,
    llvm::function_ref<void(Value query, Value quad, SdpaParts all)> store) {
  meetInSubgroup(state);
  int64_t parts = shape.workgroup / subgroup, quads = shape.quads();
  Value totals = b.workgroupMemory(parts * shape.group() * quads, b.f32x4()),
        statistics = b.workgroupMemory(parts * shape.group(),
                                       VectorType::get(2, b.getF32Type()));
  Value inSubgroup = b.rem(thread, subgroup),
        first = b.mul(b.div(thread, subgroup), shape.group());
  b.ifThen(b.less(inSubgroup, b.index(shape.lanes)), [&] {
    for (auto [number, query] : llvm::enumerate(state)) {
      Value place = b.add(first, static_cast<int64_t>(number));
      for (auto [i, total] : llvm::enumerate(query.total))
        b.store(total, totals,
                b.add(b.mul(place, quads), quadOf(static_cast<int64_t>(i))));
      // All lanes of the stream have the same.
      b.store(b.vector({query.maximum, query.sum}), statistics, place);
    }
  });
  b.barrier();
  int64_t numQuads = shape.group() * quads;
  for (int64_t done = 0; done < numQuads; done += shape.workgroup) {
    Value number = b.add(thread, done);
    auto addAll = [&] {
      Value query = b.div(number, quads);
      SdpaParts all = addParts(
          b, parts,
          [&](int64_t i) {
            return b.load(statistics, b.add(query, i * shape.group()));
          },
          [&](int64_t i) {
            return b.load(totals, b.add(number, i * numQuads));
          });
      store(query, b.rem(number, quads), all);
    };
    if (done + shape.workgroup <= numQuads)
      addAll();
    else
      b.ifThen(b.less(number, b.index(numQuads)), addAll);
  }
}

void SdpaRowKernel::storeAll(State &state, const View &result,
                             std::optional<SdpaSplits> splits) {
  Value firstHead = b.mul(kvHead, shape.group());
  if (!splits) {
    ActivationRows rows(unit, result, program::Access::Write);
    return meet(state, [&](Value query, Value quad, SdpaParts all) {
      Value place = b.add(b.mul(b.add(firstHead, query), shape.quads()), quad);
      rows.store(b.mul(all.total, b.splat(inverseSum(b, all.sum))),
                 b.add(place, result.offset / 4));
    });
  }
  Value memref = unit.bind(splits->partials, b.f32x4(), program::Access::Write);
  Value ofSplit = b.mul(b.groupId(gpu::Dimension::z), shape.heads);
  meet(state, [&](Value query, Value quad, SdpaParts all) {
    Value place = b.add(ofSplit, b.add(firstHead, query));
    b.store(all.total, memref, b.add(b.mul(place, shape.quads()), quad));
    b.ifThen(b.equal(quad, b.index(0)), [&] {
      Value zero = b.f32(0.0);
      b.store(b.vector({all.maximum, all.sum, zero, zero}), memref,
              b.add(place, shape.partialQuads()));
    });
  });
  emitSdpaCombine(unit, shape, kvHead, thread, *splits, result);
}

LogicalResult SdpaRowKernel::emit(const View &result,
                                  std::optional<SdpaSplits> splits) {
  if (failed(heads.bind()))
    return failure();
  emitPlace();
  Packed first = load(firstKeyOfSplit(
      b, shape, begin ? b.mul(b.div(begin, shape.keys), shape.keys) : Value()));
  Value table =
      angles ? unit.bind(angles, b.f32x4(), program::Access::Read) : Value();
  if (failed(heads.emit(keyRows, valueRows, /*readsBack=*/false, table)))
    return failure();
  for (int64_t query = 0; query < shape.group(); ++query) {
    SmallVector<Value> &columns = queries.emplace_back();
    for (int64_t number = 0; number < quadsPerLane(); ++number)
      columns.push_back(heads.loadQuad(
          b.add(quadOf(number), b.index(query * shape.quads()))));
  }
  State state = emitBlocks(first);
  storeAll(state, result, splits);
  unit.finish(llvm::formatv("heads sdpa {0}/{1}x{2} rows 1", shape.heads,
                            shape.kvHeads, shape.headDim)
                  .str(),
              {1, shape.kvHeads, shape.splits});
  return success();
}

/// The sines and cosines of the step's row, a slice that all attentions of the
/// entry with that rotation share; null without a rotation.
FailureOr<Value> angleTable(RegionContext &context, HeadChain chain) {
  if (!chain.rotary)
    return Value();
  std::string name = "angles ";
  llvm::raw_string_ostream text(name);
  text << chain.rotary->getAttrDictionary() << chain.type.getShape().back();
  if (chain.rotary.getFactors()) {
    auto dequantize =
        chain.rotary.getFactors().getDefiningOp<graph::DequantizeOp>();
    text << " "
         << context.outside(dequantize ? dequantize.getInput()
                                       : chain.rotary.getFactors());
  }
  Value &shared = context.getEntry().sharedSlice(name);
  if (shared)
    return shared;
  HeadVectors vectors = {4, chain.type.getShape().back() / 4};
  shared = context.workspace(chain.rotaryDim() * 4);
  // It belongs to no layer.
  KernelUnit unit(context, {vectors.lanes(), 1, 1},
                  context.getRegion()->getParentOp()->getLoc());
  KernelBuilder &b = unit.builder();
  HeadLane at = emitHeadLane(b, chain, vectors, b.localId());
  HeadTurn turn(unit, chain.rotary, vectors, at, b.index(0));
  FailureOr<VectorPair> angles = turn.angles();
  if (failed(angles))
    return failure();
  Value memref = unit.bind(shared, b.f32x4(), program::Access::Write);
  b.ifThen(b.less(b.localId(), b.index(turn.turnedLanes())), [&] {
    b.store(angles->first, memref, b.localId());
    b.store(angles->second, memref, b.add(b.localId(), turn.turnedLanes()));
  });
  unit.finish("rotary angles", {1, 1, 1});
  return shared;
}

/// The shape with the tile of the config, [lanes of a key, keys at once].
FailureOr<SdpaShape> rowShape(RegionContext &context, graph::SdpaOp sdpa,
                              const SdpaViews &views, int64_t subgroup) {
  SdpaShape shape = sdpaSizes(context, sdpa, views.key);
  ArrayRef<int64_t> tile = context.getConfig().getTile();
  int64_t bits =
      views.key.stateType ? views.key.stateType.getElementTypeBitWidth() : 0;
  bool isPlain = views.preparesHeads && bits >= 16 && !views.bias &&
                 !views.relative && !views.ranges && shape.rows == 1;
  if (!isPlain || tile.size() != 2 || tile[0] < 1 || tile[1] < 1 ||
      subgroup == 0 || subgroup % tile[0] != 0 ||
      !llvm::isPowerOf2_64(static_cast<uint64_t>(tile[0])) ||
      shape.headDim * bits % (128 * tile[0]) != 0)
    return context.getRegion().emitOpError(
        "of kind sdpa_row takes one row that it prepares on a cache of floats, "
        "tile = [lanes of a key, keys at once], lanes a power of two that "
        "divides the loads of a key and the subgroup, and a workgroup of whole "
        "subgroups whose size the config depends on");
  shape.queries = shape.group();
  shape.perInvocation = 1;
  shape.lanes = shape.valueLanes = tile[0];
  shape.keys = shape.workgroup / tile[0];
  shape.loadsAtOnce = tile[1];
  return shape;
}

} // namespace

LogicalResult lowerSdpaRow(RegionContext &context) {
  SdpaResult result;
  graph::SdpaOp sdpa = findSdpa(context, result);
  if (!sdpa || !result.floats || result.codes)
    return context.getRegion().emitOpError(
        "of kind sdpa_row must yield the floats of one sdpa");
  FailureOr<SdpaViews> views = sdpaViews(context, sdpa);
  if (failed(views))
    return failure();
  int64_t subgroup =
      reductionSubgroup(context.getConfig(), context.getDevice(),
                        context.getConfig().getWorkgroup().front());
  FailureOr<SdpaShape> shape = rowShape(context, sdpa, *views, subgroup);
  if (failed(shape))
    return failure();
  FailureOr<Value> angles = angleTable(context, readHeadChain(sdpa.getQuery()));
  if (failed(angles))
    return failure();
  std::optional<SdpaSplits> splits;
  if (shape->splits > 1)
    splits = {
        context.workspace(shape->partialBytes()),
        context.getEntry().counterSlice(context.getLoc(), shape->kvHeads)};
  return SdpaRowKernel(context, sdpa, *shape, *views, subgroup, *angles)
      .emit(*result.floats, splits);
}

} // namespace llmc::codegen
