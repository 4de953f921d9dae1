// SPDX-License-Identifier: Apache-2.0
//
// Linears for few rows. A workgroup computes 16 rows of the weight (a tile,
// four quads), those of two tiles side by side, or some quads of a tile, for up
// to eight rows of the input: a lane takes one quad of each and every n-th
// share of the columns, so that each weight is read once, 64 contiguous bytes
// for four lanes; the lanes' sums are added in workgroup memory in a fixed
// order. A norm of the input costs its gain, in the loop or, for staged input
// (GemvStage.h), before it, and a short loop for the sum of squares; the result
// is scaled. Rows of expert_linears are places (ExpertPlace.h), one to a
// workgroup.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/ExpertPlace.h"
#include "codegen/Lowering/GemvConfig.h"
#include "codegen/Lowering/GemvGroup.h"
#include "codegen/Lowering/GemvStage.h"
#include "codegen/Lowering/Reduction.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

class GemvKernel : GemvConfig {
public:
  GemvKernel(RegionContext &context, LinearRegion &parts)
      : GemvConfig(context, parts), context(context), parts(parts),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
        numRows(context.rowsOf(parts.resultType()) * parts.placesPerRow()),
        partialLanes(subgroup ? lanes / subgroup * quadsAtOnce : lanes) {
    if (parts.experts)
      experts.emplace(unit, parts);
  }

  LogicalResult emit();

private:
  /// Some linears that are computed by one loop.
  using Pass = MutableArrayRef<WeightDecoder>;
  /// Ordered [linear][row], a vector over the quad's rows each.
  using Sums = SmallVector<Value>;

  /// Of one linear in the workgroup's tiles, vectors over the rows of a quad.
  int64_t numResults() const { return tilesAtOnce * tileRows * quadsAtOnce; }
  void bindWeights(int64_t first);
  void runPasses();
  void runPass(Pass pass, int64_t firstSum);
  Value elementOf(Value group, const WeightDecoder &decoder);
  int64_t sharesPerGroup(const WeightDecoder &decoder) const {
    return std::max<int64_t>(decoder.columnsPerGroup() / kStep, 1);
  }
  std::optional<GemvGroup::Part> partOfGroup(const WeightDecoder &decoder);
  Value firstGroup(const WeightDecoder &decoder);
  SmallVector<Value> runGroups(Pass pass, int64_t firstSum, Value first,
                               Value last, ValueRange start);
  SmallVector<Value> runStages(Pass pass, int64_t firstSum, ValueRange start);
  bool sumsWait(const WeightDecoder &decoder) const;
  Sums loadSums(Pass pass, int64_t firstSum);
  void keepPartials(const Sums &sums, int64_t firstSum);
  Value sumOverShares(int64_t section, Value result);
  void reducePass();
  void fillStage(Value firstQuad, Value numQuads);
  Value overRow(Value base, Value initial,
                llvm::function_ref<Value(Value x, Value total)> add);
  Value inverseRoot(Value base);
  Value scaleStage();
  void prepareStage();
  void takePlace();
  void setBegin(Value tileOfWeight);
  void normalize();
  LogicalResult reduceAndStore();
  std::pair<Value, Value> partialOf(Value result);
  std::pair<Value, Value> placeOf(Value result);
  LogicalResult storeResult(Value result, int64_t ofLane);

  RegionContext &context;
  LinearRegion &parts;
  KernelUnit unit;
  KernelBuilder &b;
  int64_t numRows;
  /// Sums of a row that meet in workgroup memory.
  int64_t partialLanes;
  /// [linear][tile].
  std::vector<WeightDecoder> decoders;
  std::optional<LinearInput> input;
  std::optional<GemvStage> stage;
  std::optional<GemvExchange> exchange;
  /// What the input is multiplied by when it is staged; null for nothing.
  Value stageFactor;
  GemvInput rows;
  /// What the sums of each row are multiplied by in the end; empty for nothing.
  SmallVector<Value> resultFactors;
  /// Of the linears whose sums were added up before those of the next took
  /// their place: the results of this lane, number lane, lane + lanes, ….
  SmallVector<SmallVector<Value>> earlierResults;
  /// Set for expert_linears.
  std::optional<ExpertPlaces> experts;
  /// The lane's number, its quad of the weight and its share of the columns;
  /// the workgroup's first quad of the result and its first row.
  Value lane, quad, share, firstQuad, firstRow;
  /// [linear][tile][row][lane] in workgroup memory.
  Value partials;
  /// The first group and behind the last one.
  Value begin, groups;
  /// Whether another dispatch may have the workgroup's expert, where `begin` is
  /// `groups`.
  bool mayBeElsewhere = false;
  /// Workgroup memory: what is needed after the loops only.
  Value waitingPlace, waitingFactors;
};

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Adds shares `first`, `first` + stride, … up to group `last` to the sums. A
/// share is kStep columns: a part of a group, one or two. `start` and the
/// result are what the loop carries: where the input lies unless that follows
/// from the group's number, where the groups of each linear lie, and the sums,
/// unless they wait in workgroup memory, from `firstSum` on.
SmallVector<Value> GemvKernel::runGroups(Pass pass, int64_t firstSum,
                                         Value first, Value last,
                                         ValueRange start) {
  const WeightDecoder &any = pass.front();
  int64_t groupsAtOnce = std::max<int64_t>(kStep / any.columnsPerGroup(), 1),
          stride = lanes / quadsAtOnce * groupsAtOnce / sharesPerGroup(any);
  int64_t inGroup =
      any.columnsPerGroup() / (stage ? stage->columnsPerElement() : 4);
  size_t carriesInput = stage ? 0 : 1,
         ofDecoder = (start.size() - carriesInput) / pass.size() -
                     (sumsWait(any) ? 0 : tileRows);
  GemvGroup inner(b, rows, pass, isHalf);
  auto body = [&](Value group, ValueRange carried) {
    Value element = stage ? elementOf(group, any) : carried.front();
    SmallVector<Value> next;
    if (!stage)
      next.push_back(b.add(element, stride * inGroup));
    carried = carried.drop_front(carriesInput);
    SmallVector<WeightDecoder::Place> places;
    for (auto [number, decoder] : llvm::enumerate(pass)) {
      places.emplace_back(carried.slice(number * ofDecoder, ofDecoder));
      next.append(decoder.advance(places.back(), b.add(group, stride), stride));
    }
    Sums sums(carried.drop_front(pass.size() * ofDecoder));
    if (stage && groupsAtOnce == 2 && any.pairsScales()) {
      keepPartials(inner.addPair(places.front(), element, inGroup,
                                 [&] { return loadSums(pass, firstSum); }),
                   firstSum);
      return next;
    }
    for (int64_t number = 0; number < groupsAtOnce; ++number) {
      sums = inner.add(
          places, b.add(element, number * inGroup),
          [&] { return sumsWait(any) ? loadSums(pass, firstSum) : sums; },
          partOfGroup(any));
      if (sumsWait(any))
        keepPartials(sums, firstSum);
      for (auto [place, decoder] : llvm::zip_equal(places, pass))
        place = decoder.neighbour(place);
    }
    if (!sumsWait(any))
      next.append(sums);
    return next;
  };
  return b.forLoop(first, last, b.index(stride), start, body);
}

/// Where shares are parts of a group, what is the lane's in each of its groups:
/// a stride is a whole number of groups.
std::optional<GemvGroup::Part>
GemvKernel::partOfGroup(const WeightDecoder &decoder) {
  int64_t shares = sharesPerGroup(decoder);
  if (shares == 1)
    return std::nullopt;
  int64_t units = kStep / decoder.unitColumns();
  return GemvGroup::Part{b.mul(b.rem(share, shares), units), units};
}

/// The group of the lane's first share.
Value GemvKernel::firstGroup(const WeightDecoder &decoder) {
  int64_t shares = sharesPerGroup(decoder);
  return shares > 1 ? b.div(share, shares)
                    : b.mul(share, kStep / decoder.columnsPerGroup());
}

/// Sums of K-quants wait in the invocation's places of `partials`: where input
/// is staged, there are few registers. So do those of nibbles in f32 when a
/// part is staged at a time, which takes registers for the part.
bool GemvKernel::sumsWait(const WeightDecoder &decoder) const {
  bool isInParts = stage && !isStagedOnce;
  return stage && (decoder.isKQuant() ||
                   (isInParts && decoder.unitColumns() == 8 && !isHalf));
}

GemvKernel::Sums GemvKernel::loadSums(Pass pass, int64_t firstSum) {
  Sums sums;
  for (size_t number = 0; number < pass.size() * tileRows; ++number)
    sums.push_back(
        b.load(partials,
               b.add(lane, (firstSum + static_cast<int64_t>(number)) * lanes)));
  return sums;
}

/// The group's first element in the stage.
Value GemvKernel::elementOf(Value group, const WeightDecoder &decoder) {
  int64_t columns = decoder.columnsPerGroup();
  if (!isStagedOnce)
    group = b.rem(group, stagedColumns / columns);
  return b.mul(group, columns / stage->columnsPerElement());
}

void GemvKernel::fillStage(Value firstQuad, Value numQuads) {
  stage->fill(rows.rowBases.front(), firstQuad, numQuads, lane, stageFactor);
  b.barrier();
}

/// One stage after the other. A lane's shares go on from where they were, since
/// a stage is a whole number of strides.
SmallVector<Value> GemvKernel::runStages(Pass pass, int64_t firstSum,
                                         ValueRange start) {
  int64_t columns = pass.front().columnsPerGroup(), groupQuads = columns / 4,
          stageGroups = stagedColumns / columns;
  return b.forLoop(begin, groups, b.index(stageGroups), start,
                   [&](Value stageBegin, ValueRange carried) {
                     Value end = b.min(b.add(stageBegin, stageGroups), groups);
                     takePlace(); // the stage before this one is read
                     fillStage(b.mul(stageBegin, groupQuads),
                               b.mul(b.sub(end, stageBegin), groupQuads));
                     Value first = firstGroup(pass.front());
                     return runGroups(pass, firstSum, b.add(stageBegin, first),
                                      end, carried);
                   });
}

/// Leaves the sums in `partials`, from `firstSum` on.
void GemvKernel::runPass(Pass pass, int64_t firstSum) {
  const WeightDecoder &any = pass.front();
  Value first = firstGroup(any);
  SmallVector<Value> start;
  if (!stage) {
    Value quadOfRow = b.mul(first, any.columnsPerGroup() / 4);
    if (std::optional<GemvGroup::Part> part = partOfGroup(any))
      quadOfRow =
          b.add(quadOfRow, b.div(b.mul(part->first, any.unitColumns()), 4));
    start.push_back(quadOfRow);
  }
  for (WeightDecoder &decoder : pass)
    start.append(decoder.placeOf(first));
  // A compiler that has stored zeros once keeps them in registers to store them
  // again for the next linear; not so negative ones.
  Value zero = b.constant(b.f32x4(), stage && firstSum != 0 ? -0.0 : 0.0);
  Sums zeros(pass.size() * tileRows, zero);
  if (sumsWait(any))
    keepPartials(zeros, firstSum);
  else
    start.append(zeros);
  SmallVector<Value> done =
      stage && !isStagedOnce
          ? runStages(pass, firstSum, start)
          : runGroups(pass, firstSum, b.add(begin, first), groups, start);
  if (!sumsWait(any))
    keepPartials(Sums(ArrayRef(done).take_back(zeros.size())), firstSum);
}

/// Into workgroup memory: of every lane, or of every subgroup and quad.
void GemvKernel::keepPartials(const Sums &sums, int64_t firstSum) {
  auto placeOf = [&](size_t number, Value place) {
    return b.add(place,
                 (firstSum + static_cast<int64_t>(number)) * partialLanes);
  };
  if (!subgroup) {
    for (auto [number, sum] : llvm::enumerate(sums))
      b.store(sum, partials, placeOf(number, lane));
    return;
  }
  Sums ofSubgroup;
  for (Value sum : sums)
    ofSubgroup.push_back(sumOverStrides(b, sum, quadsAtOnce, subgroup));
  Value inSubgroup = b.rem(lane, subgroup);
  Value place = b.add(b.mul(b.div(lane, subgroup), quadsAtOnce), inSubgroup);
  b.ifThen(b.less(inSubgroup, b.index(quadsAtOnce)), [&] {
    for (auto [number, sum] : llvm::enumerate(ofSubgroup))
      b.store(sum, partials, placeOf(number, place));
  });
}

/// Linears of one pass after the other have their sums in the same workgroup
/// memory, of which occupancy depends, unless the input is staged: then there
/// are no registers for the results of the first.
void GemvKernel::runPasses() {
  auto numLinears = static_cast<int64_t>(parts.linears.size());
  partials = b.workgroupMemory((stage ? numLinears : linearsAtOnce) *
                                   tilesAtOnce * tileRows * partialLanes,
                               b.f32x4());
  for (int64_t first = 0; first < numLinears; first += linearsAtOnce) {
    if (stage && first != 0)
      takePlace();
    else if (first != 0)
      reducePass();
    bindWeights(first);
    runPass(MutableArrayRef(decoders).slice(first * tilesAtOnce,
                                            linearsAtOnce * tilesAtOnce),
            stage ? first * tileRows : 0);
  }
  if (stage)
    takePlace();
}

/// What the lanes have for result `result` of the linear whose sums begin at
/// section `section`, of a row each.
Value GemvKernel::sumOverShares(int64_t section, Value result) {
  auto [sums, quadInTile] = partialOf(result);
  Value first = b.add(b.mul(b.add(sums, section), partialLanes), quadInTile);
  if (subgroup)
    return sumInOrder(b, partials, first, partialLanes / quadsAtOnce,
                      quadsAtOnce);
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

//===----------------------------------------------------------------------===//
// The norm, and the range of half precision
//===----------------------------------------------------------------------===//

/// `add` over the lane's share of a row of the input, four columns at a time.
Value GemvKernel::overRow(Value base, Value initial,
                          llvm::function_ref<Value(Value, Value)> add) {
  int64_t quads = parts.layout().paddedColumns / 4;
  return b.forLoop(lane, b.opaqueIndex(quads), b.index(lanes), initial,
                   [&](Value quad, ValueRange carried) {
                     return SmallVector<Value>{
                         add(input->load(base, quad), carried.front())};
                   })[0];
}

/// What the norm multiplies a row of the input by; the same for every lane.
Value GemvKernel::inverseRoot(Value base) {
  Value squares = overRow(base, b.f32(0.0), [&](Value x, Value sum) {
    for (int64_t i = 0; i < 4; ++i)
      sum = b.fma(b.extract(x, i), b.extract(x, i), sum);
    return sum;
  });
  Value mean = b.mul(sumOverWorkgroup(b, squares, lane, lanes, subgroup),
                     b.f32(1.0 / static_cast<double>(parts.layout().columns)));
  Value root =
      b.sqrt(b.add(mean, b.f32(parts.norm.getEpsilon().convertToFloat())));
  return b.div(b.f32(1.0), root);
}

/// Half precision: sets the power of two that the input is multiplied by, and
/// returns the factor of the result. With a norm, it is the one next to the
/// norm's own factor; numbers are then of the size of the gains. Else it brings
/// the largest number of the row between a quarter and half of the largest one
/// allowed.
Value GemvKernel::scaleStage() {
  constexpr int64_t kExponent = 0x7f800000;
  double half = GemvGroup::halfFactor(decoders.front());
  Value base = rows.rowBases.front();
  if (parts.norm) {
    Value inverse = inverseRoot(base);
    Value power = b.bitcastToF32(b.bitAnd(b.bitcastToI32(inverse), kExponent));
    stageFactor = b.mul(power, b.f32(half));
    return b.div(inverse, stageFactor);
  }
  constexpr double kTarget = 2048;
  static_assert(2 * kTarget <= GemvGroup::kLargestHalfInput);
  Value largest = overRow(base, b.f32(0.0), [&](Value x, Value most) {
    for (int64_t i = 0; i < 4; ++i)
      most = b.max(most, b.abs(b.extract(x, i)));
    return most;
  });
  largest = maxOverWorkgroup(b, largest, lane, lanes);
  // Of a row of zeros or tiny numbers, as if they were a little larger, so that
  // the factor is finite.
  Value power = b.bitcastToF32(
      b.bitAnd(b.bitcastToI32(b.max(largest, b.f32(0x1p-100))), kExponent));
  stageFactor = b.div(b.f32(kTarget * half), power);
  return b.div(power, b.f32(kTarget * half));
}

/// Before the loops. What is needed after them only waits in workgroup memory:
/// it would be registers in them.
void GemvKernel::prepareStage() {
  stage.emplace(b, *input, decoders.front(), stagedColumns, lanes, isHalf);
  rows.stage = &*stage;
  waitingPlace = b.workgroupMemory(lanes, b.i32x4());
  SmallVector<Value> place;
  for (Value number : {quad, share, firstRow, begin})
    place.push_back(b.toI32(number));
  b.store(b.vector(place), waitingPlace, lane);
  if (isHalf) {
    waitingFactors = b.workgroupMemory(2, b.getF32Type());
    Value resultFactor = scaleStage();
    b.ifThen(b.equal(lane, b.index(0)), [&] {
      b.store(stageFactor, waitingFactors, b.index(0));
      b.store(resultFactor, waitingFactors, b.index(1));
    });
  }
  if (isStagedOnce)
    fillStage(b.index(0), b.opaqueIndex(stagedColumns / 4));
  else
    b.barrier();
}

/// What waits, behind a barrier: compilers would keep what they loaded before.
void GemvKernel::takePlace() {
  b.barrier();
  Value place = b.load(waitingPlace, lane);
  int64_t number = 0;
  for (Value *index : {&quad, &share, &firstRow, &begin})
    *index = b.toIndex(b.extract(place, number++));
  firstQuad =
      b.mul(experts ? b.groupId(gpu::Dimension::x) : b.div(quad, kQuadsPerTile),
            kQuadsPerTile);
  rows.rowBases.front() = input->rowBase(firstRow, 0);
  if (isHalf)
    stageFactor = b.load(waitingFactors, b.index(0));
}

/// Sets what the results of each row are multiplied by.
void GemvKernel::normalize() {
  for (Value base : rows.rowBases)
    if (parts.norm)
      resultFactors.push_back(inverseRoot(base));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Of result number `result`: the tile and row together, and the quad in the
/// tile.
std::pair<Value, Value> GemvKernel::partialOf(Value result) {
  if (tilesAtOnce * tileRows == 1)
    return {b.index(0), result};
  return {b.div(result, quadsAtOnce), b.rem(result, quadsAtOnce)};
}

/// Of result number `result`: the row of the tile, and the quad of the weight.
std::pair<Value, Value> GemvKernel::placeOf(Value result) {
  auto [row, quadInTile] = partialOf(result);
  Value quad = b.add(firstQuad, quadInTile);
  if (tilesAtOnce > 1) {
    quad = b.add(quad, b.mul(b.div(row, tileRows), kQuadsPerTile));
    row = b.rem(row, tileRows);
  }
  return {row, quad};
}

/// Result number `result`; of this lane's results number `ofLane`.
LogicalResult GemvKernel::storeResult(Value result, int64_t ofLane) {
  auto [row, quad] = placeOf(result);
  Value factor;
  for (auto [number, ofRow] : llvm::enumerate(resultFactors))
    factor =
        factor ? b.select(b.equal(row, b.index(number)), ofRow, factor) : ofRow;
  Value resultRow = b.add(firstRow, row);
  if (experts) {
    quad = b.add(quad, experts->firstQuadOf(resultRow));
    resultRow = experts->rowOf(resultRow);
  }
  ElementwiseEmitter emitter(unit, resultRow, quad);
  for (auto [number, linear] : llvm::enumerate(parts.linears)) {
    size_t last = number - earlierResults.size();
    Value sum =
        number < earlierResults.size()
            ? earlierResults[number][ofLane]
            : sumOverShares(static_cast<int64_t>(last) * tileRows, result);
    emitter.map(linear->getResult(0),
                factor ? b.mul(sum, b.splat(factor)) : sum);
  }
  for (unsigned number = 0; number < context.getRegion().getNumResults();
       ++number)
    if (failed(emitter.storeResult(number)))
      return failure();
  return success();
}

LogicalResult GemvKernel::reduceAndStore() {
  int64_t usedQuads = paddedRow(parts.outputs()) / 4;
  LogicalResult ok = success();
  for (int64_t base = 0; base < numResults(); base += lanes) {
    Value result = b.add(lane, base);
    auto [row, quad] = placeOf(result);
    Value stores = b.less(result, b.index(numResults()));
    if (usedQuads % (quadsAtOnce * tilesAtOnce) != 0)
      stores = b.logicalAnd(stores, b.less(quad, b.index(usedQuads)));
    if (numRows % tileRows != 0)
      stores =
          b.logicalAnd(stores, b.less(b.add(firstRow, row), b.index(numRows)));
    if (mayBeElsewhere)
      stores = b.logicalAnd(stores, b.less(begin, groups));
    b.ifThen(stores, [&] { ok = storeResult(result, base / lanes); });
    if (failed(ok))
      return failure();
  }
  return success();
}

/// Those of a pass, whose first linear is `first`. A second tile that the
/// weight does not have is the first one again, and nothing of it is stored.
void GemvKernel::bindWeights(int64_t first) {
  int64_t numTiles = parts.layout().paddedRows / kTileRows;
  for (auto number = static_cast<int64_t>(decoders.size()) / tilesAtOnce;
       number < first + linearsAtOnce; ++number)
    for (int64_t next = 0; next < tilesAtOnce; ++next) {
      Value ofTile = b.add(quad, next * kQuadsPerTile);
      if (next > 0 && numTiles % tilesAtOnce != 0)
        ofTile = b.select(b.less(ofTile, b.index(numTiles * kQuadsPerTile)),
                          ofTile, quad);
      decoders.emplace_back(unit, parts.weights[number], ofTile, kStep, decode);
    }
}

/// A workgroup of rows beyond the step's, or of an expert in another part of
/// the weight, begins behind the last group; a step has one row.
void GemvKernel::setBegin(Value tileOfWeight) {
  Value works;
  if (context.rowsOf(parts.resultType()) != 1)
    works = b.less(experts ? experts->rowOf(firstRow) : firstRow,
                   unit.numRows(parts.resultType()));
  if (Value isHere = experts ? experts->isInPart(tileOfWeight) : Value()) {
    works = works ? b.logicalAnd(works, isHere) : isHere;
    mayBeElsewhere = true;
  }
  begin = works ? b.select(works, b.index(0), groups) : b.index(0);
}

LogicalResult GemvKernel::emit() {
  FailureOr<LinearInput> bound = LinearInput::bind(unit, parts);
  if (failed(bound))
    return failure();
  input = *bound;
  int64_t rowTiles = llvm::divideCeilSigned(numRows, tileRows);
  lane = subgroup ? subgroupLane(b, subgroup) : b.localId();
  Value tile = b.mul(b.groupId(gpu::Dimension::x), tilesAtOnce);
  firstQuad = b.mul(tile, quadsAtOnce);
  firstRow = rowTiles == 1 ? b.index(0)
                           : b.mul(b.groupId(gpu::Dimension::y), tileRows);
  Value ofWeight = experts ? experts->tileOfWeight(firstRow, tile) : tile;
  quad = b.add(b.mul(ofWeight, quadsAtOnce), b.rem(lane, quadsAtOnce));
  share = b.div(lane, quadsAtOnce);
  decoders.reserve(parts.linears.size() * tilesAtOnce);
  bindWeights(0);
  rows.input = &*input;
  for (int64_t row = 0; row < tileRows; ++row)
    rows.rowBases.push_back(input->rowBase(
        b.add(firstRow, row), numRows % tileRows != 0 ? numRows : 0));

  if (exchangesInput)
    rows.exchange = &exchange.emplace(b, *input, subgroup);
  groups = b.opaqueIndex(decoders.front().numGroups());
  setBegin(ofWeight);
  if (stagedColumns != 0)
    prepareStage();
  runPasses();
  if (isHalf)
    resultFactors.push_back(b.load(waitingFactors, b.index(1)));
  // The input is in the cache by now, and less is alive than before the loop.
  if (!isHalf)
    normalize();
  // A stage's place and the sums of a norm come by barriers, unless one
  // subgroup is all.
  if (!stage && (isHalf || !parts.norm || subgroup == lanes))
    b.barrier();
  if (failed(reduceAndStore()))
    return failure();
  unit.finish(
      parts.label(context.getConfig().getKind().getValue(), numRows),
      {llvm::divideCeilSigned(parts.outputs(), 4 * quadsAtOnce * tilesAtOnce),
       rowTiles, 1});
  return success();
}

} // namespace

LogicalResult lowerGemv(RegionContext &context) {
  FailureOr<LinearRegion> parts = analyzeLinear(context);
  if (failed(parts))
    return failure();
  if (failed(GemvConfig(context, *parts).verify(context, *parts)))
    return failure();
  return GemvKernel(context, *parts).emit();
}

} // namespace llmc::codegen
