// SPDX-License-Identifier: Apache-2.0
//
// Emits a decoder as graph primitives, op by op as the model's definition says;
// finding bigger ops in them is the fusion passes' task.

#include "compiler/Import/DecoderBuilder.h"

#include "compiler/Import/ModelBuilder.h"

#include <cmath>

namespace llmc::importer {

namespace {

class DecoderBuilder : ModelBuilder {
public:
  DecoderBuilder(MLIRContext &context, const DecoderModel &model)
      : ModelBuilder(context), model(model) {}

  OwningOpRef<ModuleOp> build();

private:
  // Functions.
  void buildForward();
  void buildLogits();
  void buildEncode();

  // Parts of a layer; activations are [rows, size].
  Value layer(Value input, size_t index);
  Value attention(Value input, const DecoderLayer &layer, size_t index);
  Value shortConv(Value input, const ShortConv &parameters, size_t index);
  Value heads(Value projected, int64_t numHeads,
              const std::optional<Weight> &norm, const Rotary &rotary);
  Value visible(Value perHead, StringRef name);
  Value scaledDotProduct(Value query, Value key, Value value, int64_t window);
  Value feedForward(Value input, const DecoderLayer &layer);
  Value experts(Value input, const Experts &parameters);

  // Single ops.
  Value rmsNorm(Value input, const Weight &gain);
  Value rotate(Value input, const Rotary &rotary);
  Value softCapped(Value input, float cap);

  const DecoderModel &model;
  /// Of the step, in a decoder.
  Value position;
  /// Of each row and its text, in an encoder.
  Value positions, ranges;
};

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

Value DecoderBuilder::rmsNorm(Value input, const Weight &gain) {
  atPartOf(gain);
  return graph::RmsNormOp::create(builder, loc, input.getType(), input,
                                  decoded(gain),
                                  builder.getF32FloatAttr(model.normEpsilon));
}

/// cap * tanh(input / cap); the input when cap is 0.
Value DecoderBuilder::softCapped(Value input, float cap) {
  if (cap == 0.0f)
    return input;
  Value limit = constant(cap);
  Value bent = graph::TanhOp::create(builder, loc, input.getType(),
                                     binary<graph::DivOp>(input, limit));
  return binary<graph::MulOp>(bent, limit);
}

Value DecoderBuilder::rotate(Value input, const Rotary &rotary) {
  Value factors = rotary.factors ? decoded(*rotary.factors) : Value();
  return graph::RotaryOp::create(
      builder, loc, input.getType(), input, position, positions, factors,
      builder.getF32FloatAttr(rotary.base),
      builder.getI64IntegerAttr(rotary.dim),
      builder.getF32FloatAttr(rotary.positionScale),
      graph::RotaryPairsAttr::get(builder.getContext(), rotary.pairs));
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// [rows, heads * D] → normed and rotated [rows, heads, D]
Value DecoderBuilder::heads(Value projected, int64_t numHeads,
                            const std::optional<Weight> &norm,
                            const Rotary &rotary) {
  Value perHead = reshape(projected, {kDynamic, numHeads, model.headDim});
  if (norm)
    perHead = rmsNorm(perHead, *norm);
  return rotate(perHead, rotary);
}

/// [rows, KV heads, D] → all visible [KV heads, 1, keys, D], which a decoder
/// keeps in a cache
Value DecoderBuilder::visible(Value perHead, StringRef name) {
  Value all = perHead;
  if (!model.pooling)
    all = graph::KvAppendOp::create(
        builder, loc, tensor({kDynamic, model.numKvHeads, model.headDim}),
        state(name, {model.numKvHeads, model.contextLength, model.headDim}),
        perHead, position);
  return reshape(transpose(all, {1, 0, 2}),
                 {model.numKvHeads, 1, kDynamic, model.headDim});
}

/// query [rows, heads, D], key and value [KV heads, 1, keys, D]
/// → [rows, heads * D]
Value DecoderBuilder::scaledDotProduct(Value query, Value key, Value value,
                                       int64_t window) {
  int64_t kvHeads = model.numKvHeads, group = model.numHeads / kvHeads;
  int64_t dim = model.headDim;
  Value grouped =
      transpose(reshape(query, {kDynamic, kvHeads, group, dim}), {1, 2, 0, 3});
  Value scores = matmul(grouped, key, /*transposeRhs=*/true,
                        {kvHeads, group, kDynamic, kDynamic});
  Value scale =
      constant(1.0f / std::sqrt(static_cast<float>(model.scoreDivisor)));
  scores = binary<graph::MulOp>(scores, scale);
  scores = softCapped(scores, model.attentionSoftCap);
  Type type = scores.getType();
  if (model.pooling)
    scores = graph::RangeMaskOp::create(builder, loc, type, scores, ranges);
  else
    scores = graph::CausalMaskOp::create(builder, loc, type, scores, position,
                                         window);
  Value weights = graph::SoftmaxOp::create(builder, loc, type, scores);
  Value result = matmul(weights, value, /*transposeRhs=*/false,
                        {kvHeads, group, kDynamic, dim});
  return reshape(transpose(result, {2, 0, 1, 3}),
                 {kDynamic, model.numHeads * dim});
}

Value DecoderBuilder::attention(Value input, const DecoderLayer &layer,
                                size_t index) {
  std::string prefix = "blk." + std::to_string(index);
  Value query = linear(input, layer.query);
  Value key = linear(input, layer.key);
  Value value = linear(input, layer.value);
  at(prefix + ".rotary");
  const Rotary &rotary = layer.window != 0 ? model.windowRotary : model.rotary;
  query = heads(query, model.numHeads, layer.queryNorm, rotary);
  key = heads(key, model.numKvHeads, layer.keyNorm, rotary);
  value = reshape(value, {kDynamic, model.numKvHeads, model.headDim});
  at(prefix + ".attention");
  key = visible(key, prefix + ".k");
  value = visible(value, prefix + ".v");
  return linear(scaledDotProduct(query, key, value, layer.window),
                layer.output);
}

Value DecoderBuilder::shortConv(Value input, const ShortConv &parameters,
                                size_t index) {
  Value parts = linear(input, parameters.in);
  std::string name = "blk." + std::to_string(index) + ".conv";
  at(name);
  int64_t size = model.hiddenSize;
  Value b = columns(parts, 0, size), c = columns(parts, size, size);
  Value gated = binary<graph::MulOp>(b, columns(parts, 2 * size, size));
  int64_t numTaps = parameters.taps.shape[0] / size;
  bool isEncoder = model.pooling.has_value();
  Value mixed = graph::ShortConvOp::create(
      builder, loc, gated.getType(), gated, decoded(parameters.taps),
      isEncoder ? mlir::FlatSymbolRefAttr() : state(name, {numTaps - 1, size}),
      position, ranges, /*ahead=*/isEncoder ? numTaps / 2 : 0);
  return linear(binary<graph::MulOp>(c, mixed), parameters.out);
}

Value DecoderBuilder::experts(Value input, const Experts &parameters) {
  Value scores = linear(input, parameters.router);
  Type weights = tensor({kDynamic, parameters.numUsed}),
       chosen = integers({kDynamic, parameters.numUsed});
  auto route = graph::RouteOp::create(builder, loc, weights, chosen, scores,
                                      parameters.isNormalized);
  Value gate = expertLinear(input, parameters.gate, route.getExperts());
  gate = activated(gate, model.activation);
  Value up = expertLinear(input, parameters.up, route.getExperts());
  Value down = expertLinear(binary<graph::MulOp>(gate, up), parameters.down,
                            route.getExperts());
  return graph::WeightedSumOp::create(builder, loc,
                                      tensor({kDynamic, model.hiddenSize}),
                                      down, route.getWeights());
}

Value DecoderBuilder::feedForward(Value input, const DecoderLayer &layer) {
  if (layer.experts)
    return experts(input, *layer.experts);
  Value gate = linear(input, layer.gate);
  gate = activated(gate, model.activation);
  Value up = linear(input, layer.up);
  return linear(binary<graph::MulOp>(gate, up), layer.down);
}

Value DecoderBuilder::layer(Value input, size_t index) {
  const DecoderLayer &layer = model.layers[index];
  Value normed = rmsNorm(input, layer.attentionNorm);
  Value part = layer.conv ? shortConv(normed, *layer.conv, index)
                          : attention(normed, layer, index);
  if (layer.postAttentionNorm)
    part = rmsNorm(part, *layer.postAttentionNorm);
  Value hidden = binary<graph::AddOp>(input, part);
  normed = rmsNorm(hidden, layer.feedForwardNorm);
  part = feedForward(normed, layer);
  if (layer.postFeedForwardNorm)
    part = rmsNorm(part, *layer.postFeedForwardNorm);
  return binary<graph::AddOp>(hidden, part);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void DecoderBuilder::buildForward() {
  Type hiddenType = tensor({kDynamic, model.hiddenSize});
  at("forward");
  auto function = startFunction(
      "forward", {{"tokens", integers({kDynamic})}, {"position", integers({})}},
      {{"hidden", hiddenType}});
  position = function.getArgument(1);
  Value hidden = embedding(function.getArgument(0), model.embedding);
  if (model.embeddingScale != 1.0f)
    hidden = binary<graph::MulOp>(hidden, constant(model.embeddingScale));
  for (size_t index = 0; index < model.layers.size(); ++index)
    hidden = layer(hidden, index);
  mlir::func::ReturnOp::create(builder, loc, hidden);
}

void DecoderBuilder::buildLogits() {
  Type hiddenType = tensor({kDynamic, model.hiddenSize});
  at("logits");
  auto function = startFunction(
      "logits", {{"hidden", hiddenType}, {"first_row", integers({})}},
      {{"logits", tensor({kDynamic, model.vocabularySize})}});
  function->setAttr("graph.max_rows",
                    builder.getI64IntegerAttr(kMaxLogitsRows));
  Value rows = graph::SelectRowsOp::create(builder, loc, hiddenType,
                                           function.getArgument(0),
                                           function.getArgument(1));
  Value normed = rmsNorm(rows, model.outputNorm);
  Value logits =
      linear(normed, {model.output ? *model.output : model.embedding, {}});
  logits = softCapped(logits, model.logitSoftCap);
  mlir::func::ReturnOp::create(builder, loc, logits);
}

void DecoderBuilder::buildEncode() {
  auto function = startEncode(model.hiddenSize, model.contextLength,
                              model.pooling->mode.has_value());
  positions = function.getArgument(Positions);
  ranges = function.getArgument(Ranges);
  Value hidden = embedding(function.getArgument(Tokens), model.embedding);
  for (size_t index = 0; index < model.layers.size(); ++index)
    hidden = layer(hidden, index);
  hidden = rmsNorm(hidden, model.outputNorm);
  SmallVector<Value> results = {hidden};
  if (model.pooling->mode)
    results.push_back(pooled(hidden, function.getArgument(Spans),
                             *model.pooling->mode,
                             model.pooling->isNormalized));
  mlir::func::ReturnOp::create(builder, loc, results);
}

OwningOpRef<ModuleOp> DecoderBuilder::build() {
  setAttributes(model, model.contextLength);
  if (model.pooling) {
    buildEncode();
    return std::move(owner);
  }
  buildForward();
  buildLogits();
  return std::move(owner);
}

} // namespace

OwningOpRef<ModuleOp> buildDecoder(MLIRContext &context,
                                   const DecoderModel &model) {
  return DecoderBuilder(context, model).build();
}

} // namespace llmc::importer
