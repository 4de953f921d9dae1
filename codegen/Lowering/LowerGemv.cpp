// SPDX-License-Identifier: Apache-2.0
//
// Linears for few rows. A workgroup computes 16 rows of the weight (a tile,
// four quads) for up to eight rows of the input: a lane takes one quad and
// every n-th share of the columns, so that each weight is read once, 64
// contiguous bytes for four lanes; the lanes' sums are added in workgroup
// memory in a fixed order. A norm of the input costs its gain in the loop, and
// a short loop for the sum of squares; the result is scaled.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/GemvGroup.h"
#include "codegen/Lowering/Reduction.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

CodeDecode decodeOf(graph::LoweringConfigAttr config) {
  if (config.getDecode() == "bytes")
    return CodeDecode::Bytes;
  return config.getDecode() == "exponent" ? CodeDecode::Exponent
                                          : CodeDecode::Convert;
}

class GemvKernel {
public:
  GemvKernel(RegionContext &context, LinearRegion &parts)
      : context(context), parts(parts),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
        lanes(context.getConfig().getWorkgroup()[0]),
        tileRows(context.getConfig().getTile()[0]),
        linearsAtOnce(context.getConfig().getTile()[1] / 4),
        kStep(context.getConfig().getTile()[2]),
        numRows(context.rowsOf(parts.resultType())),
        subgroup(
            reductionSubgroup(context.getConfig(), context.getDevice(), lanes)),
        partialLanes(subgroup ? lanes / subgroup * kQuadsPerTile : lanes) {}

  /// Emits an error for a config that does not fit the region.
  LogicalResult verify();
  LogicalResult emit();

private:
  /// Some linears that are computed by one loop.
  using Pass = MutableArrayRef<WeightDecoder>;
  /// Ordered [linear][row], a vector over the quad's rows each.
  using Sums = SmallVector<Value>;

  bool isHalf() const { return context.getConfig().getArithmetic() == "f16"; }
  /// Of one linear in the workgroup's tile, vectors over the rows of a quad.
  int64_t numResults() const { return tileRows * kQuadsPerTile; }
  Sums runPass(Pass pass, Value groups);
  void runPasses(Value groups);
  void keepPartials(const Sums &sums);
  Value sumOverShares(int64_t section, Value result);
  void reducePass();
  Value sumOfSquares(Value base);
  void normalize();
  LogicalResult reduceAndStore();
  LogicalResult storeResult(Value result, int64_t ofLane);

  RegionContext &context;
  LinearRegion &parts;
  KernelUnit unit;
  KernelBuilder &b;
  int64_t lanes, tileRows, linearsAtOnce, kStep, numRows;
  /// Lanes that add up among themselves by subgroup operations, or 0; sums of a
  /// row that meet in workgroup memory.
  int64_t subgroup, partialLanes;
  std::vector<WeightDecoder> decoders;
  std::optional<LinearInput> input;
  GemvInput rows;
  /// What the sums of each row are multiplied by in the end; empty for nothing.
  SmallVector<Value> resultFactors;
  /// Of the linears whose sums were added up before those of the next took
  /// their place: the results of this lane, number lane, lane + lanes, ….
  SmallVector<SmallVector<Value>> earlierResults;
  Value lane, tile, firstRow, partials;
};

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// A share is kStep columns, one or two groups; the loop carries where they
/// lie.
GemvKernel::Sums GemvKernel::runPass(Pass pass, Value groups) {
  const WeightDecoder &any = pass.front();
  int64_t groupsAtOnce = kStep / any.columnsPerGroup(),
          stride = lanes / kQuadsPerTile * groupsAtOnce;
  Value firstGroup = b.mul(b.div(lane, kQuadsPerTile), groupsAtOnce);
  SmallVector<Value> start = {b.mul(firstGroup, any.columnsPerGroup() / 4)};
  for (WeightDecoder &decoder : pass)
    start.append(decoder.placeOf(firstGroup));
  size_t numPlaces = start.size();
  start.append(pass.size() * tileRows, b.constant(b.f32x4(), 0.0));

  GemvGroup inner(b, rows, pass, isHalf());
  auto body = [&](Value group, ValueRange carried) {
    Value quad = carried.front();
    SmallVector<Value> next = {b.add(quad, stride * any.columnsPerGroup() / 4)};
    SmallVector<WeightDecoder::Place> places;
    size_t ofDecoder = (numPlaces - 1) / pass.size();
    for (auto [number, decoder] : llvm::enumerate(pass)) {
      places.emplace_back(carried.slice(1 + number * ofDecoder, ofDecoder));
      next.append(decoder.advance(places.back(), b.add(group, stride), stride));
    }
    Sums sums(carried.drop_front(numPlaces));
    for (int64_t number = 0; number < groupsAtOnce; ++number) {
      sums = inner.add(places, b.add(quad, number * any.columnsPerGroup() / 4),
                       sums);
      for (auto [place, decoder] : llvm::zip_equal(places, pass))
        place = decoder.neighbour(place);
    }
    next.append(sums);
    return next;
  };
  SmallVector<Value> done =
      b.forLoop(firstGroup, groups, b.index(stride), start, body);
  return Sums(ArrayRef(done).drop_front(numPlaces));
}

/// Into workgroup memory: of every lane, or of every subgroup and quad.
void GemvKernel::keepPartials(const Sums &sums) {
  auto placeOf = [&](size_t number, Value place) {
    return b.add(place, static_cast<int64_t>(number) * partialLanes);
  };
  if (!subgroup) {
    for (auto [number, sum] : llvm::enumerate(sums))
      b.store(sum, partials, placeOf(number, lane));
    return;
  }
  Sums ofSubgroup;
  for (Value sum : sums)
    ofSubgroup.push_back(sumOverStrides(b, sum, kQuadsPerTile, subgroup));
  Value inSubgroup = b.rem(lane, subgroup);
  Value place = b.add(b.mul(b.div(lane, subgroup), kQuadsPerTile), inSubgroup);
  b.ifThen(b.less(inSubgroup, b.index(kQuadsPerTile)), [&] {
    for (auto [number, sum] : llvm::enumerate(ofSubgroup))
      b.store(sum, partials, placeOf(number, place));
  });
}

/// Linears of one pass after the other have their sums in the same workgroup
/// memory, of which occupancy depends.
void GemvKernel::runPasses(Value groups) {
  partials =
      b.workgroupMemory(linearsAtOnce * tileRows * partialLanes, b.f32x4());
  for (size_t first = 0; first < decoders.size(); first += linearsAtOnce) {
    if (first != 0)
      reducePass();
    Pass pass = MutableArrayRef(decoders).slice(first, linearsAtOnce);
    keepPartials(runPass(pass, groups));
  }
}

/// What the lanes have for result `result` of the linear whose sums begin at
/// section `section`, of a row each.
Value GemvKernel::sumOverShares(int64_t section, Value result) {
  Value row = b.add(b.div(result, kQuadsPerTile), section),
        first = b.add(b.mul(row, partialLanes), b.rem(result, kQuadsPerTile));
  if (subgroup)
    return sumInOrder(b, partials, first, partialLanes / kQuadsPerTile,
                      kQuadsPerTile);
  return b.forLoop(
      first, b.add(first, b.opaqueIndex(lanes)), b.index(kQuadsPerTile),
      ValueRange{b.constant(b.f32x4(), 0.0)},
      [&](Value place, ValueRange carried) {
        return SmallVector<Value>{b.add(carried[0], b.load(partials, place))};
      })[0];
}

/// Adds up the sums of the pass that was last. Lanes beyond the number of
/// results repeat some.
void GemvKernel::reducePass() {
  b.barrier();
  for (int64_t number = 0; number < linearsAtOnce; ++number) {
    SmallVector<Value> &results = earlierResults.emplace_back();
    for (int64_t base = 0; base < numResults(); base += lanes)
      results.push_back(sumOverShares(number * tileRows,
                                      b.rem(b.add(lane, base), numResults())));
  }
  b.barrier();
}

/// Of a row of the input, over all its columns, the same for every lane.
Value GemvKernel::sumOfSquares(Value base) {
  int64_t quads = parts.layout().paddedColumns / 4;
  Value squares =
      b.forLoop(lane, b.opaqueIndex(quads), b.index(lanes),
                ValueRange{b.f32(0.0)}, [&](Value quad, ValueRange carried) {
                  Value x = input->load(base, quad), sum = carried[0];
                  for (int64_t i = 0; i < 4; ++i)
                    sum = b.fma(b.extract(x, i), b.extract(x, i), sum);
                  return SmallVector<Value>{sum};
                })[0];
  return sumOverWorkgroup(b, squares, lane, lanes, subgroup);
}

/// Sets the factors of the rows. In half precision the norm's power of two goes
/// into the input, whose numbers are then of the size of the gains, and what
/// is left of it into the result.
void GemvKernel::normalize() {
  double half = isHalf() ? GemvGroup::halfFactor(decoders.front()) : 1;
  for (Value base : rows.rowBases) {
    if (!parts.norm) {
      if (isHalf())
        resultFactors.push_back(b.f32(1 / half));
      continue;
    }
    Value mean =
        b.mul(sumOfSquares(base),
              b.f32(1.0 / static_cast<double>(parts.layout().columns)));
    Value root =
        b.sqrt(b.add(mean, b.f32(parts.norm.getEpsilon().convertToFloat())));
    Value inverse = b.div(b.f32(1.0), root);
    if (isHalf()) {
      Value power =
          b.bitcastToF32(b.bitAnd(b.bitcastToI32(inverse), 0x7f800000));
      rows.factors.push_back(b.mul(power, b.f32(half)));
      inverse = b.div(inverse, rows.factors.back());
    }
    resultFactors.push_back(inverse);
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Result number `result`: row result / 4, quad result % 4 of the tile; of this
/// lane's results number `ofLane`.
LogicalResult GemvKernel::storeResult(Value result, int64_t ofLane) {
  Value row = b.div(result, kQuadsPerTile),
        quadInTile = b.rem(result, kQuadsPerTile);
  Value factor;
  for (auto [number, ofRow] : llvm::enumerate(resultFactors))
    factor =
        factor ? b.select(b.equal(row, b.index(number)), ofRow, factor) : ofRow;
  Value quad = b.add(b.mul(tile, kQuadsPerTile), quadInTile);
  ElementwiseEmitter emitter(unit, b.add(firstRow, row), quad);
  for (auto [number, linear] : llvm::enumerate(parts.linears)) {
    size_t last = number - earlierResults.size();
    Value sum =
        number < earlierResults.size()
            ? earlierResults[number][ofLane]
            : sumOverShares(static_cast<int64_t>(last) * tileRows, result);
    emitter.map(linear.getResult(), factor ? b.mul(sum, b.splat(factor)) : sum);
  }
  for (unsigned number = 0; number < context.getRegion().getNumResults();
       ++number)
    if (failed(emitter.storeResult(number)))
      return failure();
  return success();
}

LogicalResult GemvKernel::reduceAndStore() {
  int64_t usedQuads = paddedRow(parts.layout().rows) / 4;
  LogicalResult ok = success();
  for (int64_t base = 0; base < numResults(); base += lanes) {
    Value result = b.add(lane, base);
    Value quad =
        b.add(b.mul(tile, kQuadsPerTile), b.rem(result, kQuadsPerTile));
    Value row = b.add(firstRow, b.div(result, kQuadsPerTile));
    Value stores = b.less(result, b.index(numResults()));
    if (usedQuads % kQuadsPerTile != 0)
      stores = b.logicalAnd(stores, b.less(quad, b.index(usedQuads)));
    if (numRows % tileRows != 0)
      stores = b.logicalAnd(stores, b.less(row, b.index(numRows)));
    b.ifThen(stores, [&] { ok = storeResult(result, base / lanes); });
    if (failed(ok))
      return failure();
  }
  return success();
}

LogicalResult GemvKernel::verify() {
  const WeightLayout &layout = parts.layout();
  int64_t numLinears = static_cast<int64_t>(parts.linears.size()),
          group = scaleGroupColumns(layout.format);
  auto error = [&] { return context.getRegion().emitOpError("of kind gemv "); };
  if (linearsAtOnce != 1 && linearsAtOnce != numLinears)
    return error() << "has a tile of " << 4 * linearsAtOnce
                   << " columns, neither four nor four for each linear";
  if (layout.paddedColumns % kStep != 0 ||
      (group ? kStep != group && kStep != 2 * group
             : kStep % std::max<int64_t>(columnsPerUnit(layout.format), 4)))
    return error() << "takes " << kStep << " of " << layout.paddedColumns
                   << " columns at once, where " << std::max<int64_t>(group, 4)
                   << " belong together";
  if (isHalf() &&
      (columnsPerUnit(layout.format) != 8 || tileRows > kMaxGroupSumRows ||
       codebookOf(layout.format) != Codebook::None))
    return error() << "has f16 arithmetic for " << formatName(layout.format)
                   << " and tiles of " << tileRows
                   << " rows; it takes codes of 4 to 6 bits and at most "
                   << kMaxGroupSumRows << " rows";
  return success();
}

LogicalResult GemvKernel::emit() {
  FailureOr<LinearInput> bound = LinearInput::bind(unit, parts);
  if (failed(bound))
    return failure();
  input = *bound;
  int64_t rowTiles = (numRows + tileRows - 1) / tileRows;
  lane = subgroup ? subgroupLane(b, subgroup) : b.localId();
  tile = b.groupId(gpu::Dimension::x);
  firstRow = rowTiles == 1 ? b.index(0)
                           : b.mul(b.groupId(gpu::Dimension::y), tileRows);
  Value quad = b.add(b.mul(tile, kQuadsPerTile), b.rem(lane, kQuadsPerTile));
  for (const WeightView &weight : parts.weights)
    decoders.emplace_back(unit, weight, quad, kStep,
                          decodeOf(context.getConfig()));
  rows.input = &*input;
  for (int64_t row = 0; row < tileRows; ++row)
    rows.rowBases.push_back(input->rowBase(
        b.add(firstRow, row), numRows % tileRows != 0 ? numRows : 0));

  // A workgroup of rows beyond the step's takes no rounds.
  Value groups =
      b.select(b.less(firstRow, unit.numRows(parts.resultType())),
               b.opaqueIndex(decoders.front().numGroups()), b.index(0));
  bool normalizesFirst = isHalf() && parts.norm;
  if (normalizesFirst)
    normalize();
  runPasses(groups);
  // The input is in the cache by now, and less is alive than before the loop.
  if (!normalizesFirst)
    normalize();
  // The sums of a norm come by barriers, unless one subgroup is all.
  if (normalizesFirst || !parts.norm || subgroup == lanes)
    b.barrier();
  if (failed(reduceAndStore()))
    return failure();
  unit.finish(parts.label("gemv", numRows),
              {parts.layout().paddedRows / kTileRows, rowTiles, 1});
  return success();
}

} // namespace

LogicalResult lowerGemv(RegionContext &context) {
  FailureOr<LinearRegion> parts = analyzeLinear(context);
  if (failed(parts))
    return failure();
  GemvKernel kernel(context, *parts);
  if (failed(kernel.verify()))
    return failure();
  return kernel.emit();
}

} // namespace llmc::codegen
