// SPDX-License-Identifier: Apache-2.0
//
// Attention of one row that prepares its heads, for devices whose subgroups
// exchange values by shuffles. A *stream* is the lanes that share a key: each
// has the same columns of the key, of the value and of the queries, so that a
// row of the cache is read in one piece, and only a score crosses lanes. Each
// stream has a softmax of its own over every n-th key; streams meet at the end,
// those of a subgroup by shuffles, then subgroups in workgroup memory. The loop
// has no barrier, and what its next round reads is on its way in each.
//
// The row that the step adds is taken from workgroup memory, so that the first
// keys of the cache are on their way while heads are prepared. And few keys are
// left to one split, which then has nothing to add up.

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

/// From that many keys on, it pays to share them and to add up: about 1.4 µs on
/// an H200, and one workgroup takes as long for as many keys.
constexpr int64_t kKeysOfManySplits = 192;

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
  LogicalResult emitSplit(const View &result, std::optional<SdpaSplits> splits,
                          Value table);
  /// A key and its value as they lie in the cache: the lane's columns.
  struct Packed {
    SmallVector<Value> key, value;
  };
  using Block = SmallVector<Packed>;     // what a round of the loop adds
  using State = SmallVector<RowSoftmax>; // a query each

  void emitPlace();
  Value firstKey();
  Block load(Value firstKey);
  SmallVector<Value> columnsOf(CachedRows &rows, ArrayRef<Value> packed);
  SmallVector<Value> preparedColumns(int64_t head);
  Value scoreOf(ArrayRef<Value> query, ArrayRef<Value> key);
  State newKey();
  State addBlock(const Block &block, Value firstKey, const State &before);
  State addKeys(const Block &first, const State &before);
  void meetInSubgroup(State &state);
  void
  meet(State &state,
       llvm::function_ref<void(Value query, Value quad, SdpaParts all)> store);
  void storeAll(State &state, const View &result,
                std::optional<SdpaSplits> splits);

  static void append(SmallVector<Value> &values, const Block &block) {
    for (const Packed &packed : block) {
      values.append(packed.key);
      values.append(packed.value);
    }
  }
  static void append(SmallVector<Value> &values, const State &state) {
    for (const RowSoftmax &query : state) {
      values.append({query.maximum, query.sum});
      values.append(query.total);
    }
  }
  /// The first of `values`, which it drops.
  Block takeBlock(ValueRange &values) const {
    Block block;
    for (int64_t i = 0; i < shape.loadsAtOnce; ++i) {
      block.push_back(
          {SmallVector<Value>(values.take_front(loadsPerLane())),
           SmallVector<Value>(values.slice(loadsPerLane(), loadsPerLane()))});
      values = values.drop_front(2 * loadsPerLane());
    }
    return block;
  }
  State takeState(ValueRange &values) const {
    State state;
    for (size_t query = 0; query < queries.size(); ++query) {
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
  /// The row's position; the keys of the cache that it sees, begin … end - 1;
  /// the last that may be read.
  Value position, begin, end, lastOld;
  /// Of several splits: whether the first takes all keys, or all share them;
  /// whether the workgroup is of the first.
  Value isShort, isShared, isFirstSplit;
  /// Keys from one of a stream to its next.
  Value stride;
  /// [query][column vector of the lane].
  SmallVector<SmallVector<Value>> queries;
};

void SdpaRowKernel::emitPlace() {
  thread = subgroupLane(b, subgroup);
  part = b.rem(thread, shape.lanes);
  stream = b.div(thread, shape.lanes);
  kvHead = b.groupId(gpu::Dimension::y);
  position = b.toIndex(unit.stepWord(views.position));
  end = b.min(position, b.index(shape.capacity));
  begin = b.index(0);
  if (auto window = static_cast<int64_t>(sdpa.getWindow()))
    begin = b.sub(b.max(b.add(position, 1), b.index(window)), b.index(window));
  lastOld = b.sub(b.max(end, b.index(1)), b.index(1));
  stride = b.index(shape.keys);
  if (shape.splits == 1)
    return;
  Value fewest = b.add(begin, kKeysOfManySplits);
  isShort = b.less(end, fewest);
  isShared = b.less(fewest, b.add(end, 1));
  isFirstSplit = b.equal(b.groupId(gpu::Dimension::z), b.index(0));
  stride = b.select(isShort, stride, b.index(shape.splits * shape.keys));
}

/// Where the split begins.
Value SdpaRowKernel::firstKey() {
  return b.add(begin, b.mul(b.groupId(gpu::Dimension::z), shape.keys));
}

/// The stream's keys of the round that begins at `firstKey`.
SdpaRowKernel::Block SdpaRowKernel::load(Value firstKey) {
  Block block;
  Value key = b.add(firstKey, stream);
  for (int64_t i = 0; i < shape.loadsAtOnce; ++i) {
    Value readable = b.min(key, lastOld);
    auto loadAll = [&](CachedRows &rows) {
      SmallVector<Value> loads;
      Value first = b.add(b.add(rows.firstLoad(kvHead), part),
                          b.mul(readable, rows.loadsPerKey()));
      for (int64_t j = 0; j < loadsPerLane(); ++j)
        loads.push_back(rows.loadPacked(b.add(first, j * shape.lanes)));
      return loads;
    };
    block.push_back({loadAll(keyRows), loadAll(valueRows)});
    key = b.add(key, stride);
  }
  return block;
}

SmallVector<Value> SdpaRowKernel::columnsOf(CachedRows &rows,
                                            ArrayRef<Value> packed) {
  SmallVector<Value> columns;
  for (Value load : packed)
    columns.append(rows.unpack(load));
  return columns;
}

/// The lane's columns of prepared head `head`.
SmallVector<Value> SdpaRowKernel::preparedColumns(int64_t head) {
  SmallVector<Value> columns;
  for (int64_t number = 0; number < quadsPerLane(); ++number)
    columns.push_back(
        heads.loadQuad(b.add(quadOf(number), b.index(head * shape.quads()))));
  return columns;
}

Value SdpaRowKernel::scoreOf(ArrayRef<Value> query, ArrayRef<Value> key) {
  Value sum = b.f32(0.0);
  for (auto [q, k] : llvm::zip_equal(query, key))
    for (int64_t i = 0; i < 4; ++i)
      sum = b.fma(b.extract(q, i), b.extract(k, i), sum);
  Value score = b.mul(sumOverNeighbours(b, sum, shape.lanes, subgroup),
                      b.f32(sdpa.getScale().convertToFloat()));
  double cap = sdpa.getSoftCap().convertToFloat();
  return cap != 0 ? softCap(b, score, cap) : score;
}

/// What all streams begin with: one of the first split has the key that the
/// step adds, as the cache would give it, if there is a place for it.
SdpaRowKernel::State SdpaRowKernel::newKey() {
  Value isOwn = b.logicalAnd(b.equal(stream, b.index(0)),
                             b.less(position, b.index(shape.capacity)));
  if (isFirstSplit)
    isOwn = b.logicalAnd(isOwn, isFirstSplit);
  SmallVector<Value> key = preparedColumns(heads.numQueries()),
                     value = preparedColumns(heads.numQueries() + 1);
  Value zero = b.f32(0.0);
  for (Value &column : key)
    column = keyRows.rounded(column);
  for (Value &column : value)
    column =
        b.select(isOwn, valueRows.rounded(column), b.constant(b.f32x4(), 0.0));
  State state;
  for (const SmallVector<Value> &query : queries)
    state.push_back({b.select(isOwn, scoreOf(query, key), b.f32(kLowestScore)),
                     b.select(isOwn, b.f32(1.0), zero), value});
  return state;
}

/// `firstKey` is where the round begins.
SdpaRowKernel::State SdpaRowKernel::addBlock(const Block &block, Value firstKey,
                                             const State &before) {
  State state = before;
  SmallVector<SmallVector<Value>> scores(state.size()), values;
  Value number = b.add(firstKey, stream);
  for (const Packed &packed : block) {
    Value isSeen = b.less(number, end);
    SmallVector<Value> key = columnsOf(keyRows, packed.key);
    for (auto [query, own] : llvm::zip_equal(queries, scores))
      own.push_back(b.select(isSeen, scoreOf(query, key), b.f32(kHiddenScore)));
    values.push_back(columnsOf(valueRows, packed.value));
    number = b.add(number, stride);
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

/// All keys of the split; `first` is loaded. No round where there is no key, so
/// that nothing is added that was never written.
SdpaRowKernel::State SdpaRowKernel::addKeys(const Block &first,
                                            const State &before) {
  Value step = b.mul(stride, shape.loadsAtOnce);
  SmallVector<Value> carried;
  append(carried, first);
  auto types = llvm::to_vector(ValueRange(carried).getTypes());
  append(carried, before);
  carried = b.forLoop(
      firstKey(), end, step, carried,
      [&](Value round, ValueRange values) -> SmallVector<Value> {
        Block block = takeBlock(values);
        State after = addBlock(block, round, takeState(values));
        Value next = b.add(round, step);
        auto loadsOf = [](const Block &block) {
          SmallVector<Value> loads;
          append(loads, block);
          return loads;
        };
        SmallVector<Value> result = b.ifElse(
            types, b.less(next, end), [&] { return loadsOf(load(next)); },
            [&] { return loadsOf(block); });
        append(result, after);
        return result;
      });
  ValueRange values = carried;
  takeBlock(values);
  return takeState(values);
}

/// Gives the first stream of each subgroup what all of them have.
void SdpaRowKernel::meetInSubgroup(State &state) {
  for (int64_t distance = shape.lanes; distance < subgroup; distance *= 2)
    for (RowSoftmax &query : state) {
      Value other = shuffleXor(b, query.maximum, distance, subgroup),
            maximum = b.max(query.maximum, other);
      Value factor = b.exp(b.sub(query.maximum, maximum)),
            ofOther = b.exp(b.sub(other, maximum));
      query.maximum = maximum;
      query.sum = b.fma(shuffleXor(b, query.sum, distance, subgroup), ofOther,
                        b.mul(query.sum, factor));
      for (Value &total : query.total)
        total = b.fma(shuffleXor(b, total, distance, subgroup),
                      b.splat(ofOther), b.mul(total, b.splat(factor)));
    }
}

/// Calls `store` with every quad of the queries, an invocation each.
void SdpaRowKernel::meet(
    State &state,
    llvm::function_ref<void(Value query, Value quad, SdpaParts all)> store) {
  meetInSubgroup(state);
  int64_t parts = shape.workgroup / subgroup, quads = shape.quads(),
          numQueries = heads.numQueries();
  Value totals = b.workgroupMemory(parts * numQueries * quads, b.f32x4()),
        statistics = b.workgroupMemory(parts * numQueries,
                                       VectorType::get(2, b.getF32Type()));
  Value inSubgroup = b.rem(thread, subgroup),
        first = b.mul(b.div(thread, subgroup), numQueries);
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
  int64_t numQuads = numQueries * quads;
  for (int64_t done = 0; done < numQuads; done += shape.workgroup) {
    Value number = b.add(thread, done);
    auto addAll = [&] {
      Value query = b.div(number, quads);
      SdpaParts all = addParts(
          b, parts,
          [&](int64_t i) {
            return b.load(statistics, b.add(query, i * numQueries));
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

/// Stores the row, or where splits share the keys its parts, which the last of
/// them adds up.
void SdpaRowKernel::storeAll(State &state, const View &result,
                             std::optional<SdpaSplits> splits) {
  Value firstHead = b.mul(kvHead, shape.group());
  if (shape.blocks() > 1)
    firstHead = b.add(firstHead,
                      b.mul(b.groupId(gpu::Dimension::x), heads.numQueries()));
  ActivationRows rows(unit, result, program::Access::Write);
  auto storeRow = [&](Value head, Value quad, SdpaParts all) {
    Value place = b.add(b.mul(head, shape.quads()), quad);
    rows.store(b.mul(all.total, b.splat(inverseSum(b, all.sum))),
               b.add(place, result.offset / 4));
  };
  if (!splits)
    return meet(state, [&](Value query, Value quad, SdpaParts all) {
      storeRow(b.add(firstHead, query), quad, all);
    });
  Value memref = unit.bind(splits->partials, b.f32x4(), program::Access::Write);
  Value ofSplit = b.mul(b.groupId(gpu::Dimension::z), shape.heads);
  meet(state, [&](Value query, Value quad, SdpaParts all) {
    Value head = b.add(firstHead, query);
    b.ifThen(isShort, [&] { storeRow(head, quad, all); });
    b.ifThen(isShared, [&] {
      Value place = b.add(ofSplit, head);
      b.store(all.total, memref, b.add(b.mul(place, shape.quads()), quad));
      b.ifThen(b.equal(quad, b.index(0)), [&] {
        Value zero = b.f32(0.0);
        b.store(b.vector({all.maximum, all.sum, zero, zero}), memref,
                b.add(place, shape.partialQuads()));
      });
    });
  });
  b.ifThen(isShared, [&] {
    emitSdpaCombine(unit, shape, sdpaGroup(b, shape), thread, *splits, result);
  });
}

/// All of a workgroup that has keys.
LogicalResult SdpaRowKernel::emitSplit(const View &result,
                                       std::optional<SdpaSplits> splits,
                                       Value table) {
  Block first = load(firstKey());
  SdpaHeadsUse use = {/*readsBack=*/false, table, subgroup, thread,
                      isFirstSplit};
  if (shape.blocks() > 1) {
    Value isFirstBlock = b.equal(b.groupId(gpu::Dimension::x), b.index(0));
    use.writes =
        use.writes ? b.logicalAnd(use.writes, isFirstBlock) : isFirstBlock;
  }
  if (failed(heads.emit(keyRows, valueRows, use)))
    return failure();
  for (int64_t query = 0; query < heads.numQueries(); ++query)
    queries.push_back(preparedColumns(query));
  State state = addKeys(first, newKey());
  storeAll(state, result, splits);
  return success();
}

LogicalResult SdpaRowKernel::emit(const View &result,
                                  std::optional<SdpaSplits> splits) {
  if (failed(heads.bind()))
    return failure();
  emitPlace();
  Value table =
      angles ? unit.bind(angles, b.f32x4(), program::Access::Read) : Value();
  LogicalResult emitted = success();
  if (splits)
    b.ifThen(b.less(b.groupId(gpu::Dimension::z),
                    b.select(isShared, b.index(shape.splits), b.index(1))),
             [&] { emitted = emitSplit(result, splits, table); });
  else
    emitted = emitSplit(result, splits, table);
  if (failed(emitted))
    return failure();
  unit.finish(llvm::formatv("heads sdpa {0}/{1}x{2} rows 1", shape.heads,
                            shape.kvHeads, shape.headDim)
                  .str(),
              {shape.blocks(), shape.kvHeads, shape.splits});
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

/// The shape with the tile of the config, [lanes of a key, keys at once,
/// queries].
FailureOr<SdpaShape> rowShape(RegionContext &context, graph::SdpaOp sdpa,
                              const SdpaViews &views, int64_t subgroup) {
  SdpaShape shape = sdpaSizes(context, sdpa, views.key);
  ArrayRef<int64_t> tile = context.getConfig().getTile();
  int64_t queries = tile.size() == 3 ? tile[2] : 0;
  int64_t bits =
      views.key.stateType ? views.key.stateType.getElementTypeBitWidth() : 0;
  bool isPlain = views.preparesHeads && bits >= 16 && !views.bias &&
                 !views.relative && !views.ranges && shape.rows == 1;
  if (!isPlain || queries < 1 || shape.group() % queries != 0 || tile[0] < 1 ||
      tile[1] < 1 || subgroup == 0 || subgroup % tile[0] != 0 ||
      !llvm::isPowerOf2_64(static_cast<uint64_t>(tile[0])) ||
      shape.headDim * bits % (128 * tile[0]) != 0)
    return context.getRegion().emitOpError(
        "of kind sdpa_row takes one row that it prepares on a cache of floats, "
        "tile = [lanes of a key, keys at once, queries], lanes a power of two "
        "that divides the loads of a key and the subgroup, queries those of a "
        "KV head or a part, and a workgroup of whole subgroups whose size the "
        "config depends on");
  shape.queries = queries;
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
    splits = {context.workspace(shape->partialBytes()),
              context.getEntry().counterSlice(
                  context.getLoc(), shape->kvHeads * shape->blocks())};
  return SdpaRowKernel(context, sdpa, *shape, *views, subgroup, *angles)
      .emit(*result.floats, splits);
}

} // namespace llmc::codegen
