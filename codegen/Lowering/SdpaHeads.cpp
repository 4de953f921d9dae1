// SPDX-License-Identifier: Apache-2.0
//
// SdpaHeads.h.

#include "codegen/Lowering/SdpaHeads.h"

#include "codegen/Lowering/ActivationRows.h"
#include "codegen/Lowering/Reduction.h"

#include "llvm/Support/MathExtras.h"

namespace llmc::codegen {

bool preparesHeads(graph::SdpaOp sdpa) {
  return sdpa.getKey().getDefiningOp<graph::KvAppendOp>() != nullptr;
}

static bool areEqual(graph::RmsNormOp lhs, graph::RmsNormOp rhs) {
  if (!lhs || !rhs)
    return !lhs && !rhs;
  return lhs.getEpsilon() == rhs.getEpsilon();
}

/// Of weights that may be dequantized for each of them.
static bool areEqual(Value lhs, Value rhs) {
  auto encoded = [](Value value) {
    auto dequantize = value ? value.getDefiningOp<graph::DequantizeOp>()
                            : graph::DequantizeOp();
    return dequantize ? dequantize.getInput() : value;
  };
  return encoded(lhs) == encoded(rhs);
}

static bool areEqual(graph::RotaryOp lhs, graph::RotaryOp rhs) {
  if (!lhs || !rhs)
    return !lhs && !rhs;
  // Without positions, whose rows are those of texts.
  return lhs.getPosition() && rhs.getPosition() &&
         lhs->getAttrDictionary() == rhs->getAttrDictionary() &&
         areEqual(lhs.getFactors(), rhs.getFactors());
}

bool canPrepareTogether(SdpaChains &chains) {
  auto &[query, key, value] = chains;
  if (query.append || !key.append || !value.append || value.norm ||
      value.rotary || !areEqual(query.norm, key.norm) ||
      !areEqual(query.rotary, key.rotary))
    return false;
  return llvm::all_of(chains, [](HeadChain &chain) {
    return chain.type.getRank() == 3 && chain.type.getDimSize(2) % 8 == 0 &&
           chain.rotaryDim() % 8 == 0;
  });
}

SdpaHeads::SdpaHeads(KernelUnit &unit, graph::SdpaOp sdpa,
                     const SdpaShape &shape)
    : unit(unit), b(unit.builder()), shape(shape),
      chains{readHeadChain(sdpa.getQuery()), readHeadChain(sdpa.getKey()),
             readHeadChain(sdpa.getValue())},
      vectors{4, shape.quads()} {}

LogicalResult SdpaHeads::bind() {
  graph::RegionOp region = unit.getContext().getRegion();
  bool isWhole =
      shape.queries >= shape.group() || shape.group() % shape.queries == 0;
  if (!canPrepareTogether(chains) || shape.rows != 1 || !isWhole ||
      headsPerPass() == 0)
    return region.emitOpError(
               "prepares heads for one row, alike those of query "
               "and key, ")
           << shape.group() << " of them or a part in a workgroup; found "
           << shape.queries << " queries of " << shape.rows
           << " rows in a workgroup of " << shape.workgroup;
  for (auto [chain, source] : llvm::zip(chains, sources)) {
    FailureOr<View> view = unit.getContext().view(chain.source);
    if (failed(view))
      return failure();
    source = *view;
  }
  memory = b.workgroupMemory(numHeads() * vectors.vectors, b.f32x4());
  return success();
}

/// Two vectors, sines and cosines, what is turned; turnip loads gains and
/// sources early besides (Mesa 26.2.6).
int64_t SdpaHeads::registers(int64_t ofLoops) {
  bool isAdreno =
      unit.getContext().getDevice().getFamily() == target::Family::Adreno;
  return std::max<int64_t>(ofLoops, isAdreno && chains[0].norm ? 84 : 40);
}

/// Chains that begin in one tensor are one load, whose place depends on the
/// head.
VectorPair SdpaHeads::loadSource(const Head &head, const HeadLane &at,
                                 Value kvHead) {
  Value firstQuery = b.mul(kvHead, shape.group());
  if (numQueries() < shape.group())
    firstQuery =
        b.add(firstQuery, b.mul(b.groupId(gpu::Dimension::x), numQueries()));
  Value inGroup[] = {b.add(firstQuery, head.number), kvHead, kvHead};
  Value chosen[] = {head.isQuery, {}, head.isValue};
  VectorPair x;
  for (unsigned number : {1U, 0U, 2U}) {
    const View &source = sources[number];
    Value first = b.add(b.mul(inGroup[number], shape.quads()),
                        b.index(source.offset / 4));
    if (number == 1) { // key
      for (unsigned other : {0U, 2U})
        if (sources[other].slice == source.slice)
          first = b.select(chosen[other],
                           b.add(b.mul(inGroup[other], shape.quads()),
                                 b.index(sources[other].offset / 4)),
                           first);
    } else if (source.slice == sources[1].slice) {
      continue;
    } else {
      first = b.select(chosen[number], first, b.index(0));
    }
    ActivationRows rows(unit, source, program::Access::Read, vectors.width);
    VectorPair loaded = {rows.load(b.add(first, at.first)),
                         rows.load(b.add(first, at.second))};
    x = number == 1
            ? loaded
            : VectorPair{b.select(chosen[number], loaded.first, x.first),
                         b.select(chosen[number], loaded.second, x.second)};
  }
  return x;
}

/// Whether the lanes of a head are neighbours in one subgroup.
bool SdpaHeads::sumsInSubgroup(int64_t subgroup) const {
  return vectors.lanes() <= subgroup &&
         llvm::isPowerOf2_64(static_cast<uint64_t>(vectors.lanes()));
}

/// Norms `x`, unless it is a value.
LogicalResult SdpaHeads::norm(const Head &head, const HeadLane &at,
                              int64_t pass, Value firstLane,
                              const SdpaHeadsUse &use, VectorPair &x) {
  FailureOr<Value> ofQuery =
      unit.bindVector(chains[0].norm.getGain(), b.f32x4());
  FailureOr<Value> ofKey = unit.bindVector(chains[1].norm.getGain(), b.f32x4());
  if (failed(ofQuery) || failed(ofKey))
    return failure();
  Value inverse;
  if (sumsInSubgroup(use.subgroup)) {
    inverse =
        emitInverseNorm(b, chains[0].norm, vectors, at, x, [&](Value ofLane) {
          return sumOverNeighbours(b, ofLane, vectors.lanes(), use.subgroup);
        });
  } else {
    if (!squares)
      squares = b.workgroupMemory(
          shape.workgroup * llvm::divideCeil(numHeads(), headsPerPass()),
          b.getF32Type());
    inverse = emitInverseNorm(b, chains[0].norm, vectors, at, x, squares,
                              pass * shape.workgroup, firstLane);
  }
  inverse = b.splat(inverse);
  auto apply = [&](Value number, Value part) {
    Value gain = b.select(head.isQuery, b.load(*ofQuery, number),
                          b.load(*ofKey, number));
    return b.select(head.isValue, part, b.mul(b.mul(part, inverse), gain));
  };
  x = {apply(at.first, x.first), apply(at.second, x.second)};
  return success();
}

/// Writes the row that is head `head` of the memory.
void SdpaHeads::store(const CachedRows &rows, int64_t head, Value kvHead,
                      Value place, Value isWritten) {
  int64_t loads = rows.loadsPerKey();
  for (int64_t done = 0; done < loads; done += shape.workgroup) {
    Value load = b.add(b.localId(), done);
    b.ifThen(b.logicalAnd(isWritten, b.less(load, b.index(loads))), [&] {
      Value first = b.add(b.mul(load, rows.quadsPerLoad()),
                          b.index(head * shape.quads()));
      SmallVector<Value> quads;
      for (int64_t i = 0; i < rows.quadsPerLoad(); ++i)
        quads.push_back(loadQuad(b.add(first, i)));
      rows.store(
          quads,
          b.add(b.add(rows.firstLoad(kvHead), b.mul(place, loads)), load));
    });
  }
}

LogicalResult SdpaHeads::emit(const CachedRows &keys, const CachedRows &values,
                              const SdpaHeadsUse &use) {
  Value kvHead = b.groupId(gpu::Dimension::y);
  Value thread = sumsInSubgroup(use.subgroup) ? use.thread : b.localId(),
        lastSlot = b.index(headsPerPass() - 1);
  Value lane = b.rem(thread, vectors.lanes()),
        slot = b.div(thread, vectors.lanes());
  Value firstLane = b.mul(b.min(slot, lastSlot), vectors.lanes());
  HeadLane at = emitHeadLane(b, chains[0], vectors, lane);
  HeadTurn turn(unit, chains[0].rotary, vectors, at, b.index(0), use.angles);
  for (int64_t pass = 0; pass * headsPerPass() < numHeads(); ++pass) {
    Value number = b.add(slot, pass * headsPerPass());
    Head head;
    head.exists = b.logicalAnd(b.less(slot, b.index(headsPerPass())),
                               b.less(number, b.index(numHeads())));
    head.number = b.min(number, b.index(numHeads() - 1));
    head.isQuery = b.less(head.number, b.index(numQueries()));
    head.isValue = b.equal(head.number, b.index(numHeads() - 1));
    VectorPair x = loadSource(head, at, kvHead);
    if (chains[0].norm && failed(norm(head, at, pass, firstLane, use, x)))
      return failure();
    if (chains[0].rotary) {
      FailureOr<VectorPair> turned = turn.turn(x);
      if (failed(turned))
        return failure();
      x = {b.select(head.isValue, x.first, turned->first),
           b.select(head.isValue, x.second, turned->second)};
    }
    b.ifThen(head.exists, [&] {
      Value first = b.mul(head.number, shape.quads());
      b.store(x.first, memory, b.add(first, at.first));
      b.store(x.second, memory, b.add(first, at.second));
    });
  }
  b.barrier();

  FailureOr<StepWord> word =
      unit.getContext().word(chains[1].append.getPosition());
  if (failed(word))
    return failure();
  Value position = b.toIndex(unit.stepWord(*word));
  Value isWritten =
      b.logicalAnd(b.less(position, b.index(shape.capacity)),
                   b.less(b.index(0), unit.numRows(sources[1].type)));
  if (use.writes)
    isWritten = b.logicalAnd(isWritten, use.writes);
  else if (shape.splits > 1)
    isWritten = b.logicalAnd(
        isWritten, b.equal(b.rem(b.div(position, shape.keys), shape.splits),
                           b.groupId(gpu::Dimension::z)));
  store(keys, numQueries(), kvHead, position, isWritten);
  store(values, numQueries() + 1, kvHead, position, isWritten);
  if (use.readsBack)
    b.bufferBarrier();
  return success();
}

} // namespace llmc::codegen
