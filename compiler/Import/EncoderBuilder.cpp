// SPDX-License-Identifier: Apache-2.0
//
// Emits an encoder as graph primitives: rows are the tokens of texts behind one
// another, of which each sees its own text only.

#include "compiler/Import/EncoderBuilder.h"

#include "compiler/Import/ModelBuilder.h"

#include <cmath>

namespace llmc::importer {

namespace {

class EncoderBuilder : ModelBuilder {
public:
  EncoderBuilder(MLIRContext &context, const EncoderModel &model)
      : ModelBuilder(context), model(model) {}

  OwningOpRef<ModuleOp> build();

private:
  Value embedded(Value tokens, Value positions);
  Value layer(Value input, const EncoderLayer &layer, size_t index);
  Value attention(Value input, const EncoderLayer &layer, size_t index);
  Value heads(Value projected);
  Value layerNorm(Value input, const LayerNorm &norm);

  const EncoderModel &model;
  Value ranges;
};

Value EncoderBuilder::layerNorm(Value input, const LayerNorm &norm) {
  atPartOf(norm.gain);
  Value gain = decoded(norm.gain);
  Value bias = norm.bias ? decoded(*norm.bias) : Value();
  return graph::LayerNormOp::create(builder, loc, input.getType(), input, gain,
                                    bias,
                                    builder.getF32FloatAttr(model.normEpsilon));
}

Value EncoderBuilder::embedded(Value tokens, Value positions) {
  Value sum = embedding(tokens, model.embedding);
  if (model.tokenType)
    sum = binary<graph::AddOp>(sum, decoded(*model.tokenType));
  sum = binary<graph::AddOp>(sum, embedding(positions, model.positions));
  return layerNorm(sum, model.embeddingNorm);
}

/// [rows, heads * D] → [heads, rows, D]
Value EncoderBuilder::heads(Value projected) {
  return transpose(
      reshape(projected, {kDynamic, model.numHeads, model.headDim}), {1, 0, 2});
}

Value EncoderBuilder::attention(Value input, const EncoderLayer &layer,
                                size_t index) {
  Value query = linear(input, layer.query);
  Value key = linear(input, layer.key);
  Value value = linear(input, layer.value);
  at("blk." + std::to_string(index) + ".attention");
  int64_t numHeads = model.numHeads, dim = model.headDim;
  Value scores = matmul(heads(query), heads(key), /*transposeRhs=*/true,
                        {numHeads, kDynamic, kDynamic});
  Type type = scores.getType();
  scores = binary<graph::MulOp>(
      scores, constant(1.0f / std::sqrt(static_cast<float>(dim))));
  if (model.relativeBias)
    scores = graph::RelativeBiasOp::create(builder, loc, type, scores,
                                           decoded(*model.relativeBias));
  scores = graph::RangeMaskOp::create(builder, loc, type, scores, ranges);
  Value weights = graph::SoftmaxOp::create(builder, loc, type, scores);
  Value mixed = matmul(weights, heads(value), /*transposeRhs=*/false,
                       {numHeads, kDynamic, dim});
  return linear(
      reshape(transpose(mixed, {1, 0, 2}), {kDynamic, numHeads * dim}),
      layer.output);
}

Value EncoderBuilder::layer(Value input, const EncoderLayer &layer,
                            size_t index) {
  Value part = attention(input, layer, index);
  Value hidden =
      layerNorm(binary<graph::AddOp>(part, input), layer.attentionNorm);
  part = activated(linear(hidden, layer.up), model.activation);
  part = linear(part, layer.down);
  return layerNorm(binary<graph::AddOp>(part, hidden), layer.outputNorm);
}

OwningOpRef<ModuleOp> EncoderBuilder::build() {
  setAttributes(model, model.contextLength);
  auto function = startEncode(model.hiddenSize, model.contextLength,
                              model.pooling.has_value());
  ranges = function.getArgument(Ranges);
  Value hidden =
      embedded(function.getArgument(Tokens), function.getArgument(Positions));
  for (auto [index, parameters] : llvm::enumerate(model.layers))
    hidden = layer(hidden, parameters, index);
  SmallVector<Value> results = {hidden};
  if (model.pooling)
    results.push_back(pooled(hidden, function.getArgument(Spans),
                             *model.pooling, model.isNormalized));
  mlir::func::ReturnOp::create(builder, loc, results);
  return std::move(owner);
}

} // namespace

OwningOpRef<ModuleOp> buildEncoder(MLIRContext &context,
                                   const EncoderModel &model) {
  return EncoderBuilder(context, model).build();
}

} // namespace llmc::importer
