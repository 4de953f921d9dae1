// SPDX-License-Identifier: Apache-2.0
//
// Linears for few rows. A workgroup computes 16 rows of the weight (a tile,
// four quads), those of two tiles side by side, or some quads of a tile, for up
// to eight rows of the input: a lane takes one quad of each and every n-th
// share of the columns, so that each weight is read once, 64 contiguous bytes
// for four lanes; the lanes' sums are added in workgroup memory in a fixed
// order. A norm of the input costs its gain, in the loop or, for staged input
// (GemvStage.h), before it, and a short loop for the sum of squares; the result
// is scaled. Where each lane has one share there are no loops, and a norm's
// squares are those of the share. Rows of expert_linears are places
// (ExpertPlace.h), one to a workgroup.

#include "codegen/Lowering/GemvKernel.h"
#include "codegen/Lowering/Reduction.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

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
      rows.firstPreloaded = number * inGroup;
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
  if (takesOneTurn || tileWorkgroups != 0) // a lane has one share
    return body(first, start);
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
void GemvKernel::makePartials() {
  auto numLinears = static_cast<int64_t>(parts.linears.size());
  partials = b.workgroupMemory((stage ? numLinears : linearsAtOnce) *
                                   tilesAtOnce * tileRows * partialLanes,
                               b.f32x4());
}

void GemvKernel::runPasses() {
  auto numLinears = static_cast<int64_t>(parts.linears.size());
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

/// The lane's quad, of the tile or part of a tile with that number, and its
/// weights.
void GemvKernel::bindTile(Value ofWeight) {
  quad = b.add(b.mul(ofWeight, quadsAtOnce), b.rem(lane, quadsAtOnce));
  decoders.clear();
  decoders.reserve(parts.linears.size() * tilesAtOnce);
  bindWeights(0);
}

/// The workgroup's tile, from its columns to its results.
LogicalResult GemvKernel::emitTile() {
  if (stagedColumns != 0)
    prepareStage();
  if (!partials)
    makePartials();
  if (takesOneTurn)
    preloadInput();
  if (failed(preloadOperands()))
    return failure();
  runPasses();
  if (isHalf)
    resultFactors.push_back(b.load(waitingFactors, b.index(1)));
  // The input is in the cache by now, and less is alive than before the loop.
  if (!isHalf && tileWorkgroups == 0)
    normalize();
  // A stage's place and the sums of a norm come by barriers, unless one
  // subgroup is all.
  bool hasBarrier = stage || (!isHalf && parts.norm && subgroup != lanes);
  if (!hasBarrier || tileWorkgroups != 0)
    b.barrier();
  return reduceAndStore();
}

/// Every so-manieth tile. What depends on the input alone comes first.
LogicalResult GemvKernel::emitTilesInTurn() {
  preloadInput();
  normalize();
  for (auto [x, gain] : llvm::zip(rows.preloaded, rows.preloadedGains))
    x = b.mul(x, gain);
  rows.preloadedGains.clear();
  makePartials();
  LogicalResult ok = success();
  b.forLoop(b.groupId(gpu::Dimension::x),
            b.index(llvm::divideCeilSigned(parts.outputs(), 4 * quadsAtOnce)),
            b.index(tileWorkgroups), [&](Value tile) {
              firstQuad = b.mul(tile, quadsAtOnce);
              bindTile(tile);
              ok = emitTile();
              b.barrier(); // sums of this tile are read
            });
  return ok;
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
  share = b.div(lane, quadsAtOnce);
  bindTile(ofWeight);
  rows.input = &*input;
  for (int64_t row = 0; row < tileRows; ++row)
    rows.rowBases.push_back(input->rowBase(
        b.add(firstRow, row), numRows % tileRows != 0 ? numRows : 0));

  if (exchangesInput)
    rows.exchange = &exchange.emplace(b, *input, subgroup);
  groups = b.opaqueIndex(decoders.front().numGroups());
  setBegin(ofWeight);
  if (failed(tileWorkgroups != 0 ? emitTilesInTurn() : emitTile()))
    return failure();
  int64_t tiles =
      llvm::divideCeilSigned(parts.outputs(), 4 * quadsAtOnce * tilesAtOnce);
  unit.finish(parts.label(context.getConfig().getKind().getValue(), numRows),
              {tileWorkgroups != 0 ? std::min(tileWorkgroups, tiles) : tiles,
               rowTiles, 1});
  return success();
}

LogicalResult lowerGemv(RegionContext &context) {
  FailureOr<LinearRegion> parts = analyzeLinear(context);
  if (failed(parts))
    return failure();
  if (failed(GemvConfig(context, *parts).verify(context, *parts)))
    return failure();
  return GemvKernel(context, *parts).emit();
}

} // namespace llmc::codegen
