// SPDX-License-Identifier: Apache-2.0
//
// Ops in which rows see other rows, in the evaluator: attention and what
// prepares it, caches, pools and convolutions.

#include "compiler/Reference/Evaluator.h"
#include "compiler/Reference/EvaluatorSupport.h"

#include "dialects/Graph/Graph.h"

namespace llmc::reference {

namespace {

/// What is left of a head's rows [rows, heads, head dimension] in a cache of
/// |type|: numbers of f16, or codes of i8 times the scale of their row.
void keep(Type type, Precision precision, Tensor &rows) {
  if (!type.isInteger(8))
    return roundTo(type, precision, rows);
  Shape shape = rows.shape;
  rows.shape = {shape[0] * shape[1], shape[2]};
  QuantizedTensor quantized = quantize(rows, /*group=*/0);
  roundTo(mlir::Float32Type::get(type.getContext()), precision,
          quantized.scales);
  rows = dequantize(quantized.codes, quantized.scales);
  rows.shape = std::move(shape);
}

/// Whether a table of biases by distance reaches as far as `rows` rows or keys.
llvm::Error checkDistances(Operation &op, const Tensor &table, int64_t heads,
                           int64_t rows) {
  int64_t most = (table.shape[0] / heads + 1) / 2;
  if (rows <= most)
    return llvm::Error::success();
  return fail(op, "has " + Twine(rows) + " rows or keys, its table serves " +
                      Twine(most));
}

/// Whether pairs [begin, end) are within `rows`.
llvm::Error checkSpans(Operation &op, const Tensor &spans, int64_t rows) {
  for (int64_t s = 0; s < spans.shape[0]; ++s) {
    auto begin = static_cast<int64_t>(spans.values[2 * s]);
    auto end = static_cast<int64_t>(spans.values[2 * s + 1]);
    if (begin < 0 || begin > end || end > rows)
      return fail(op, "has span " + Twine(begin) + " to " + Twine(end) +
                          ", allowed are rows 0 to " + Twine(rows));
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Tensor> Evaluator::evaluateKvAppend(Operation &op,
                                                   Values &values) {
  auto append = cast<graph::KvAppendOp>(op);
  auto state = module.lookupSymbol<graph::StateOp>(append.getState());
  auto cache = cast<RankedTensorType>(state.getType());
  int64_t capacity = cache.getDimSize(1);
  Tensor input = dense(append.getInput(), values);
  int64_t position = integer(append.getPosition(), values);
  int64_t keys = position + input.shape[0];
  if (position < 0 || keys > capacity)
    return fail(op, "writes positions " + Twine(position) + " to " +
                        Twine(keys - 1) + ", allowed are 0 to " +
                        Twine(capacity - 1));
  keep(cache.getElementType(), precision, input);
  int64_t rowSize = input.shape[1] * input.shape[2];
  std::vector<double> &rows = states[append.getState()];
  if (rows.size() < static_cast<size_t>(keys * rowSize))
    rows.resize(keys * rowSize);
  std::copy(input.values.begin(), input.values.end(),
            rows.begin() + position * rowSize);
  return Tensor({keys, input.shape[1], input.shape[2]},
                {rows.begin(), rows.begin() + keys * rowSize});
}

/// Ops whose result depends on the position of rows in the sequence.
llvm::Expected<Tensor> Evaluator::evaluateAttention(Operation &op,
                                                    Values &values) {
  Tensor input = dense(op.getOperand(0), values);
  if (auto mask = dyn_cast<graph::CausalMaskOp>(op))
    return causalMask(input, integer(mask.getPosition(), values),
                      static_cast<int64_t>(mask.getWindow()));
  if (auto turn = dyn_cast<graph::RotaryOp>(op)) {
    Tensor factors, positions;
    if (turn.getFactors())
      factors = dense(turn.getFactors(), values);
    if (turn.getPositions())
      positions = dense(turn.getPositions(), values);
    int64_t position =
        turn.getPosition() ? integer(turn.getPosition(), values) : 0;
    return rotary(input, position,
                  {turn.getPairs() == graph::RotaryPairs::Adjacent,
                   turn.getBase().convertToDouble(),
                   static_cast<int64_t>(turn.getRotaryDim()),
                   turn.getPositionScale().convertToDouble(),
                   turn.getFactors() ? &factors : nullptr,
                   turn.getPositions() ? &positions : nullptr});
  }
  if (auto mask = dyn_cast<graph::RangeMaskOp>(op)) {
    Tensor ranges = dense(mask.getRanges(), values);
    if (ranges.shape[0] != input.fromBack(2))
      return fail(op, "gets ranges " + describe(ranges.shape) + " for " +
                          std::to_string(input.fromBack(2)) + " rows");
    return rangeMask(input, ranges);
  }
  if (auto bias = dyn_cast<graph::RelativeBiasOp>(op)) {
    Tensor table = dense(bias.getTable(), values);
    int64_t heads = numElements(ArrayRef(input.shape).drop_back(2));
    if (llvm::Error error = checkDistances(
            op, table, heads, std::max(input.fromBack(2), input.fromBack(1))))
      return error;
    return relativeBias(input, table);
  }
  return evaluateSdpa(cast<graph::SdpaOp>(op), values);
}

llvm::Expected<Tensor> Evaluator::evaluatePool(Operation &op, Values &values) {
  auto poolOp = cast<graph::PoolOp>(op);
  Tensor input = dense(poolOp.getInput(), values);
  Tensor spans = dense(poolOp.getSpans(), values);
  if (llvm::Error error = checkSpans(op, spans, input.shape[0]))
    return error;
  PoolMode mode = poolOp.getMode() == graph::Pooling::Mean    ? PoolMode::Mean
                  : poolOp.getMode() == graph::Pooling::First ? PoolMode::First
                                                              : PoolMode::Last;
  return pool(input, spans, mode, precision);
}

llvm::Expected<Tensor> Evaluator::evaluateShortConv(Operation &op,
                                                    Values &values) {
  auto conv = cast<graph::ShortConvOp>(op);
  Tensor input = dense(conv.getInput(), values);
  Tensor taps = dense(conv.getTaps(), values);
  int64_t channels = input.shape[1];
  Tensor past({taps.shape[0] / channels - 1, channels});
  if (conv.getRanges()) {
    Tensor ranges = dense(conv.getRanges(), values);
    if (ranges.shape[0] != input.shape[0])
      return fail(op, "gets ranges " + describe(ranges.shape) + " for " +
                          std::to_string(input.shape[0]) + " rows");
    return shortConv(
        input, taps, past,
        [&](int64_t row) {
          return RowRange{
              static_cast<int64_t>(ranges.values[2 * row]),
              std::min(static_cast<int64_t>(ranges.values[2 * row + 1]),
                       input.shape[0])};
        },
        static_cast<int64_t>(conv.getAhead()), precision);
  }
  int64_t position = integer(conv.getPosition(), values);
  std::vector<double> &kept = states[*conv.getState()];
  kept.resize(past.values.size());
  past.values = kept;
  Tensor result = shortConv(
      input, taps, past,
      [&](int64_t) { return RowRange{-position, input.shape[0]}; },
      /*ahead=*/0, precision);
  kept.insert(kept.end(), input.values.begin(), input.values.end());
  kept.erase(kept.begin(),
             kept.end() - static_cast<int64_t>(past.values.size()));
  return result;
}

llvm::Expected<Tensor> Evaluator::evaluateSdpa(graph::SdpaOp op,
                                               Values &values) {
  Tensor query = dense(op.getQuery(), values), key = dense(op.getKey(), values);
  Tensor value = dense(op.getValue(), values), bias, relative, ranges;
  if (key.shape != value.shape)
    return fail(*op, "gets keys " + describe(key.shape) + " and values " +
                         describe(value.shape));
  SdpaParameters parameters;
  parameters.scale = op.getScale().convertToDouble();
  parameters.causal = op.getCausal();
  if (parameters.causal)
    parameters.position = integer(op.getPosition(), values);
  parameters.window = static_cast<int64_t>(op.getWindow());
  parameters.softCap = op.getSoftCap().convertToDouble();
  int64_t rows = query.shape[0], keys = key.shape[0];
  if (op.getBias()) {
    bias = dense(op.getBias(), values);
    if (bias.shape[0] != rows || bias.shape[2] < keys)
      return fail(*op, "gets a bias " + describe(bias.shape) + " for " +
                           std::to_string(rows) + " rows and " +
                           std::to_string(keys) + " keys");
    parameters.bias = &bias;
  }
  if (op.getRelative()) {
    relative = dense(op.getRelative(), values);
    if (llvm::Error error =
            checkDistances(*op, relative, query.shape[1], std::max(rows, keys)))
      return error;
    parameters.relative = &relative;
  }
  if (op.getRanges()) {
    ranges = dense(op.getRanges(), values);
    if (ranges.shape[0] != rows)
      return fail(*op, "gets ranges " + describe(ranges.shape) + " for " +
                           std::to_string(rows) + " rows");
    parameters.ranges = &ranges;
  }
  return sdpa(query, key, value, parameters, precision);
}

} // namespace llmc::reference
