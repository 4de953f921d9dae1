// SPDX-License-Identifier: Apache-2.0
//
// Linears for one row in matrix units. A subgroup takes 32 rows of the weight
// (two tiles, eight quads), or 16 where that makes too few workgroups, and
// every n-th chunk of the columns: four groups of scales. Its lanes load units
// of codes as the layout has them, and these are the left matrix as soon as
// their bits are masked: a lane's quad, or half of it, is its rows, its unit
// its columns. The right matrix is the input (GemvMatrixInput.h), whose eight
// columns keep the four groups' sums apart, so that every lane scales the sums
// of one group of its rows, once for 128 or 64 columns. What the subgroups of a
// workgroup have is added up in workgroup memory in a fixed order.
//
// Weights are on their way before what needs no weights is done: the first
// chunk's while the input is prepared, the next one's while one is multiplied.
// Nothing of that is in a branch.

#include "codegen/Lowering/LowerGemvMatrix.h"

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/GemvMatrixInput.h"
#include "codegen/Lowering/Reduction.h"
#include "codegen/Lowering/SubgroupMatrix.h"

#include "llvm/Support/MathExtras.h"

namespace llmc::codegen {

namespace {

class GemvMatrixKernel {
public:
  GemvMatrixKernel(RegionContext &context, LinearRegion &parts)
      : context(context), parts(parts),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
        subgroupSize(context.getDevice().getSubgroupSize()),
        subgroups(context.getConfig().getWorkgroup()[0] / subgroupSize),
        numQuads(context.getConfig().getTile()[1] / 4),
        lanesPerQuad(kFragmentGroups / numQuads), laneRows(4 / lanesPerQuad),
        tileWorkgroups(context.getConfig().getTile()[3]) {}

  LogicalResult emit();

private:
  using Sums = SmallVector<Value>;

  /// What a lane loads of a chunk of one linear: its group's units, one for
  /// each step, their high bits and their scales.
  struct ChunkWeights {
    SmallVector<WeightDecoder::Unit> units;
    WeightDecoder::Group group;
  };

  VectorType sumType() { return VectorType::get(laneRows, b.getF32Type()); }
  Sums zeros() {
    return Sums(parts.linears.size(), b.constant(sumType(), 0.0));
  }
  void bindTiles(Value tiles);
  WeightDecoder::Place placeOf(WeightDecoder &decoder, Value number) {
    return decoder.placeOf(b.add(b.mul(number, kChunkGroups), fragmentLane));
  }
  ChunkWeights load(WeightDecoder &decoder, const WeightDecoder::Place &place);
  ChunkWeights loadChunk(WeightDecoder &decoder, Value number) {
    return load(decoder, placeOf(decoder, number));
  }
  SmallVector<Value> flatten(const ChunkWeights &weights) const;
  ChunkWeights unflatten(ValueRange values) const;
  Value addCodes(const ChunkInput &chunk, const ChunkWeights &weights);
  Value addChunk(WeightDecoder &decoder, const ChunkInput &chunk,
                 const ChunkWeights &weights, Value sum);
  void keepInput();
  Sums addInTurns(int64_t turns);
  Sums addInLoop();
  Sums addAllChunks();
  Value normFactor();
  Sums sumOfGroups(const Sums &sums);
  LogicalResult storeQuad(Value result, Value stores,
                          llvm::function_ref<Value(int64_t)> sumOfLinear,
                          llvm::function_ref<Value()> factorOfNorm);
  LogicalResult preloadOperands(Value isResult, Value result);
  LogicalResult emitTiles();
  LogicalResult emitTilesInTurn();
  void makePartials();
  void storePartial(Value sum, Value place);
  Value loadPartial(Value place);

  RegionContext &context;
  LinearRegion &parts;
  KernelUnit unit;
  KernelBuilder &b;
  int64_t subgroupSize, subgroups;
  /// Quads of the weight that a subgroup computes, lanes of one group of scales
  /// that share a quad, 1 or 2, and rows of it that each has.
  int64_t numQuads, lanesPerQuad, laneRows;
  int64_t tileWorkgroups;
  std::vector<WeightDecoder> decoders;
  std::optional<LinearInput> row;
  std::optional<GemvMatrixInput> input;
  /// Set where what follows the linears is loaded before them.
  std::optional<ElementwiseEmitter> epilogue;
  int64_t numChunks = 0;
  Value base, subgroup, lane, fragmentGroup, fragmentLane;
  /// The first quad of the tiles.
  Value firstQuad;
  /// Of each subgroup, in workgroup memory; whether sums are where x was, as
  /// vectors of four i32.
  Value partialSquares, partials;
  bool replacesInput = false;
};

/// Codes of columns 4 * half + odd and the second next of a unit, as f16 in the
/// halves of each row's word: subnormal numbers, which matrix units multiply
/// like others. They are codes divided by kCodeDivisor, of the unit's second
/// half sixteen times that.
Value pairsOfCodes(KernelBuilder &b, WeightFormat format,
                   const WeightDecoder::Unit &codes, int64_t half,
                   int64_t odd) {
  Value nibbles = b.bitAnd(b.shiftRight(codes.words, 8 * odd),
                           half == 0 ? 0x000f000f : 0x00f000f0);
  if (!codes.high)
    return nibbles;
  bool isPair = format == WeightFormat::Q6_K; // of high bits
  int64_t right =
      8 * odd + codes.highShift + half * (isPair ? 2 : 1) - 4 - 4 * half;
  Value moved = right >= 0 ? b.shiftRight(codes.high, right)
                           : b.shiftLeft(codes.high, -right);
  int64_t mask = isPair ? 0x00300030 : 0x00100010;
  return b.bitOr(nibbles, b.bitAnd(moved, mask << (4 * half)));
}

/// The lane's weights. Quads that the weight does not have are its first one,
/// and nothing of them is stored.
void GemvMatrixKernel::bindTiles(Value tiles) {
  firstQuad = b.mul(tiles, numQuads);
  Value quad = b.add(firstQuad, b.div(fragmentGroup, lanesPerQuad)), rowPair;
  if (lanesPerQuad != 1)
    rowPair = b.rem(fragmentGroup, lanesPerQuad);
  int64_t allQuads = parts.layout().numQuads();
  if (allQuads % numQuads != 0)
    quad = b.select(b.less(quad, b.index(allQuads)), quad, b.index(0));
  decoders.clear();
  decoders.reserve(parts.weights.size());
  for (const WeightView &weight : parts.weights)
    decoders.emplace_back(unit, weight, quad, /*groupColumns=*/0,
                          CodeDecode::Convert, rowPair);
}

/// Of group t of a chunk.
GemvMatrixKernel::ChunkWeights
GemvMatrixKernel::load(WeightDecoder &decoder,
                       const WeightDecoder::Place &place) {
  ChunkWeights weights;
  weights.group = decoder.loadHigh(place);
  for (int64_t step = 0; step < input->numSteps(); ++step)
    weights.units.push_back(
        decoder.loadUnit(place, weights.group, b.index(step)));
  decoder.loadScales(place, weights.group);
  return weights;
}

/// As a loop carries it.
SmallVector<Value>
GemvMatrixKernel::flatten(const ChunkWeights &weights) const {
  SmallVector<Value> values = {weights.group.scale};
  for (Value value : {weights.group.minimum, weights.group.high})
    if (value)
      values.push_back(value);
  for (const WeightDecoder::Unit &unit : weights.units)
    values.push_back(unit.words);
  return values;
}

/// `values` begin with what flatten() gave.
GemvMatrixKernel::ChunkWeights
GemvMatrixKernel::unflatten(ValueRange values) const {
  auto take = [&] {
    Value value = values.front();
    values = values.drop_front();
    return value;
  };
  const WeightDecoder &any = decoders.front();
  ChunkWeights weights;
  weights.group.scale = take();
  if (any.hasMinimum())
    weights.group.minimum = take();
  if (any.hasHighPlane())
    weights.group.high = take();
  for (int64_t step = 0; step < input->numSteps(); ++step)
    weights.units.push_back(any.unitOf(take(), weights.group, step));
  return weights;
}

/// Of group t of the chunk, the sum of codes times x for the lane's rows.
Value GemvMatrixKernel::addCodes(const ChunkInput &chunk,
                                 const ChunkWeights &weights) {
  SmallVector<Value> sums(laneRows / 2, zeroFragment(b));
  for (auto [codes, words] : llvm::zip_equal(weights.units, chunk.steps))
    for (int64_t odd = 0; odd < 2; ++odd) {
      WeightFormat format = parts.layout().format;
      Value lower = pairsOfCodes(b, format, codes, 0, odd),
            upper = pairsOfCodes(b, format, codes, 1, odd);
      for (auto [pair, sum] : llvm::enumerate(sums)) {
        auto first = static_cast<int64_t>(2 * pair);
        sum = multiplyFragments(
            b,
            {b.extract(lower, first), b.extract(upper, first),
             b.extract(lower, first + 1), b.extract(upper, first + 1)},
            words[odd], sum);
      }
    }
  SmallVector<Value> rows;
  for (Value sum : sums) {
    std::array<Value, 4> numbers = numbersOf(b, sum);
    rows.push_back(b.add(numbers[0], numbers[1]));
    rows.push_back(b.add(numbers[2], numbers[3]));
  }
  return b.mul(b.vector(rows), b.splat(chunk.factor, laneRows));
}

Value GemvMatrixKernel::addChunk(WeightDecoder &decoder,
                                 const ChunkInput &chunk,
                                 const ChunkWeights &weights, Value sum) {
  sum = b.fma(addCodes(chunk, weights), weights.group.scale, sum);
  if (Value offset = decoder.offset(weights.group, 0))
    sum = b.fma(offset, b.splat(chunk.sum, laneRows), sum);
  return sum;
}

/// Behind its barrier, all of x is in workgroup memory.
void GemvMatrixKernel::keepInput() {
  int64_t segments = parts.layout().paddedColumns / input->segmentColumns();
  Value squares =
      b.forLoop(subgroup, b.opaqueIndex(segments), b.index(subgroups),
                ValueRange{b.f32(0.0)}, [&](Value number, ValueRange carried) {
                  Value sum = carried.front();
                  input->keep(base, number, sum);
                  return SmallVector<Value>{sum};
                })[0];
  input->keepZeros(b.add(b.mul(subgroup, subgroupSize), lane));
  if (parts.norm) {
    Value sum = sumOverStrides(b, squares, 1, subgroupSize);
    b.ifThen(b.equal(lane, b.index(0)),
             [&] { b.store(sum, partialSquares, subgroup); });
  }
  b.barrier();
}

/// A few chunks of the subgroup, one after the other, without a loop: a turn
/// each. Behind the last chunk the last one is loaded again, and counts
/// nothing.
GemvMatrixKernel::Sums GemvMatrixKernel::addInTurns(int64_t turns) {
  // Of a chunk, the weights of one linear after the other, so many of them
  // before they are needed: with one or three, a 3B model decodes 2 to 4 %
  // slower on an H200.
  constexpr int64_t kAhead = 2;
  auto numLinears = static_cast<int64_t>(decoders.size());
  const int64_t count = turns * numLinears;
  auto isWhole = [&](int64_t turn) {
    return (turn + 1) * subgroups <= numChunks;
  };
  auto numberOf = [&](int64_t turn) {
    return b.add(subgroup, turn * subgroups);
  };
  Value lastNumber = b.min(numberOf(turns - 1), b.index(numChunks - 1));
  SmallVector<WeightDecoder::Place> places(numLinears);
  SmallVector<ChunkWeights> weights;
  auto loadNext = [&] {
    auto next = static_cast<int64_t>(weights.size()), turn = next / numLinears;
    if (next >= count)
      return;
    WeightDecoder &decoder = decoders[next % numLinears];
    WeightDecoder::Place &place = places[next % numLinears];
    if (!isWhole(turn))
      place = placeOf(decoder, lastNumber);
    else if (turn == 0)
      place = placeOf(decoder, subgroup);
    else
      place = decoder.advance(
          place, b.add(b.mul(numberOf(turn), kChunkGroups), fragmentLane),
          subgroups * kChunkGroups);
    weights.push_back(load(decoder, place));
  };
  for (int64_t i = 0; i < kAhead; ++i)
    loadNext();
  keepInput();
  Sums sums = zeros();
  ChunkInput chunk;
  for (int64_t i = 0; i < count; ++i) {
    int64_t turn = i / numLinears, linear = i % numLinears;
    if (linear == 0 && isWhole(turn)) {
      chunk = input->kept(subgroup, turn * subgroups);
    } else if (linear == 0) {
      chunk = input->kept(lastNumber);
      Value exists = b.less(numberOf(turn), b.index(numChunks));
      for (Value *number : {&chunk.factor, &chunk.sum})
        *number = b.select(exists, *number, b.f32(0.0));
    }
    loadNext();
    sums[linear] = addChunk(decoders[linear], chunk, weights[i], sums[linear]);
  }
  return sums;
}

/// Of many chunks; no load is ahead of its chunk.
GemvMatrixKernel::Sums GemvMatrixKernel::addInLoop() {
  keepInput();
  return b.forLoop(subgroup, b.opaqueIndex(numChunks), b.index(subgroups),
                   zeros(), [&](Value number, ValueRange carried) {
                     ChunkInput chunk = input->kept(number);
                     Sums sums(carried);
                     for (auto [decoder, sum] : llvm::zip_equal(decoders, sums))
                       sum = addChunk(decoder, chunk,
                                      loadChunk(decoder, number), sum);
                     return sums;
                   });
}

/// What the norm multiplies x by; null without a norm.
Value GemvMatrixKernel::normFactor() {
  if (!parts.norm)
    return Value();
  double share = 1.0 / static_cast<double>(parts.layout().columns);
  Value mean = b.mul(sumInOrder(b, partialSquares, b.index(0), subgroups),
                     b.f32(share)),
        epsilon = b.f32(parts.norm.getEpsilon().convertToFloat());
  return b.div(b.f32(1.0), b.sqrt(b.add(mean, epsilon)));
}

/// Over the lanes that have groups of the same rows.
GemvMatrixKernel::Sums GemvMatrixKernel::sumOfGroups(const Sums &sums) {
  Sums ofQuads;
  for (Value sum : sums) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < laneRows; ++i)
      rows.push_back(
          overLanes(b, b.extract(sum, i), kFragmentLanes, subgroupSize, sumOf));
    ofQuads.push_back(b.vector(rows));
  }
  return ofQuads;
}

/// Quad `result` of each linear, unless the result has no such quad.
LogicalResult
GemvMatrixKernel::storeQuad(Value result, Value stores,
                            llvm::function_ref<Value(int64_t)> sumOfLinear,
                            llvm::function_ref<Value()> factorOfNorm) {
  if (int64_t usedQuads = parts.usedQuads(); usedQuads % numQuads != 0)
    stores = b.logicalAnd(stores, b.less(result, b.index(usedQuads)));
  LogicalResult ok = success();
  b.ifThen(stores, [&] {
    Value factor = factorOfNorm();
    ElementwiseEmitter own(unit, b.index(0), result),
        &emitter = epilogue ? *epilogue : own;
    for (auto [number, linear] : llvm::enumerate(parts.linears)) {
      Value sum = sumOfLinear(static_cast<int64_t>(number));
      emitter.map(linear->getResult(0),
                  factor ? b.mul(sum, b.splat(factor)) : sum);
    }
    for (unsigned number = 0; number < context.getRegion().getNumResults();
         ++number)
      if (failed(emitter.storeResult(number)))
        ok = failure();
  });
  return ok;
}

/// Room for what subgroups add up: that of x, behind a barrier, where there is
/// no other.
void GemvMatrixKernel::makePartials() {
  int64_t count =
      static_cast<int64_t>(parts.linears.size()) * subgroups * kFragmentGroups;
  replacesInput = b.workgroupBytes() + count * laneRows * 4 >
                  context.getDevice().getWorkgroupMemoryBytes();
  if (replacesInput)
    b.barrier();
  partials =
      replacesInput ? input->memory() : b.workgroupMemory(count, sumType());
}

void GemvMatrixKernel::storePartial(Value sum, Value place) {
  if (replacesInput) {
    SmallVector<Value> words(4, b.i32(0));
    for (int64_t row = 0; row < laneRows; ++row)
      words[row] = b.bitcastToI32(b.extract(sum, row));
    sum = b.vector(words);
  }
  b.store(sum, partials, place);
}

Value GemvMatrixKernel::loadPartial(Value place) {
  Value loaded = b.load(partials, place);
  if (!replacesInput)
    return loaded;
  SmallVector<Value> rows;
  for (int64_t row = 0; row < laneRows; ++row)
    rows.push_back(b.bitcastToF32(b.extract(loaded, row)));
  return b.vector(rows);
}

/// Of quad `result` of the tiles; lanes beyond them load the first one's
/// (GemvResults.cpp).
LogicalResult GemvMatrixKernel::preloadOperands(Value isResult, Value result) {
  Value quad = b.add(firstQuad, b.select(isResult, result, b.index(0)));
  if (int64_t usedQuads = parts.usedQuads(); usedQuads % numQuads != 0)
    quad = b.min(quad, b.index(usedQuads - 1));
  epilogue.emplace(unit, b.index(0), quad);
  return epilogue->preload(parts.linears);
}

/// A workgroup's subgroups share the columns of the tiles.
LogicalResult GemvMatrixKernel::emitTiles() {
  bindTiles(b.groupId(gpu::Dimension::x));
  int64_t turns = llvm::divideCeilSigned(numChunks, subgroups);
  Value result = b.add(b.mul(subgroup, subgroupSize), lane),
        isResult = b.less(result, b.index(numQuads));
  if (failed(preloadOperands(isResult, result)))
    return failure();
  Sums sums =
      sumOfGroups(turns <= kGemvMatrixTurns ? addInTurns(turns) : addInLoop());
  makePartials();
  int64_t perLinear = subgroups * kFragmentGroups;
  Value place = b.add(b.mul(subgroup, kFragmentGroups), fragmentGroup);
  b.ifThen(b.equal(fragmentLane, b.index(0)), [&] {
    for (auto [number, sum] : llvm::enumerate(sums))
      storePartial(sum, b.add(place, static_cast<int64_t>(number) * perLinear));
  });
  b.barrier();
  auto sumOfLinear = [&](int64_t linear) -> Value {
    SmallVector<Value> rows;
    for (int64_t part = 0; part < lanesPerQuad; ++part) {
      Value first =
                b.add(b.mul(result, lanesPerQuad), linear * perLinear + part),
            sum = loadPartial(first);
      for (int64_t i = 1; i < subgroups; ++i)
        sum = b.add(sum, loadPartial(b.add(first, i * kFragmentGroups)));
      if (lanesPerQuad == 1)
        return sum;
      for (int64_t row = 0; row < laneRows; ++row)
        rows.push_back(b.extract(sum, row));
    }
    return b.vector(rows);
  };
  return storeQuad(b.add(firstQuad, result), isResult, sumOfLinear,
                   [&] { return normFactor(); });
}

/// Sums of all chunks by the subgroup alone.
GemvMatrixKernel::Sums GemvMatrixKernel::addAllChunks() {
  Value chunks = b.opaqueIndex(numChunks), last = b.sub(chunks, b.index(1));
  SmallVector<Value> carried;
  for (WeightDecoder &decoder : decoders)
    carried.append(flatten(loadChunk(decoder, b.index(0))));
  size_t numLoaded = carried.size(), ofLinear = numLoaded / decoders.size();
  carried.append(zeros());
  SmallVector<Value> done = b.forLoop(
      b.index(0), chunks, b.index(1), carried,
      [&](Value number, ValueRange now) {
        Value next = b.min(b.add(number, 1), last);
        SmallVector<Value> values;
        for (WeightDecoder &decoder : decoders)
          values.append(flatten(loadChunk(decoder, next)));
        ChunkInput chunk = input->kept(number);
        for (auto [linear, decoder] : llvm::enumerate(decoders))
          values.push_back(addChunk(
              decoder, chunk, unflatten(now.drop_front(linear * ofLinear)),
              now[numLoaded + linear]));
        return values;
      });
  return Sums(ArrayRef(done).drop_front(numLoaded));
}

/// A subgroup takes all columns of two tiles, and goes on to others: after the
/// input is in workgroup memory, none waits for another.
LogicalResult GemvMatrixKernel::emitTilesInTurn() {
  keepInput();
  Value factor = normFactor();
  LogicalResult ok = success();
  b.forLoop(
      b.add(b.mul(b.groupId(gpu::Dimension::x), subgroups), subgroup),
      b.index(llvm::divideCeilSigned(parts.layout().numQuads(), numQuads)),
      b.index(tileWorkgroups * subgroups), [&](Value tiles) {
        bindTiles(tiles);
        Sums sums = sumOfGroups(addAllChunks());
        ok = storeQuad(
            b.add(firstQuad, fragmentGroup), b.equal(fragmentLane, b.index(0)),
            [&](int64_t linear) { return sums[linear]; },
            [&] { return factor; });
      });
  return ok;
}

LogicalResult GemvMatrixKernel::emit() {
  FailureOr<LinearInput> bound = LinearInput::bind(unit, parts);
  if (failed(bound))
    return failure();
  row = *bound;
  subgroup = subgroupNumber(b);
  lane = laneNumber(b);
  fragmentGroup = b.div(lane, kFragmentLanes);
  fragmentLane = b.rem(lane, kFragmentLanes);
  input.emplace(b, *row, scaleGroupColumns(parts.layout().format), subgroupSize,
                lane);
  base = row->rowBase(b.index(0), 0);
  numChunks = parts.layout().paddedColumns / input->chunkColumns();
  int64_t tiles = llvm::divideCeilSigned(parts.layout().numQuads(), numQuads);
  input->makeRoom(parts.layout().paddedColumns);
  if (parts.norm)
    partialSquares = b.workgroupMemory(subgroups, b.getF32Type());
  if (failed(tileWorkgroups != 0 ? emitTilesInTurn() : emitTiles()))
    return failure();
  unit.finish(parts.label("gemv", 1) + " matrix",
              {tileWorkgroups != 0 ? tileWorkgroups : tiles, 1, 1});
  return success();
}

/// Why the region cannot be computed by this kind; empty if it can.
std::string refusal(RegionContext &context, LinearRegion &parts) {
  ArrayRef<int64_t> tile = context.getConfig().getTile();
  if (tile.size() != 4)
    return "needs tile = [rows, columns, k per chunk, workgroups of all tiles]";
  if (parts.experts || context.rowsOf(parts.resultType()) != 1)
    return "takes one row, and no experts";
  std::string wrong =
      checkGemvMatrixSizes({context.getConfig().getWorkgroup()[0], tile[0],
                            tile[1], tile[2], tile[3]},
                           parts.layout().format, parts.layout().paddedColumns,
                           context.getDevice().getSubgroupSize());
  return wrong.empty() ? "" : "does not fit: " + wrong;
}

} // namespace

LogicalResult lowerGemvMatrix(RegionContext &context) {
  FailureOr<LinearRegion> parts = analyzeLinear(context);
  if (failed(parts))
    return failure();
  if (std::string text = refusal(context, *parts); !text.empty())
    return context.getRegion().emitOpError("of kind gemv_matrix ") << text;
  return GemvMatrixKernel(context, *parts).emit();
}

} // namespace llmc::codegen
