// SPDX-License-Identifier: Apache-2.0
//
// HeadTurn.h.

#include "codegen/Lowering/HeadTurn.h"

#include "codegen/Lowering/Reduction.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace llmc::codegen {

/// f32 and a vector of `width` of them, which is the number for 1.
static Type typeOf(KernelBuilder &b, int64_t width) {
  Type f32 = b.getF32Type();
  return width == 1 ? f32 : VectorType::get(width, f32);
}
static Value splatTo(KernelBuilder &b, Value scalar, int64_t width) {
  return width == 1 ? scalar : b.splat(scalar, width);
}

HeadLane emitHeadLane(KernelBuilder &b, HeadChain &chain, HeadVectors vectors,
                      Value lane) {
  HeadLane at = {lane, b.mul(lane, 2), {}, {}};
  at.second = b.add(at.first, 1);
  if (chain.turnsHalves()) {
    int64_t turnedLanes = chain.rotaryDim() / (2 * vectors.width);
    Value turns = b.less(lane, b.index(turnedLanes));
    at.first = b.select(turns, lane, at.first);
    at.second = b.select(turns, b.add(lane, turnedLanes), at.second);
  }
  if (vectors.vectors % 2 != 0) {
    at.hasSecond = b.less(at.second, b.index(vectors.vectors));
    at.second = b.select(at.hasSecond, at.second, b.index(0));
  }
  return at;
}

Value emitInverseNorm(KernelBuilder &b, graph::RmsNormOp norm,
                      HeadVectors vectors, const HeadLane &at, VectorPair x,
                      llvm::function_ref<Value(Value ofLane)> sumOfHead) {
  Value zero = b.constant(x.first.getType(), 0.0);
  Value counted =
      at.hasSecond ? b.select(at.hasSecond, x.second, zero) : x.second;
  Value sum = b.fma(counted, counted, b.mul(x.first, x.first));
  Value all = sumOfHead(vectors.width == 1 ? sum : b.sumOfLanes(sum));
  int64_t headDim = vectors.width * vectors.vectors;
  Value mean = b.mul(all, b.f32(1.0 / static_cast<double>(headDim)));
  return b.div(b.f32(1.0),
               b.sqrt(b.add(mean, b.f32(norm.getEpsilon().convertToFloat()))));
}

Value emitInverseNorm(KernelBuilder &b, graph::RmsNormOp norm,
                      HeadVectors vectors, const HeadLane &at, VectorPair x,
                      Value squares, int64_t firstSquare, Value firstLane) {
  return emitInverseNorm(b, norm, vectors, at, x, [&](Value ofLane) {
    b.store(ofLane, squares, b.add(b.localId(), firstSquare));
    b.barrier();
    return sumInOrder(b, squares, b.add(firstLane, firstSquare),
                      vectors.lanes());
  });
}

/// (x0 x1 x2 x3), (x4 x5 x6 x7) to (x0 x2 x4 x6), (x1 x3 x5 x7).
VectorPair HeadTurn::deinterleave(VectorPair x) {
  if (vectors.width == 1)
    return x;
  SmallVector<int64_t> even, odd;
  for (int64_t i = 0; i < vectors.width; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  return {mlir::vector::ShuffleOp::create(b, x.first, x.second, even),
          mlir::vector::ShuffleOp::create(b, x.first, x.second, odd)};
}

VectorPair HeadTurn::interleave(VectorPair x) {
  if (vectors.width == 1)
    return x;
  SmallVector<int64_t> all;
  for (int64_t i = 0; i < vectors.width; ++i)
    all.append({i, vectors.width + i});
  ArrayRef<int64_t> mask(all);
  return {mlir::vector::ShuffleOp::create(b, x.first, x.second,
                                          mask.take_front(vectors.width)),
          mlir::vector::ShuffleOp::create(b, x.first, x.second,
                                          mask.drop_front(vectors.width))};
}

/// The row's place in its text, as i32.
FailureOr<Value> HeadTurn::emitPosition() {
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
FailureOr<FrequencyValues> HeadTurn::emitFrequency() {
  int64_t width = vectors.width;
  Type i32 = b.getI32Type();
  auto literal = [&](ArrayRef<int32_t> values) -> Value {
    if (width == 1)
      return b.i32(values.front());
    return mlir::arith::ConstantOp::create(
        b, mlir::DenseElementsAttr::get(VectorType::get(width, i32), values));
  };
  double base = rotary.getBase().convertToFloat(),
         scale = rotary.getPositionScale().convertToFloat();
  FrequencyValues chosen = {};
  for (int64_t number = 0; number < turnedLanes(); ++number) {
    SmallVector<int32_t> high, low;
    for (int64_t i = 0; i < width; ++i) {
      TurnFrequency frequency =
          turnFrequency(base, static_cast<int64_t>(rotary.getRotaryDim()),
                        scale, number * width + i);
      high.push_back(static_cast<int32_t>(frequency.high));
      low.push_back(static_cast<int32_t>(frequency.low));
    }
    FrequencyValues entry = {literal(high), literal(low)};
    if (number == 0) {
      chosen = entry;
      continue;
    }
    Value isMine = b.equal(at.lane, b.index(number));
    chosen = {b.select(isMine, entry.high, chosen.high),
              b.select(isMine, entry.low, chosen.low)};
  }
  if (!rotary.getFactors())
    return chosen;
  FailureOr<Value> factors =
      unit.bindVector(rotary.getFactors(), typeOf(b, width));
  if (failed(factors))
    return failure();
  Value last = b.index(turnedLanes() - 1);
  return divideFrequency(b, chosen, b.load(*factors, b.min(at.lane, last)));
}

FailureOr<VectorPair> HeadTurn::angles() {
  if (table) {
    Value lane = b.min(at.lane, b.index(turnedLanes() - 1));
    return VectorPair{b.load(table, lane),
                      b.load(table, b.add(lane, turnedLanes()))};
  }
  FailureOr<Value> position = emitPosition();
  FailureOr<FrequencyValues> frequency = emitFrequency();
  if (failed(position) || failed(frequency))
    return failure();
  return VectorPair(
      sineCosine(b, splatTo(b, *position, vectors.width), *frequency));
}

FailureOr<VectorPair> HeadTurn::turn(VectorPair x) {
  bool isHalves = rotary.getPairs() == graph::RotaryPairs::Half;
  VectorPair pairs = isHalves ? x : deinterleave(x);
  FailureOr<VectorPair> both = angles();
  if (failed(both))
    return failure();
  auto [sine, cosine] = *both;
  VectorPair turned = {
      b.sub(b.mul(pairs.first, cosine), b.mul(pairs.second, sine)),
      b.add(b.mul(pairs.second, cosine), b.mul(pairs.first, sine))};
  if (!isHalves)
    turned = interleave(turned);
  Value turns = b.less(at.lane, b.index(turnedLanes()));
  return VectorPair{b.select(turns, turned.first, x.first),
                    b.select(turns, turned.second, x.second)};
}

} // namespace llmc::codegen
