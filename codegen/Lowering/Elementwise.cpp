// SPDX-License-Identifier: Apache-2.0
//
// Element-wise graph ops on vectors of four columns. Arguments of exp are
// clamped everywhere: some drivers give NaN for large ones, and the clamp costs
// an instruction. tanh is made of exp.

#include "codegen/Lowering/Elementwise.h"

#include "codegen/Lowering/ActivationRows.h"

#include "llvm/ADT/TypeSwitch.h"

#include <array>

namespace llmc::codegen {

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// exp is infinite in f32 from 88.8 on.
static Value emitExp(KernelBuilder &b, Value x) {
  return b.exp(b.min(x, b.constant(x.getType(), 88.0)));
}

/// numerator / (1 + exp(-x))
static Value emitSigmoid(KernelBuilder &b, Value numerator, Value x) {
  return b.div(numerator,
               b.add(b.constant(x.getType(), 1.0), emitExp(b, b.neg(x))));
}

/// 2 / (1 + exp(-2x)) - 1: as exact as the quotient of sums of two exponentials
/// that drivers make of tanh, with one exponential instead of two.
static Value emitTanh(KernelBuilder &b, Value x) {
  Type type = x.getType();
  return b.add(
      emitSigmoid(b, b.constant(type, 2.0), b.mul(x, b.constant(type, 2.0))),
      b.constant(type, -1.0));
}

/// x/2 * (1 + factor)
static Value emitGate(KernelBuilder &b, Value x, Value factor) {
  Value half = b.mul(x, b.constant(x.getType(), 0.5));
  return b.fma(half, factor, half);
}

/// x/2 * (1 + tanh(u)) is x / (1 + exp(-2u)).
static Value emitGeluTanh(KernelBuilder &b, Value x) {
  Type type = x.getType();
  Value cubic = b.mul(b.mul(x, x), b.mul(x, b.constant(type, 0.044715)));
  Value twice =
      b.mul(b.add(x, cubic),
            b.constant(type, 1.59576912160573071176)); // 2 sqrt(2 / pi)
  return emitSigmoid(b, x, twice);
}

/// erf by Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26:
/// absolute error at most 1.5e-7.
static Value emitErf(KernelBuilder &b, Value x) {
  constexpr std::array<double, 5> kCoefficients = {
      1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592};
  constexpr double kP = 0.3275911;
  Type type = x.getType();
  Value one = b.constant(type, 1.0), zero = b.constant(type, 0.0);
  Value magnitude = b.max(x, b.neg(x));
  Value t = b.div(one, b.fma(magnitude, b.constant(type, kP), one));
  Value polynomial = b.constant(type, kCoefficients[0]);
  for (double coefficient : llvm::drop_begin(kCoefficients))
    polynomial = b.fma(polynomial, t, b.constant(type, coefficient));
  Value square = b.min(b.mul(magnitude, magnitude), b.constant(type, 88.0));
  Value positive =
      b.sub(one, b.mul(b.mul(polynomial, t), b.exp(b.neg(square))));
  return b.select(b.less(x, zero), b.neg(positive), positive);
}

static Value emitGelu(KernelBuilder &b, Value x) {
  return emitGate(
      b, x,
      emitErf(b, b.mul(x, b.constant(x.getType(),
                                     0.70710678118654752440)))); // 1 / sqrt 2
}

Value emitElementwise(KernelBuilder &b, Operation *op, ValueRange operands) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::AddOp) { return b.add(operands[0], operands[1]); })
      .Case([&](graph::SubOp) { return b.sub(operands[0], operands[1]); })
      .Case([&](graph::MulOp) { return b.mul(operands[0], operands[1]); })
      .Case([&](graph::DivOp) { return b.div(operands[0], operands[1]); })
      .Case([&](graph::ConvertOp) { return operands[0]; })
      .Case([&](graph::SiluOp) {
        return emitSigmoid(b, operands[0], operands[0]);
      })
      .Case([&](graph::SigmoidOp) {
        return emitSigmoid(b, b.constant(operands[0].getType(), 1.0),
                           operands[0]);
      })
      .Case([&](graph::ReluOp) {
        return b.max(operands[0], b.constant(operands[0].getType(), 0.0));
      })
      .Case([&](graph::ExpOp) { return emitExp(b, operands[0]); })
      .Case([&](graph::SqrtOp) { return b.sqrt(operands[0]); })
      .Case([&](graph::ErfOp) { return emitErf(b, operands[0]); })
      .Case([&](graph::GeluOp) { return emitGelu(b, operands[0]); })
      .Case([&](graph::GeluTanhOp) { return emitGeluTanh(b, operands[0]); })
      .Case([&](graph::TanhOp) { return emitTanh(b, operands[0]); });
}

Value zeroPadding(KernelBuilder &b, Value vec4, Value quad, int64_t columns) {
  int64_t used = columns % 4;
  if (used == 0)
    return vec4;
  Value zero = b.f32(0.0), cut = vec4;
  for (int64_t lane = used; lane < 4; ++lane)
    cut = b.insert(zero, cut, lane);
  return b.select(b.equal(quad, b.index(columns / 4)), cut, vec4);
}

//===----------------------------------------------------------------------===//
// ElementwiseEmitter
//===----------------------------------------------------------------------===//

LogicalResult ElementwiseEmitter::preload(ArrayRef<Operation *> pending) {
  KernelBuilder &b = unit.builder();
  // What is computed from these is dropped again, and nothing uses it.
  for (Operation *op : pending)
    map(op->getResult(0), b.constant(b.f32x4(), 0.0));
  Operation *yield =
      unit.getContext().getRegion().getBody().front().getTerminator();
  for (Value result : yield->getOperands())
    if (failed(evaluate(result)))
      return failure();
  DenseMap<Value, Value> kept;
  for (Value value : loaded)
    kept[value] = known.lookup(value);
  known = std::move(kept);
  return success();
}

FailureOr<Value> ElementwiseEmitter::evaluate(Value inBody) {
  if (Value value = known.lookup(inBody))
    return value;
  FailureOr<Value> value = compute(inBody);
  if (succeeded(value))
    known[inBody] = *value;
  return value;
}

FailureOr<Value> ElementwiseEmitter::compute(Value inBody) {
  KernelBuilder &b = unit.builder();
  Operation *op = inBody.getDefiningOp();
  if (auto constant = dyn_cast_if_present<graph::ConstantOp>(op))
    return b.constant(b.f32x4(), constant.getValue().convertToFloat());
  if (op && graph::isElementwise(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> value = broadcastOperand(op, operand);
      if (failed(value))
        return failure();
      operands.push_back(*value);
    }
    return emitElementwise(b, op, operands);
  }
  if (auto sum = dyn_cast_if_present<graph::WeightedSumOp>(op))
    return weightedSum(sum);
  auto reshape = dyn_cast_if_present<graph::ReshapeOp>(op);
  if (reshape && !unit.getContext().hasView(inBody))
    return evaluate(reshape.getInput());
  FailureOr<View> view = unit.getContext().view(inBody);
  if (failed(view))
    return failure();
  Value index =
      b.add(b.add(b.mul(row, view->rowStride / 4), quad), view->offset / 4);
  loaded.insert(inBody);
  return ActivationRows(unit, *view, program::Access::Read).load(index);
}

FailureOr<Value> ElementwiseEmitter::weightedSum(graph::WeightedSumOp sum) {
  auto type = cast<RankedTensorType>(sum.getInput().getType());
  int64_t size = type.getDimSize(2);
  if (size % 4 != 0)
    return sum.emitOpError("adds rows of ")
           << size << " elements, no multiple of four";
  FailureOr<View> input = unit.getContext().view(sum.getInput()),
                  weights = unit.getContext().view(sum.getWeights());
  if (failed(input) || failed(weights))
    return failure();
  KernelBuilder &b = unit.builder();
  Value x = unit.bind(input->slice, b.f32x4(), program::Access::Read),
        shares =
            unit.bind(weights->slice, b.getF32Type(), program::Access::Read);
  Value first =
      b.add(b.add(b.mul(row, input->rowStride / 4), quad), input->offset / 4);
  Value share = b.add(b.mul(row, weights->rowStride), weights->offset);
  return b.forLoop(b.index(0), b.opaqueIndex(type.getDimSize(1)), b.index(1),
                   ValueRange{b.constant(b.f32x4(), 0.0)},
                   [&](Value place, ValueRange carried) {
                     Value part =
                         b.load(x, b.add(first, b.mul(place, size / 4)));
                     Value factor =
                         b.splat(b.load(shares, b.add(share, place)));
                     return SmallVector<Value>{b.fma(part, factor, carried[0])};
                   })[0];
}

FailureOr<Value> ElementwiseEmitter::loadVector(Value encoded,
                                                Value quadOfVector) {
  FailureOr<WeightView> weight = unit.getContext().weight(encoded);
  if (failed(weight))
    return failure();
  KernelBuilder &b = unit.builder();
  return b.load(
      unit.bind(weight->planes.front(), b.f32x4(), program::Access::Read),
      quadOfVector);
}

FailureOr<Value> ElementwiseEmitter::broadcastOperand(Operation *op,
                                                      Value operand) {
  auto type = cast<RankedTensorType>(operand.getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  bool sameRows = type.getRank() == result.getRank() &&
                  type.getShape().drop_front(type.getRank() > 0) ==
                      result.getShape().drop_front(result.getRank() > 0);
  if (operand.getDefiningOp<graph::ConstantOp>() ||
      (sameRows && type.getRank() > 1))
    return evaluate(operand);

  KernelBuilder &b = unit.builder();
  auto dequantize = operand.getDefiningOp<graph::DequantizeOp>();
  if (!dequantize || type.getRank() != 1 ||
      type.getDimSize(0) != result.getShape().back())
    return op->emitOpError("broadcasts ")
           << type << " to " << result << ", which no kernel does";
  if (result.getRank() <= 2) {
    if (Value vector = known.lookup(operand))
      return vector;
    FailureOr<Value> vector = loadVector(dequantize.getInput(), quad);
    if (failed(vector))
      return failure();
    loaded.insert(operand);
    return known[operand] = *vector;
  }
  if (type.getDimSize(0) % 4 != 0)
    return op->emitOpError("broadcasts over heads of ")
           << type.getDimSize(0) << " elements, no multiple of four";
  return loadVector(dequantize.getInput(), b.rem(quad, type.getDimSize(0) / 4));
}

LogicalResult ElementwiseEmitter::storeResult(unsigned number) {
  RegionContext &context = unit.getContext();
  KernelBuilder &b = unit.builder();
  Operation *yield = context.getRegion().getBody().front().getTerminator();
  FailureOr<Value> value = evaluate(yield->getOperand(number));
  if (failed(value))
    return failure();
  View view = context.resultView(number);
  Value index =
      b.add(b.add(b.mul(row, view.rowStride / 4), quad), view.offset / 4);
  ActivationRows(unit, view, program::Access::Write)
      .store(zeroPadding(b, *value, quad, view.columns()), index);
  return success();
}

LogicalResult ElementwiseEmitter::storeResults() {
  graph::RegionOp region = unit.getContext().getRegion();
  Operation *yield = region.getBody().front().getTerminator();
  for (OpOperand &operand : yield->getOpOperands())
    if (!operand.get().getDefiningOp<graph::QuantizeActivationsOp>() &&
        failed(storeResult(operand.getOperandNumber())))
      return failure();
  return success();
}

} // namespace llmc::codegen
