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
#include "codegen/Lowering/HeadTurn.h"
#include "codegen/Lowering/QuantizedStore.h"
#include "codegen/Lowering/Reduction.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

/// One result of the region, and what it is made of.
struct Part {
  HeadChain chain;
  View source;
  int64_t heads, headDim;
  /// Where the heads go: rows of a result, or a cache.
  View target;

  /// Whether the heads go into a cache of codes.
  bool isCachedAsCodes() {
    return target.stateType && target.stateType.getElementType().isInteger(8);
  }
};

/// How the heads of a part are dealt to invocations: `headsPerGroup` to a
/// workgroup.
struct HeadTile : HeadVectors {
  int64_t headsPerGroup;
};

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

  KernelUnit &unit;
  KernelBuilder &b;
  Part &part;
  HeadTile tile;
  HeadMemory memory;

  Value row, head;
  HeadLane at;
  /// First lane of the invocation's head in the workgroup.
  Value firstLane;
  /// Whether the head exists.
  Value isActive;
};

/// Who the invocation is. Those without a head of their own follow the last
/// one, so that all reach the barriers.
void PartEmitter::emitPlace(Value group) {
  Value thread = b.localId();
  Value slot = b.div(thread, tile.lanes());
  row = b.groupId(gpu::Dimension::y);
  Value number = b.add(b.mul(group, tile.headsPerGroup), slot);
  isActive = b.logicalAnd(b.less(slot, b.index(tile.headsPerGroup)),
                          b.less(number, b.index(part.heads)));
  head = b.min(number, b.index(part.heads - 1));
  firstLane = b.mul(b.min(slot, b.index(tile.headsPerGroup - 1)), tile.lanes());
  at = emitHeadLane(b, part.chain, tile, b.rem(thread, tile.lanes()));
}

VectorPair PartEmitter::loadSource() {
  ActivationRows rows(unit, part.source, program::Access::Read, tile.width);
  Value base = b.add(b.mul(row, part.source.rowStride / tile.width),
                     part.source.offset / tile.width);
  base = b.add(base, b.mul(head, tile.vectors));
  return {rows.load(b.add(base, at.first)), rows.load(b.add(base, at.second))};
}

FailureOr<VectorPair> PartEmitter::emitNorm(graph::RmsNormOp norm,
                                            VectorPair x) {
  FailureOr<Value> gain =
      unit.bindVector(norm.getGain(), vectorOf(b.getF32Type()));
  if (failed(gain))
    return failure();
  Value inverse = splat(
      emitInverseNorm(b, norm, tile, at, x, memory.squares, 0, firstLane));
  return VectorPair{b.mul(b.mul(x.first, inverse), b.load(*gain, at.first)),
                    b.mul(b.mul(x.second, inverse), b.load(*gain, at.second))};
}

/// Calls `store` with each vector that there is, and its index.
void PartEmitter::storeBoth(
    Value firstOfHead, VectorPair x,
    llvm::function_ref<void(Value numbers, Value index)> store) {
  store(x.first, b.add(firstOfHead, at.first));
  auto storeSecond = [&] { store(x.second, b.add(firstOfHead, at.second)); };
  if (at.hasSecond)
    b.ifThen(at.hasSecond, storeSecond);
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
      codeScale(b, maxInOrder(b, memory.magnitudes, firstLane, tile.lanes()));
  VectorPair codes = {codesOf(x.first, scale.inverse),
                      codesOf(x.second, scale.inverse)};
  if (tile.width == 2) {
    // A word has the codes of two vectors, which may be those of two lanes.
    Value firstVector = b.mul(firstLane, 2);
    b.ifThen(isActive, [&] {
      b.store(codes.first, memory.codes, b.add(firstVector, at.first));
      b.store(codes.second, memory.codes, b.add(firstVector, at.second));
    });
    b.barrier();
    Value low = b.add(firstVector, b.mul(at.lane, 2));
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
      b.store(codes.first, words, b.add(firstWord, at.lane));
    else
      storeBoth(firstWord, codes,
                [&](Value word, Value index) { b.store(word, words, index); });
    b.ifThen(b.equal(at.lane, b.index(0)), [&] {
      Value firstScale = b.index(part.heads * context * part.headDim / 4);
      b.store(
          scale.scale,
          unit.bind(part.target.slice, b.getF32Type(), program::Access::Write),
          b.add(firstScale, rowOfHead));
    });
  });
}

LogicalResult PartEmitter::storeTarget(VectorPair x) {
  if (part.chain.append) {
    FailureOr<StepWord> word =
        unit.getContext().word(part.chain.append.getPosition());
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
  if (part.chain.norm) {
    FailureOr<VectorPair> normed = emitNorm(part.chain.norm, x);
    if (failed(normed))
      return failure();
    x = *normed;
  }
  if (part.chain.rotary) {
    HeadTurn turn(unit, part.chain.rotary, tile, at, row);
    FailureOr<VectorPair> turned = turn.turn(x);
    if (failed(turned))
      return failure();
    x = *turned;
  }
  return storeTarget(x);
}

//===----------------------------------------------------------------------===//
// Reading the region
//===----------------------------------------------------------------------===//

/// The part that result `number` of the region is.
FailureOr<Part> readPart(RegionContext &context, unsigned number) {
  graph::RegionOp region = context.getRegion();
  Value value = region.getBody().front().getTerminator()->getOperand(number);
  if (auto convert = value.getDefiningOp<graph::ConvertOp>())
    value = convert.getInput();
  Part part = {};
  part.chain = readHeadChain(value);
  RankedTensorType type = part.chain.type;
  if (type.getRank() != 3)
    return region.emitOpError("of kind heads yields ")
           << type << ", which has no heads: [rows, heads, head dimension]";
  part.heads = type.getDimSize(1);
  part.headDim = type.getDimSize(2);
  FailureOr<View> source = context.view(part.chain.source);
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
    int64_t half = part.chain.rotaryDim() / 2;
    return part.headDim % width == 0 && half % width == 0 &&
           part.source.offset % width == 0 &&
           (part.target.stateType || part.target.offset % width == 0);
  };
  return fits(4) ? 4 : fits(2) ? 2 : 1;
}

LogicalResult checkPart(RegionContext &context, Part &part,
                        const HeadTile &tile) {
  graph::RegionOp region = context.getRegion();
  if (part.chain.rotaryDim() % 2 != 0 || part.chain.rotaryDim() > part.headDim)
    return region.emitOpError("of kind heads turns ")
           << part.chain.rotaryDim() << " elements of heads of " << part.headDim
           << "; allowed are even numbers up to that";
  // Smaller numbers than 32 bits are stored by twos and fours.
  bool isPacked =
      part.target.isHalf || part.source.isHalf || part.isCachedAsCodes();
  if (isPacked && tile.width == 1)
    return region.emitOpError("of kind heads has heads of ")
           << part.headDim << " elements, " << part.chain.rotaryDim()
           << " of them turned, in f16 or i8; both must be even "
           << "and the latter a multiple of four";
  if (part.chain.append &&
      part.target.stateType.getDimSize(1) > kMaxRotaryPosition)
    return region.emitOpError("of kind heads has a context of ")
           << part.target.stateType.getDimSize(1) << "; at most "
           << kMaxRotaryPosition << " are possible";
  if (tile.headsPerGroup == 0)
    return region.emitOpError("of kind heads needs ")
           << tile.lanes() << " invocations for a head of " << part.headDim
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
  if (llvm::any_of(parts,
                   [](Part &part) { return part.chain.norm != nullptr; }))
    memory.squares = b.workgroupMemory(threads, b.getF32Type());
  if (llvm::any_of(parts, [](Part &part) { return part.isCachedAsCodes(); })) {
    memory.magnitudes = b.workgroupMemory(threads, b.getF32Type());
    if (width == 2)
      memory.codes = b.workgroupMemory(2 * threads, b.getI32Type());
  }
  Value group = b.groupId(gpu::Dimension::x);
  int64_t firstGroup = 0, rows = 0, heads = 0;
  for (Part &part : parts) {
    HeadTile tile = {{width, part.headDim / width}, 0};
    tile.headsPerGroup = threads / tile.lanes();
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
