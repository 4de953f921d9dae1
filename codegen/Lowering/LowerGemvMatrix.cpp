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

#include "codegen/Lowering/LowerGemvMatrix.h"

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/GemvMatrixInput.h"
#include "codegen/Lowering/Reduction.h"
#include "codegen/Lowering/SubgroupMatrix.h"

#include "llvm/Support/MathExtras.h"

namespace llmc::codegen {

namespace {

/// The inverse of the smallest f16 above zero.
constexpr double kCodeDivisor = 0x1p24;

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

  VectorType sumType() { return VectorType::get(laneRows, b.getF32Type()); }
  void bindTiles(Value tiles);
  Sums addChunk(const ChunkInput &chunk, Value number, Sums sums);
  SmallVector<WeightDecoder::Unit> loadUnits(WeightDecoder &decoder,
                                             Value number);
  Value addCodes(const ChunkInput &chunk, WeightDecoder &decoder, Value number);
  /// Sums of all chunks of the subgroup, then of the squares of x, which are 0
  /// without a norm.
  Sums addInLoop();
  void keepSquares(Value squares);
  Value normFactor();
  Sums sumOfGroups(const Sums &sums);
  LogicalResult storeQuad(Value result, Value stores,
                          llvm::function_ref<Value(int64_t)> sumOfLinear,
                          llvm::function_ref<Value()> factorOfNorm);
  LogicalResult emitTiles();
  LogicalResult emitTilesInTurn(int64_t numChunks);

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
  Value base, subgroup, lane, fragmentGroup, fragmentLane, chunks;
  /// The first quad of the tiles.
  Value firstQuad;
  /// Of each subgroup, in workgroup memory.
  Value partialSquares;
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

/// The lane's unit in each step of chunk `number` (GemvMatrixInput.h).
SmallVector<WeightDecoder::Unit>
GemvMatrixKernel::loadUnits(WeightDecoder &decoder, Value number) {
  SmallVector<WeightDecoder::Unit> units;
  Value first = b.mul(number, kChunkGroups);
  if (tileWorkgroups != 0) {
    WeightDecoder::Place place = decoder.placeOf(b.add(first, fragmentLane));
    WeightDecoder::Group high = decoder.loadHigh(place);
    for (int64_t step = 0; step < input->numSteps(); ++step)
      units.push_back(decoder.loadUnit(place, high, b.index(step)));
    return units;
  }
  int64_t groups = input->groupsPerBlock(),
          lanesPerGroup = kFragmentLanes / groups;
  for (int64_t step = 0; step < input->numSteps(); ++step) {
    WeightDecoder::Place place = decoder.placeOf(
        b.add(b.add(first, step * groups), b.div(fragmentLane, lanesPerGroup)));
    units.push_back(decoder.loadUnit(place, decoder.loadHigh(place),
                                     b.rem(fragmentLane, lanesPerGroup)));
  }
  return units;
}

/// Of group t of the chunk, the sum of codes times x for the lane's rows.
Value GemvMatrixKernel::addCodes(const ChunkInput &chunk,
                                 WeightDecoder &decoder, Value number) {
  SmallVector<WeightDecoder::Unit> units = loadUnits(decoder, number);
  SmallVector<Value> sums(laneRows / 2, zeroFragment(b));
  for (auto [codes, words] : llvm::zip_equal(units, chunk.steps))
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
  return b.mul(b.vector(rows),
               b.splat(b.mul(chunk.factor, b.f32(kCodeDivisor)), laneRows));
}

GemvMatrixKernel::Sums GemvMatrixKernel::addChunk(const ChunkInput &chunk,
                                                  Value number, Sums sums) {
  for (auto [decoder, sum] : llvm::zip_equal(decoders, sums)) {
    Value codes = addCodes(chunk, decoder, number);
    WeightDecoder::Group group;
    decoder.loadScales(
        decoder.placeOf(b.add(b.mul(number, kChunkGroups), fragmentLane)),
        group);
    sum = b.fma(codes, group.scale, sum);
    if (Value offset = decoder.offset(group, 0))
      sum = b.fma(offset, b.splat(chunk.sum, laneRows), sum);
  }
  return sums;
}

GemvMatrixKernel::Sums GemvMatrixKernel::addInLoop() {
  Sums start(decoders.size(), b.constant(sumType(), 0.0));
  start.push_back(b.f32(0.0));
  return b.forLoop(subgroup, chunks, b.index(subgroups), start,
                   [&](Value number, ValueRange carried) {
                     Value squares = carried.back();
                     ChunkInput chunk = input->load(base, number, squares);
                     Sums next =
                         addChunk(chunk, number, Sums(carried.drop_back()));
                     next.push_back(squares);
                     return next;
                   });
}

/// Of a norm; the subgroup's sum waits in workgroup memory.
void GemvMatrixKernel::keepSquares(Value squares) {
  if (!parts.norm)
    return;
  Value sum = sumOverStrides(b, squares, 1, subgroupSize);
  b.ifThen(b.equal(lane, b.index(0)),
           [&] { b.store(sum, partialSquares, subgroup); });
}

/// What the norm multiplies x by; null without a norm.
Value GemvMatrixKernel::normFactor() {
  if (!parts.norm)
    return Value();
  double share =
      1.0 / static_cast<double>(input->squareCopies() * parts.layout().columns);
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
  if (int64_t usedQuads = paddedRow(parts.outputs()) / 4;
      usedQuads % numQuads != 0)
    stores = b.logicalAnd(stores, b.less(result, b.index(usedQuads)));
  LogicalResult ok = success();
  b.ifThen(stores, [&] {
    Value factor = factorOfNorm();
    ElementwiseEmitter emitter(unit, b.index(0), result);
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

/// A workgroup's subgroups share the columns of the tiles.
LogicalResult GemvMatrixKernel::emitTiles() {
  bindTiles(b.groupId(gpu::Dimension::x));
  Sums sums = addInLoop();
  keepSquares(sums.pop_back_val());
  int64_t perLinear = subgroups * kFragmentGroups;
  Value partials = b.workgroupMemory(
            static_cast<int64_t>(parts.linears.size()) * perLinear, sumType()),
        place = b.add(b.mul(subgroup, kFragmentGroups), fragmentGroup);
  sums = sumOfGroups(sums);
  b.ifThen(b.equal(fragmentLane, b.index(0)), [&] {
    for (auto [number, sum] : llvm::enumerate(sums))
      b.store(sum, partials,
              b.add(place, static_cast<int64_t>(number) * perLinear));
  });
  b.barrier();
  Value result = b.add(b.mul(subgroup, subgroupSize), lane);
  auto sumOfLinear = [&](int64_t linear) -> Value {
    SmallVector<Value> rows;
    for (int64_t part = 0; part < lanesPerQuad; ++part) {
      Value sum = sumInOrder(
          b, partials,
          b.add(b.mul(result, lanesPerQuad), linear * perLinear + part),
          subgroups, kFragmentGroups);
      if (lanesPerQuad == 1)
        return sum;
      for (int64_t row = 0; row < laneRows; ++row)
        rows.push_back(b.extract(sum, row));
    }
    return b.vector(rows);
  };
  return storeQuad(b.add(firstQuad, result), b.less(result, b.index(numQuads)),
                   sumOfLinear, [&] { return normFactor(); });
}

/// A subgroup takes all columns of two tiles, and goes on to others: after the
/// input is in workgroup memory, none waits for another.
LogicalResult GemvMatrixKernel::emitTilesInTurn(int64_t numChunks) {
  input->makeRoom(numChunks);
  Value squares =
      b.forLoop(subgroup, chunks, b.index(subgroups), ValueRange{b.f32(0.0)},
                [&](Value number, ValueRange carried) {
                  Value sum = carried.front();
                  input->keep(base, number, sum);
                  return SmallVector<Value>{sum};
                })[0];
  keepSquares(squares);
  b.barrier();
  Value factor = normFactor();
  LogicalResult ok = success();
  b.forLoop(
      b.add(b.mul(b.groupId(gpu::Dimension::x), subgroups), subgroup),
      b.index(llvm::divideCeilSigned(parts.layout().numQuads(), numQuads)),
      b.index(tileWorkgroups * subgroups), [&](Value tiles) {
        bindTiles(tiles);
        Sums zeros(decoders.size(), b.constant(sumType(), 0.0));
        Sums sums = b.forLoop(b.index(0), chunks, b.index(1), zeros,
                              [&](Value number, ValueRange carried) {
                                return addChunk(input->kept(number), number,
                                                Sums(carried));
                              });
        sums = sumOfGroups(sums);
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
  int64_t numChunks = parts.layout().paddedColumns / input->chunkColumns(),
          tiles = llvm::divideCeilSigned(parts.layout().numQuads(), numQuads);
  chunks = b.opaqueIndex(numChunks);
  if (parts.norm)
    partialSquares = b.workgroupMemory(subgroups, b.getF32Type());
  if (failed(tileWorkgroups != 0 ? emitTilesInTurn(numChunks) : emitTiles()))
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
