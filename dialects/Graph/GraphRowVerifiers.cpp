// SPDX-License-Identifier: Apache-2.0
//
// The constraints of ops on the rows of a sequence: norms, masks, pooling,
// positions and what they remember. Labels as in GraphVerifiers.cpp.

#include "dialects/Graph/VerifierSupport.h"

#include "mlir/IR/SymbolTable.h"

#include <array>

namespace llmc::graph {

LogicalResult RmsNormOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), gain = shapeOf(getGain());
  if (input.empty() || gain.size() != 1 || gain[0] != input.back())
    return emitOpError("rms_norm_c1: the gain must be [size of the last "
                       "dimension] of ")
           << getInput().getType() << ", got " << getGain().getType();
  if (shapeOf(getResult()) != input)
    return emitOpError("rms_norm_c2: input and result must have the same "
                       "shape, got ")
           << getInput().getType() << " and " << getType();
  if (!isFiniteNotNegative(getEpsilon()))
    return emitOpError("rms_norm_c3: epsilon must be finite and not negative, "
                       "got ")
           << getEpsilonAttr();
  return success();
}

LogicalResult LayerNormOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput());
  auto fits = [&](Value vector) {
    ArrayRef<int64_t> shape = shapeOf(vector);
    return !input.empty() && shape.size() == 1 && shape[0] == input.back();
  };
  if (!fits(getGain()) || (getBias() && !fits(getBias())))
    return emitOpError("layer_norm_c1: gain and bias must be [size of the last "
                       "dimension] of ")
           << getInput().getType() << ", got "
           << (fits(getGain()) ? getBias() : getGain()).getType();
  if (shapeOf(getResult()) != input)
    return emitOpError("layer_norm_c2: input and result must have the same "
                       "shape, got ")
           << getInput().getType() << " and " << getType();
  if (!isFiniteNotNegative(getEpsilon()))
    return emitOpError("layer_norm_c3: epsilon must be finite and not "
                       "negative, got ")
           << getEpsilonAttr();
  return success();
}

LogicalResult L2NormalizeOp::verify() {
  if (shapeOf(getInput()).empty())
    return emitOpError("l2_normalize_c1: the rank must be at least 1");
  if (!isPositiveFinite(getEpsilon()))
    return emitOpError("l2_normalize_c2: epsilon must be positive and finite, "
                       "got ")
           << getEpsilonAttr();
  return success();
}

LogicalResult ReduceMeanOp::verify() {
  SmallVector<int64_t> shape(shapeOf(getInput()));
  if (!shape.empty())
    shape.back() = 1;
  if (shape.empty() || typeOf(getInput()).clone(shape) != getType())
    return emitOpError("reduce_mean_c1: the result must be the input's type "
                       "with a last dimension of 1, got ")
           << getInput().getType() << " and " << getType();
  return success();
}

LogicalResult SoftmaxOp::verify() {
  if (shapeOf(getInput()).empty())
    return emitOpError("softmax_c1: the rank must be at least 1");
  return success();
}

LogicalResult PoolOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), spans = shapeOf(getSpans());
  if (input.size() != 2 || spans.size() != 2 || spans[1] != 2 ||
      shapeOf(getResult()) != ArrayRef<int64_t>({spans[0], input[1]}))
    return emitOpError("pool_c1: input [rows, size] and spans [texts, 2] must "
                       "give [texts, size], got ")
           << getInput().getType() << ", " << getSpans().getType() << " and "
           << getType();
  return success();
}

LogicalResult ShortConvOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), taps = shapeOf(getTaps());
  bool fits = input.size() == 2 && !ShapedType::isDynamic(input[1]) &&
              taps.size() == 1 && taps[0] >= 2 * input[1] &&
              taps[0] % std::max<int64_t>(input[1], 1) == 0;
  if (!fits)
    return emitOpError("short_conv_c1: the input must be [rows, channels], the "
                       "taps [channels * n] with n of at least 2, got ")
           << getInput().getType() << " and " << getTaps().getType();
  bool hasState = getState() && getPosition() && !getRanges();
  if (!hasState && (getState() || getPosition() || !getRanges()))
    return emitOpError("short_conv_c2: there must be a state and a position, "
                       "or ranges");
  if (getRanges() && shapeOf(getRanges()) != ArrayRef<int64_t>({input[0], 2}))
    return emitOpError("short_conv_c4: the ranges must be [rows, 2], got ")
           << getRanges().getType();
  int64_t most = hasState ? 0 : taps[0] / input[1] - 1;
  auto ahead = static_cast<int64_t>(getAhead());
  if (ahead < 0 || ahead > most)
    return emitOpError("short_conv_c5: ahead must be 0 to ")
           << most << ", got " << ahead;
  return success();
}

LogicalResult
ShortConvOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!getState())
    return success();
  auto state =
      symbolTable.lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  int64_t channels = shapeOf(getInput())[1];
  std::array<int64_t, 2> wanted = {shapeOf(getTaps())[0] / channels - 1,
                                   channels};
  auto type =
      state ? cast<RankedTensorType>(state.getType()) : RankedTensorType();
  if (!state || type.getShape() != ArrayRef<int64_t>(wanted) ||
      !type.getElementType().isF32())
    return emitOpError("short_conv_c3: names no state [")
           << wanted[0] << ", " << wanted[1] << "] of f32: " << getStateAttr();
  return success();
}

LogicalResult RotaryOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  auto dim = static_cast<int64_t>(getRotaryDim());
  if (shape.size() < 2 || getInput().getType() != getType())
    return emitOpError("rotary_c1: input and result must have one type of at "
                       "least 2 dimensions, got ")
           << getInput().getType() << " and " << getType();
  if (dim < 2 || dim % 2 != 0 || dim > shape.back())
    return emitOpError("rotary_c2: dim must be even, and 2 to ")
           << shape.back() << ", got " << dim;
  if (getFactors() && shapeOf(getFactors()) != ArrayRef<int64_t>(dim / 2))
    return emitOpError("rotary_c3: factors must be [")
           << dim / 2 << "], got " << getFactors().getType();
  if (!isPositiveFinite(getBase()) || !isPositiveFinite(getPositionScale()))
    return emitOpError("rotary_c4: base and position_scale must be positive "
                       "and finite, got ")
           << getBaseAttr() << " and " << getPositionScaleAttr();
  bool fits = getPositions() ? !getPosition() &&
                                   shapeOf(getPositions()) == shape.take_front()
                             : static_cast<bool>(getPosition());
  if (!fits)
    return emitOpError(
        "rotary_c5: there must be either a position or positions "
        "[rows]");
  return success();
}

LogicalResult CausalMaskOp::verify() {
  if (shapeOf(getInput()).size() < 2)
    return emitOpError("causal_mask_c1: the rank must be at least 2, got ")
           << getType();
  if (static_cast<int64_t>(getWindow()) < 0)
    return emitOpError("causal_mask_c2: the window must not be negative, got ")
           << static_cast<int64_t>(getWindow());
  return success();
}

LogicalResult RangeMaskOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), ranges = shapeOf(getRanges());
  if (input.size() < 2 ||
      ranges != ArrayRef<int64_t>({input[input.size() - 2], 2}))
    return emitOpError("range_mask_c1: the input must be [.., rows, keys] and "
                       "the ranges [rows, 2], got ")
           << getType() << " and " << getRanges().getType();
  return success();
}

LogicalResult RelativeBiasOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput());
  bool fits =
      input.size() >= 2 && countDynamic(input.drop_back(2)) == 0 &&
      isRelativeTable(getTable(),
                      static_cast<int64_t>(staticProduct(input.drop_back(2))));
  if (!fits)
    return emitOpError("relative_bias_c1: the input must be [.., rows, keys] "
                       "with static heads and the table [an odd number * "
                       "heads], got ")
           << getType() << " and " << getTable().getType();
  return success();
}

LogicalResult KvAppendOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto state =
      symbolTable.lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  auto type =
      state ? cast<RankedTensorType>(state.getType()) : RankedTensorType();
  if (!state || type.getRank() != 3)
    return emitOpError("kv_append_c1: names no state of rank 3: ")
           << getStateAttr();
  for (Value value : {Value(getInput()), Value(getResult())}) {
    ArrayRef<int64_t> shape = shapeOf(value);
    if (shape.size() != 3 || shape[1] != type.getDimSize(0) ||
        shape[2] != type.getDimSize(2))
      return emitOpError("kv_append_c2: ")
             << value.getType() << " must be [rows, " << type.getDimSize(0)
             << ", " << type.getDimSize(2) << "] as the state " << type
             << " says";
    if (shape[0] > type.getDimSize(1))
      return emitOpError("kv_append_c3: ")
             << shape[0] << " rows exceed the context length of "
             << type.getDimSize(1);
  }
  return success();
}

} // namespace llmc::graph
