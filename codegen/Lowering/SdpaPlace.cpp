// SPDX-License-Identifier: Apache-2.0
//
// From the numbers of workgroup and invocation to queries and keys.

#include "codegen/Lowering/SdpaPlace.h"

#include "codegen/Lowering/SdpaHeads.h"

namespace llmc::codegen {

graph::SdpaOp findSdpa(RegionContext &context, SdpaResult &result) {
  Operation *yield = context.getRegion().getBody().front().getTerminator();
  graph::SdpaOp root;
  for (OpOperand &operand : yield->getOpOperands()) {
    Value value = operand.get();
    if (value.getDefiningOp<graph::KvAppendOp>())
      continue;
    auto quantize = value.getDefiningOp<graph::QuantizeActivationsOp>();
    if (quantize)
      value = quantize.getInput();
    else if (auto convert = value.getDefiningOp<graph::ConvertOp>())
      value = convert.getInput();
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

Value softCap(KernelBuilder &b, Value scores, double cap) {
  // tanh is 1 in f32 from there on; some devices overflow for larger arguments.
  constexpr double kTanhBound = 10.0;
  auto same = [&](double number) {
    return b.constant(scores.getType(), number);
  };
  Value bounded = b.max(b.min(b.mul(scores, same(1 / cap)), same(kTanhBound)),
                        same(-kTanhBound));
  return b.mul(b.tanh(bounded), same(cap));
}

/// The table of biases by distance, which must reach from the first to the last
/// of the rows.
static FailureOr<WeightView> relativeTable(RegionContext &context,
                                           graph::SdpaOp sdpa) {
  auto dequantize = sdpa.getRelative().getDefiningOp<graph::DequantizeOp>();
  if (!dequantize)
    return sdpa.emitOpError("has biases by distance that are no weight");
  auto query = cast<RankedTensorType>(sdpa.getQuery().getType());
  auto table = cast<RankedTensorType>(sdpa.getRelative().getType());
  int64_t most = (table.getDimSize(0) / query.getDimSize(1) + 1) / 2;
  if (context.rowsOf(query) > most)
    return sdpa.emitOpError("has ")
           << context.rowsOf(query) << " rows; its biases by distance serve "
           << most;
  return context.weight(dequantize.getInput());
}

FailureOr<SdpaViews> sdpaViews(RegionContext &context, graph::SdpaOp sdpa) {
  bool prepares = preparesHeads(sdpa);
  View prepared;
  prepared.type = cast<RankedTensorType>(sdpa.getQuery().getType());
  FailureOr<View> query = prepares ? FailureOr<View>(prepared)
                                   : context.view(sdpa.getQuery()),
                  key = context.view(sdpa.getKey()),
                  value = context.view(sdpa.getValue());
  if (failed(query) || failed(key) || failed(value))
    return failure();
  SdpaViews views = {*query,  *key, *value, {}, {}, {}, StepWord::Position,
                     prepares};
  if (sdpa.getPosition()) {
    FailureOr<StepWord> position = context.word(sdpa.getPosition());
    if (failed(position))
      return failure();
    views.position = *position;
  } else if (key->stateType) {
    return sdpa.emitOpError("reads keys of a cache and has no position, which "
                            "says how many there are");
  }
  auto addView = [&](Value operand, std::optional<View> &view) {
    FailureOr<View> found = context.view(operand);
    if (succeeded(found))
      view = *found;
    return LogicalResult(found);
  };
  if (sdpa.getBias() && failed(addView(sdpa.getBias(), views.bias)))
    return failure();
  if (sdpa.getRanges() && failed(addView(sdpa.getRanges(), views.ranges)))
    return failure();
  if (sdpa.getRelative()) {
    FailureOr<WeightView> table = relativeTable(context, sdpa);
    if (failed(table))
      return failure();
    views.relative = *table;
  }
  return views;
}

void SdpaPlace::emit() {
  lane = b.rem(b.localId(), shape.lanes);
  slot = b.div(b.localId(), shape.lanes);
  kvHead = b.groupId(gpu::Dimension::y);
  numKeys = unit.numRows(views.key.type);
  if (views.key.stateType)
    numKeys = b.add(b.toIndex(unit.stepWord(views.position)),
                    unit.numRows(views.query.type));
  numKeys = b.min(numKeys, b.index(shape.capacity));
  for (int64_t number = 0; number < shape.perInvocation; ++number)
    emitQuery(number);
  Value seen = queries.front().end;
  for (const SdpaQuery &query : ArrayRef(queries).drop_front())
    if (query.end != seen)
      seen = b.max(seen, query.end);
  lastKey = b.sub(b.max(seen, b.index(1)), b.index(1));
  emitBlocks();
}

void SdpaPlace::emitQuery(int64_t number) {
  SdpaQuery query = {};
  bool sharesRow = shape.group() % shape.perInvocation == 0;
  if (number != 0 && sharesRow) {
    // The next head of the same row.
    query = queries.front();
    query.head = b.add(query.head, number);
    query.quad = b.add(query.quad, number * shape.quads());
    if (query.bias && views.bias->type.getDimSize(1) != 1)
      query.bias = b.add(query.bias, number * views.bias->type.getDimSize(2));
    if (query.relative)
      query.relative = b.add(query.relative, number);
    queries.push_back(query);
    return;
  }
  SdpaGroup group = sdpaGroup(b, shape);
  SdpaRowAndHead place = sdpaRowAndHead(
      b, shape, group, b.add(b.mul(slot, shape.perInvocation), number));
  query.row = place.row;
  query.head = place.head;
  // The last workgroup may hold more queries than there are rows to read.
  Value readRow = b.min(query.row, b.index(shape.rows - 1));
  query.quad = views.preparesHeads
                   ? b.mul(b.sub(query.head, b.mul(kvHead, shape.group())),
                           shape.quads())
                   : b.add(b.mul(readRow, views.query.rowStride / 4),
                           b.add(b.mul(query.head, shape.quads()),
                                 views.query.offset / 4));
  if (views.bias) {
    query.bias =
        b.add(b.mul(readRow, views.bias->rowStride), views.bias->offset);
    if (views.bias->type.getDimSize(1) != 1)
      query.bias =
          b.add(query.bias, b.mul(query.head, views.bias->type.getDimSize(2)));
  }
  if (views.relative) {
    auto table = cast<RankedTensorType>(sdpa.getRelative().getType());
    int64_t span = (table.getDimSize(0) / shape.heads - 1) / 2;
    query.relative =
        b.add(b.mul(b.sub(b.index(span), readRow), shape.heads), query.head);
  }
  emitSeenKeys(query, readRow);
  queries.push_back(query);
}

void SdpaPlace::emitSeenKeys(SdpaQuery &query, Value readRow) {
  query.end = numKeys;
  if (sdpa.getCausal()) {
    Value behind =
        b.add(b.add(b.toIndex(unit.stepWord(views.position)), readRow), 1);
    query.end = b.min(behind, numKeys);
    if (auto window = static_cast<int64_t>(sdpa.getWindow()))
      query.begin = b.sub(b.max(behind, b.index(window)), b.index(window));
  }
  if (!views.ranges)
    return;
  // Rows beyond the step's follow its last one: theirs may be anything.
  Value last = b.sub(unit.numRows(views.query.type), b.index(1));
  Value range = b.add(b.mul(b.min(readRow, last), 2), views.ranges->offset);
  Value memref =
      unit.bind(views.ranges->slice, b.getI32Type(), program::Access::Read);
  Value first = b.toIndex(b.load(memref, range));
  query.begin = query.begin ? b.max(query.begin, first) : first;
  query.end = b.min(query.end, b.toIndex(b.load(memref, b.add(range, 1))));
}

/// The blocks that hold a key which a query of the workgroup sees.
void SdpaPlace::emitBlocks() {
  Value firstRow =
      b.div(b.mul(b.groupId(gpu::Dimension::x), shape.queries), shape.group());
  Value numRows = unit.numRows(views.query.type);
  end = numKeys;
  if (views.ranges) {
    meetRanges();
  } else if (sdpa.getCausal()) {
    Value start = b.toIndex(unit.stepWord(views.position));
    Value lastQuery = b.add(b.mul(b.groupId(gpu::Dimension::x), shape.queries),
                            shape.queries - 1);
    Value lastRow = b.div(lastQuery, shape.group());
    end = b.min(b.add(start, b.add(lastRow, 1)), numKeys);
    if (auto window = static_cast<int64_t>(sdpa.getWindow()))
      begin = b.sub(b.max(b.add(b.add(start, firstRow), 1), b.index(window)),
                    b.index(window));
  }
  if (begin)
    begin = b.mul(b.div(begin, shape.keys), shape.keys);
  end = b.select(b.less(firstRow, numRows), end, b.index(0));
}

/// The first and last key over all queries of the workgroup, through workgroup
/// memory.
void SdpaPlace::meetRanges() {
  Value begins = b.workgroupMemory(shape.queries, b.getI32Type()),
        ends = b.workgroupMemory(shape.queries, b.getI32Type());
  b.ifThen(b.equal(lane, b.index(0)), [&] {
    for (auto [number, query] : llvm::enumerate(queries)) {
      Value place =
          b.add(b.mul(slot, shape.perInvocation), static_cast<int64_t>(number));
      b.store(b.toI32(query.begin), begins, place);
      b.store(b.toI32(query.end), ends, place);
    }
  });
  b.barrier();
  auto widen = [&](Value place, ValueRange carried) -> SmallVector<Value> {
    Value first = b.toIndex(b.load(begins, place)),
          last = b.toIndex(b.load(ends, place));
    Value isEmpty = b.less(last, b.add(first, 1));
    return {b.select(isEmpty, carried[0], b.min(carried[0], first)),
            b.select(isEmpty, carried[1], b.max(carried[1], last))};
  };
  SmallVector<Value> both =
      b.forLoop(b.index(0), b.opaqueIndex(shape.queries), b.index(1),
                ValueRange{numKeys, b.index(0)}, widen);
  begin = both[0];
  end = both[1];
}

SdpaGroup sdpaGroup(KernelBuilder &b, const SdpaShape &shape) {
  return {shape.blocks() == 1 ? b.index(0) : b.groupId(gpu::Dimension::x),
          b.groupId(gpu::Dimension::y), b.groupId(gpu::Dimension::z)};
}

Value storeSdpaGroup(KernelBuilder &b, const SdpaShape &shape, Value isFirst) {
  Value memory = b.workgroupMemory(1, b.getI32Type());
  auto [block, kvHead, split] = sdpaGroup(b, shape);
  Value number = b.add(
      b.mul(b.add(b.mul(split, shape.kvHeads), kvHead), shape.blocks()), block);
  b.ifThen(isFirst, [&] { b.store(b.toI32(number), memory, b.index(0)); });
  return memory;
}

SdpaGroup loadSdpaGroup(KernelBuilder &b, const SdpaShape &shape,
                        Value memory) {
  Value number = b.toIndex(b.load(memory, b.index(0)));
  Value upper = b.div(number, shape.blocks());
  return {b.rem(number, shape.blocks()), b.rem(upper, shape.kvHeads),
          b.div(upper, shape.kvHeads)};
}

SdpaRowAndHead sdpaRowAndHead(KernelBuilder &b, const SdpaShape &shape,
                              const SdpaGroup &group, Value number) {
  Value query = b.add(b.mul(group.block, shape.queries), number),
        firstHead = b.mul(group.kvHead, shape.group());
  if (shape.hasOneRow())
    return {b.index(0), b.add(firstHead, query)};
  return {b.div(query, shape.group()),
          b.add(firstHead, b.rem(query, shape.group()))};
}

Value firstKeyOfSplit(KernelBuilder &b, const SdpaShape &shape, Value begin) {
  Value split = b.groupId(gpu::Dimension::z);
  if (!begin)
    return b.mul(split, shape.keys);
  if (shape.splits == 1)
    return begin;
  Value block = b.div(begin, shape.keys);
  Value ahead = b.sub(b.add(split, shape.splits), b.rem(block, shape.splits));
  return b.mul(b.add(block, b.rem(ahead, shape.splits)), shape.keys);
}

} // namespace llmc::codegen
