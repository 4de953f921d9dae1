// SPDX-License-Identifier: Apache-2.0
//
// What happens to heads between a linear and attention, in one dispatch: slices
// of the linear's rows become queries, keys and values; [rms_norm over the
// head], [rotary], and keys and values go into their caches.
//
// Each result of the region is a part with its own workgroups, so that a
// workgroup's invocations agree on what to do. An invocation holds two vectors
// of a head: the halves of its rotation pairs, or two neighbours that nothing
// turns.

#include "codegen/Lowering/ActivationRows.h"
#include "codegen/Lowering/QuantizedStore.h"
#include "codegen/Lowering/Reduction.h"
#include "codegen/Lowering/RegionLowering.h"
#include "codegen/Lowering/RotaryAngles.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

/// One result of the region, and what it is made of. `norm`, `rotary` and
/// `append` may be null.
struct Part {
  View source;
  int64_t heads, headDim;
  graph::RmsNormOp norm;
  graph::RotaryOp rotary;
  graph::KvAppendOp append;
  /// Where the heads go: rows of a result, or a cache.
  View target;

  int64_t rotaryDim() {
    return rotary ? static_cast<int64_t>(rotary.getRotaryDim()) : 0;
  }
  bool turnsHalves() {
    return rotary && rotary.getPairs() == graph::RotaryPairs::Half;
  }
  /// Whether the heads go into a cache of codes.
  bool isCachedAsCodes() {
    return target.stateType && target.stateType.getElementType().isInteger(8);
  }
};

/// How the heads of a part are dealt to invocations.
struct HeadTile {
  /// Elements of a vector; vectors of a head; invocations for it; heads that a
  /// workgroup holds.
  int64_t width, vectors, lanes, headsPerGroup;
};

/// Two vectors of a head, and what belongs to them.
using VectorPair = std::pair<Value, Value>;

/// Workgroup memory of the parts; what none of them needs is null.
struct HeadMemory {
  /// One f32 per invocation: of a norm, and of an i8 cache.
  Value squares, magnitudes;
  /// The codes of each vector of two as the low half of an i32.
  Value codes;
};

/// Emits one part of the kernel.
class PartEmitter {
public:
  PartEmitter(KernelUnit &unit, Part &part, const HeadTile &tile,
              const HeadMemory &memory)
      : unit(unit), b(unit.builder()), part(part), tile(tile), memory(memory) {}

  /// `group` is the workgroup's number within the part.
  LogicalResult emit(Value group);

private:
  void emitPlace(Value group);
  VectorPair loadSource();
  FailureOr<VectorPair> emitNorm(graph::RmsNormOp norm, VectorPair x);
  FailureOr<VectorPair> emitRotary(graph::RotaryOp rotary, VectorPair x);
  FailureOr<Value> emitPosition(graph::RotaryOp rotary);
  FailureOr<FrequencyValues> emitFrequency(graph::RotaryOp rotary);
  LogicalResult storeTarget(VectorPair x);
  void storeInCache(Value position, VectorPair x);
  void storeCodes(Value position, VectorPair x);
  Value isWritten(Value place);
  Value largestMagnitude(Value value);
  Value codesOf(Value value, Value inverse);
  void storeBoth(Value firstOfHead, VectorPair x,
                 llvm::function_ref<void(Value numbers, Value index)> store);
  void storeNumbers(Value firstOfHead, VectorPair x);

  Type vectorOf(Type element) {
    return tile.width == 1 ? element : VectorType::get(tile.width, element);
  }
  Value splat(Value scalar) {
    return tile.width == 1 ? scalar : b.splat(scalar, tile.width);
  }
  Value sum(Value value) {
    return tile.width == 1 ? value : b.sumOfLanes(value);
  }
  VectorPair deinterleave(VectorPair x);
  VectorPair interleave(VectorPair x);
  Value shuffle(VectorPair x, ArrayRef<int64_t> mask) {
    return mlir::vector::ShuffleOp::create(b, x.first, x.second, mask);
  }

  KernelUnit &unit;
  KernelBuilder &b;
  Part &part;
  HeadTile tile;
  HeadMemory memory;

  Value row, head, lane;
  /// First lane of the invocation's head in the workgroup.
  Value firstLane;
  /// Whether the head exists, and whether the second vector does (null:
  /// always).
  Value isActive, hasSecond;
  /// Numbers of the two vectors in the head; the second is 0 when it does not
  /// exist.
  Value first, second;
};

/// Who the invocation is. Those without a head of their own follow the last
/// one, so that all reach the barriers.
void PartEmitter::emitPlace(Value group) {
  Value thread = b.localId();
  Value slot = b.div(thread, tile.lanes);
  lane = b.rem(thread, tile.lanes);
  row = b.groupId(gpu::Dimension::y);
  Value number = b.add(b.mul(group, tile.headsPerGroup), slot);
  isActive = b.logicalAnd(b.less(slot, b.index(tile.headsPerGroup)),
                          b.less(number, b.index(part.heads)));
  head = b.min(number, b.index(part.heads - 1));
  firstLane = b.mul(b.min(slot, b.index(tile.headsPerGroup - 1)), tile.lanes);

  Value neighbour = b.mul(lane, 2);
  first = neighbour;
  second = b.add(neighbour, 1);
  if (part.turnsHalves()) {
    int64_t rotaryLanes = part.rotaryDim() / (2 * tile.width);
    Value turns = b.less(lane, b.index(rotaryLanes));
    first = b.select(turns, lane, neighbour);
    second = b.select(turns, b.add(lane, rotaryLanes), second);
  }
  if (tile.vectors % 2 == 0)
    return;
  hasSecond = b.less(second, b.index(tile.vectors));
  second = b.select(hasSecond, second, b.index(0));
}

VectorPair PartEmitter::loadSource() {
  ActivationRows rows(unit, part.source, program::Access::Read, tile.width);
  Value base = b.add(b.mul(row, part.source.rowStride / tile.width),
                     part.source.offset / tile.width);
  base = b.add(base, b.mul(head, tile.vectors));
  return {rows.load(b.add(base, first)), rows.load(b.add(base, second))};
}

FailureOr<VectorPair> PartEmitter::emitNorm(graph::RmsNormOp norm,
                                            VectorPair x) {
  FailureOr<Value> gain =
      unit.bindVector(norm.getGain(), vectorOf(b.getF32Type()));
  if (failed(gain))
    return failure();
  Value zero = b.constant(x.first.getType(), 0.0);
  Value counted = hasSecond ? b.select(hasSecond, x.second, zero) : x.second;
  b.store(sum(b.fma(counted, counted, b.mul(x.first, x.first))), memory.squares,
          b.localId());
  b.barrier();
  Value squares = sumInOrder(b, memory.squares, firstLane, tile.lanes);
  Value mean = b.mul(squares, b.f32(1.0 / static_cast<double>(part.headDim)));
  Value inverse = splat(
      b.div(b.f32(1.0),
            b.sqrt(b.add(mean, b.f32(norm.getEpsilon().convertToFloat())))));
  return VectorPair{b.mul(b.mul(x.first, inverse), b.load(*gain, first)),
                    b.mul(b.mul(x.second, inverse), b.load(*gain, second))};
}

/// (x0 x1 x2 x3), (x4 x5 x6 x7) to (x0 x2 x4 x6), (x1 x3 x5 x7).
VectorPair PartEmitter::deinterleave(VectorPair x) {
  if (tile.width == 1)
    return x;
  SmallVector<int64_t> even, odd;
  for (int64_t i = 0; i < tile.width; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  return {shuffle(x, even), shuffle(x, odd)};
}

VectorPair PartEmitter::interleave(VectorPair x) {
  if (tile.width == 1)
    return x;
  SmallVector<int64_t> all;
  for (int64_t i = 0; i < tile.width; ++i)
    all.append({i, tile.width + i});
  return {shuffle(x, ArrayRef(all).take_front(tile.width)),
          shuffle(x, ArrayRef(all).drop_front(tile.width))};
}

/// The row's place in its text, as i32.
FailureOr<Value> PartEmitter::emitPosition(graph::RotaryOp rotary) {
  RegionContext &context = unit.getContext();
  if (!rotary.getPositions()) {
    FailureOr<StepWord> word = context.word(rotary.getPosition());
    if (failed(word))
      return failure();
    return b.add(unit.stepWord(*word), b.toI32(row));
  }
  FailureOr<View> positions = context.view(rotary.getPositions());
  if (failed(positions))
    return failure();
  Value memref =
      unit.bind(positions->slice, b.getI32Type(), program::Access::Read);
  return b.load(memref,
                b.add(b.mul(row, positions->rowStride), positions->offset));
}

/// The frequencies of the lane's pairs: a table in the code, since neither an
/// array indexed at run time (it would go to scratch memory) nor a power
/// computed in f32 (it would be off by 1e-3 at position 30000) will do.
FailureOr<FrequencyValues> PartEmitter::emitFrequency(graph::RotaryOp rotary) {
  auto type = vectorOf(b.getI32Type());
  auto literal = [&](ArrayRef<int32_t> values) -> Value {
    if (tile.width == 1)
      return b.i32(values.front());
    return mlir::arith::ConstantOp::create(
        b, mlir::DenseElementsAttr::get(cast<VectorType>(type), values));
  };
  double base = rotary.getBase().convertToFloat(),
         scale = rotary.getPositionScale().convertToFloat();
  FrequencyValues chosen = {};
  for (int64_t number = 0; number < part.rotaryDim() / (2 * tile.width);
       ++number) {
    SmallVector<int32_t> high, low;
    for (int64_t i = 0; i < tile.width; ++i) {
      TurnFrequency frequency =
          turnFrequency(base, part.rotaryDim(), scale, number * tile.width + i);
      high.push_back(static_cast<int32_t>(frequency.high));
      low.push_back(static_cast<int32_t>(frequency.low));
    }
    FrequencyValues entry = {literal(high), literal(low)};
    if (number == 0) {
      chosen = entry;
      continue;
    }
    Value isMine = b.equal(lane, b.index(number));
    chosen = {b.select(isMine, entry.high, chosen.high),
              b.select(isMine, entry.low, chosen.low)};
  }
  if (!rotary.getFactors())
    return chosen;
  FailureOr<Value> factors =
      unit.bindVector(rotary.getFactors(), vectorOf(b.getF32Type()));
  if (failed(factors))
    return failure();
  Value last = b.index(part.rotaryDim() / (2 * tile.width) - 1);
  return divideFrequency(b, chosen, b.load(*factors, b.min(lane, last)));
}

FailureOr<VectorPair> PartEmitter::emitRotary(graph::RotaryOp rotary,
                                              VectorPair x) {
  FailureOr<Value> position = emitPosition(rotary);
  FailureOr<FrequencyValues> frequency = emitFrequency(rotary);
  if (failed(position) || failed(frequency))
    return failure();
  auto [sine, cosine] = sineCosine(b, splat(*position), *frequency);
  VectorPair pairs = part.turnsHalves() ? x : deinterleave(x);
  VectorPair turned = {
      b.sub(b.mul(pairs.first, cosine), b.mul(pairs.second, sine)),
      b.add(b.mul(pairs.second, cosine), b.mul(pairs.first, sine))};
  if (!part.turnsHalves())
    turned = interleave(turned);
  Value turns = b.less(lane, b.index(part.rotaryDim() / (2 * tile.width)));
  return VectorPair{b.select(turns, turned.first, x.first),
                    b.select(turns, turned.second, x.second)};
}

/// Calls `store` with each vector that there is, and its index.
void PartEmitter::storeBoth(
    Value firstOfHead, VectorPair x,
    llvm::function_ref<void(Value numbers, Value index)> store) {
  store(x.first, b.add(firstOfHead, first));
  auto storeSecond = [&] { store(x.second, b.add(firstOfHead, second)); };
  if (hasSecond)
    b.ifThen(hasSecond, storeSecond);
  else
    storeSecond();
}

/// Rows beyond the step's, and positions beyond the cache, are not written.
Value PartEmitter::isWritten(Value place) {
  int64_t context = part.target.stateType.getDimSize(1);
  Value isValid = b.logicalAnd(b.less(row, unit.numRows(part.source.type)),
                               b.less(place, b.index(context)));
  return b.logicalAnd(isActive, isValid);
}

/// As the target keeps numbers.
void PartEmitter::storeNumbers(Value firstOfHead, VectorPair x) {
  ActivationRows rows(unit, part.target, program::Access::Write, tile.width);
  storeBoth(firstOfHead, x,
            [&](Value numbers, Value index) { rows.store(numbers, index); });
}

/// Row by row at `position` (an index) + row.
void PartEmitter::storeInCache(Value position, VectorPair x) {
  int64_t context = part.target.stateType.getDimSize(1);
  Value place = b.add(position, row);
  b.ifThen(isWritten(place), [&] {
    Value firstOfHead = b.mul(b.add(b.mul(head, context), place), tile.vectors);
    storeNumbers(firstOfHead, x);
  });
}

Value PartEmitter::largestMagnitude(Value value) {
  Value magnitudes = b.abs(value), largest = b.extract(magnitudes, 0);
  for (int64_t i = 1; i < tile.width; ++i)
    largest = b.max(largest, b.extract(magnitudes, i));
  return largest;
}

/// The codes of a vector as the lowest bytes of an i32.
Value PartEmitter::codesOf(Value value, Value inverse) {
  return packBytes(b, b.toSignedI32(b.roundEven(b.mul(value, splat(inverse)))));
}

/// Likewise as codes with one scale for the row of the head, which the head's
/// invocations find together. Every invocation of the workgroup arrives here.
void PartEmitter::storeCodes(Value position, VectorPair x) {
  int64_t context = part.target.stateType.getDimSize(1);
  b.store(b.max(largestMagnitude(x.first), largestMagnitude(x.second)),
          memory.magnitudes, b.localId());
  b.barrier();
  CodeScale scale =
      codeScale(b, maxInOrder(b, memory.magnitudes, firstLane, tile.lanes));
  VectorPair codes = {codesOf(x.first, scale.inverse),
                      codesOf(x.second, scale.inverse)};
  if (tile.width == 2) {
    // A word has the codes of two vectors, which may be those of two lanes.
    Value firstVector = b.mul(firstLane, 2);
    b.ifThen(isActive, [&] {
      b.store(codes.first, memory.codes, b.add(firstVector, first));
      b.store(codes.second, memory.codes, b.add(firstVector, second));
    });
    b.barrier();
    Value low = b.add(firstVector, b.mul(lane, 2));
    codes.first = b.bitOr(b.load(memory.codes, low),
                          b.shiftLeft(b.load(memory.codes, b.add(low, 1)), 16));
  }
  Value place = b.add(position, row);
  b.ifThen(isWritten(place), [&] {
    Value words =
        unit.bind(part.target.slice, b.getI32Type(), program::Access::Write);
    Value rowOfHead = b.add(b.mul(head, context), place);
    Value firstWord = b.mul(rowOfHead, part.headDim / 4);
    if (tile.width == 2)
      b.store(codes.first, words, b.add(firstWord, lane));
    else
      storeBoth(firstWord, codes,
                [&](Value word, Value index) { b.store(word, words, index); });
    b.ifThen(b.equal(lane, b.index(0)), [&] {
      Value firstScale = b.index(part.heads * context * part.headDim / 4);
      b.store(
          scale.scale,
          unit.bind(part.target.slice, b.getF32Type(), program::Access::Write),
          b.add(firstScale, rowOfHead));
    });
  });
}

LogicalResult PartEmitter::storeTarget(VectorPair x) {
  if (part.append) {
    FailureOr<StepWord> word =
        unit.getContext().word(part.append.getPosition());
    if (failed(word))
      return failure();
    Value position = b.toIndex(unit.stepWord(*word));
    if (part.isCachedAsCodes())
      storeCodes(position, x);
    else
      storeInCache(position, x);
    return success();
  }
  b.ifThen(isActive, [&] {
    Value base = b.add(b.mul(row, part.target.rowStride / tile.width),
                       part.target.offset / tile.width);
    storeNumbers(b.add(base, b.mul(head, tile.vectors)), x);
  });
  return success();
}

LogicalResult PartEmitter::emit(Value group) {
  emitPlace(group);
  VectorPair x = loadSource();
  if (part.norm) {
    FailureOr<VectorPair> normed = emitNorm(part.norm, x);
    if (failed(normed))
      return failure();
    x = *normed;
  }
  if (part.rotary) {
    FailureOr<VectorPair> turned = emitRotary(part.rotary, x);
    if (failed(turned))
      return failure();
    x = *turned;
  }
  return storeTarget(x);
}

//===----------------------------------------------------------------------===//
// Reading the region
//===----------------------------------------------------------------------===//

/// Reshapes between the ops of a part keep rows as they are.
Value skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

template <typename OpT>
OpT takeOp(Value &value) {
  auto op = skipReshapes(value).template getDefiningOp<OpT>();
  if (op)
    value = op.getInput();
  return op;
}

/// The part that result `number` of the region is.
FailureOr<Part> readPart(RegionContext &context, unsigned number) {
  graph::RegionOp region = context.getRegion();
  Value value = region.getBody().front().getTerminator()->getOperand(number);
  if (auto convert = value.getDefiningOp<graph::ConvertOp>())
    value = convert.getInput();
  Part part = {};
  part.append = takeOp<graph::KvAppendOp>(value);
  RankedTensorType type = cast<RankedTensorType>(value.getType());
  part.rotary = takeOp<graph::RotaryOp>(value);
  part.norm = takeOp<graph::RmsNormOp>(value);
  for (Operation *op : {part.append.getOperation(), part.rotary.getOperation(),
                        part.norm.getOperation()})
    if (op)
      type = cast<RankedTensorType>(op->getOperand(0).getType());
  if (type.getRank() != 3)
    return region.emitOpError("of kind heads yields ")
           << type << ", which has no heads: [rows, heads, head dimension]";
  part.heads = type.getDimSize(1);
  part.headDim = type.getDimSize(2);
  FailureOr<View> source = context.view(value);
  if (failed(source))
    return failure();
  part.source = *source;
  part.target = context.resultView(number);
  return part;
}

/// The widest vectors in which a part's heads, halves and places can be
/// counted.
int64_t widthOf(Part &part) {
  auto fits = [&](int64_t width) {
    int64_t half = part.rotaryDim() / 2;
    return part.headDim % width == 0 && half % width == 0 &&
           part.source.offset % width == 0 &&
           (part.target.stateType || part.target.offset % width == 0);
  };
  return fits(4) ? 4 : fits(2) ? 2 : 1;
}

LogicalResult checkPart(RegionContext &context, Part &part,
                        const HeadTile &tile) {
  graph::RegionOp region = context.getRegion();
  if (part.rotaryDim() % 2 != 0 || part.rotaryDim() > part.headDim)
    return region.emitOpError("of kind heads turns ")
           << part.rotaryDim() << " elements of heads of " << part.headDim
           << "; allowed are even numbers up to that";
  // Smaller numbers than 32 bits are stored by twos and fours.
  bool isPacked =
      part.target.isHalf || part.source.isHalf || part.isCachedAsCodes();
  if (isPacked && tile.width == 1)
    return region.emitOpError("of kind heads has heads of ")
           << part.headDim << " elements, " << part.rotaryDim()
           << " of them turned, in f16 or i8; both must be even "
           << "and the latter a multiple of four";
  if (part.append && part.target.stateType.getDimSize(1) > kMaxRotaryPosition)
    return region.emitOpError("of kind heads has a context of ")
           << part.target.stateType.getDimSize(1) << "; at most "
           << kMaxRotaryPosition << " are possible";
  if (tile.headsPerGroup == 0)
    return region.emitOpError("of kind heads needs ")
           << tile.lanes << " invocations for a head of " << part.headDim
           << ", more than its workgroup has";
  return success();
}

} // namespace

LogicalResult lowerHeads(RegionContext &context) {
  graph::RegionOp region = context.getRegion();
  SmallVector<Part> parts;
  int64_t width = context.getConfig().getTile().front();
  if (width != 1 && width != 2 && width != 4)
    return region.emitOpError("of kind heads needs tile = [elements of a "
                              "vector: 1, 2 or 4]; found ")
           << width;
  for (unsigned number = 0; number < region.getNumResults(); ++number) {
    FailureOr<Part> part = readPart(context, number);
    if (failed(part))
      return failure();
    width = std::min(width, widthOf(*part));
    parts.push_back(*part);
  }

  int64_t threads = context.getConfig().getWorkgroup().front();
  KernelUnit unit(context, context.getConfig().getWorkgroup());
  KernelBuilder &b = unit.builder();
  HeadMemory memory;
  if (llvm::any_of(parts, [](Part &part) { return part.norm != nullptr; }))
    memory.squares = b.workgroupMemory(threads, b.getF32Type());
  if (llvm::any_of(parts, [](Part &part) { return part.isCachedAsCodes(); })) {
    memory.magnitudes = b.workgroupMemory(threads, b.getF32Type());
    if (width == 2)
      memory.codes = b.workgroupMemory(2 * threads, b.getI32Type());
  }
  Value group = b.groupId(gpu::Dimension::x);
  int64_t firstGroup = 0, rows = 0, heads = 0;
  for (Part &part : parts) {
    HeadTile tile = {width, part.headDim / width, 0, 0};
    tile.lanes = (tile.vectors + 1) / 2;
    tile.headsPerGroup = threads / tile.lanes;
    if (failed(checkPart(context, part, tile)))
      return failure();
    int64_t numGroups = llvm::divideCeil(part.heads, tile.headsPerGroup);
    Value number = b.sub(group, b.index(firstGroup));
    LogicalResult ok = success();
    // Groups before the part's first wrap to huge numbers.
    b.ifThen(b.less(number, b.index(numGroups)),
             [&] { ok = PartEmitter(unit, part, tile, memory).emit(number); });
    if (failed(ok))
      return failure();
    firstGroup += numGroups;
    rows = std::max(rows, context.rowsOf(part.source.type));
    heads += part.heads;
  }
  unit.finish(llvm::formatv("heads {0}x{1} rows {2}", heads,
                            parts.front().headDim, rows)
                  .str(),
              {firstGroup, rows, 1});
  return success();
}

} // namespace llmc::codegen
