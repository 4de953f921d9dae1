// SPDX-License-Identifier: Apache-2.0
//
// Emits a decoder as graph primitives, op by op as the model's definition says;
// finding bigger ops in them is the fusion passes' task.

#include "compiler/Import/DecoderBuilder.h"

#include "dialects/Graph/Graph.h"
#include "mlir/IR/Builders.h"

#include <cmath>

namespace llmc::importer {

namespace {

constexpr int64_t kDynamic = ShapedType::kDynamic;

/// Emits the ops of one module; `builder` stands in the current function and
/// `loc` names the current part of the model.
class DecoderBuilder {
public:
  DecoderBuilder(MLIRContext &context, const DecoderModel &model)
      : model(model), builder(&context), loc(builder.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> build();

private:
  // Module level.
  void setAttributes();
  mlir::func::FuncOp startFunction(StringRef name, ArrayRef<Type> inputs,
                                   ArrayRef<StringRef> inputNames, Type result,
                                   StringRef resultName);
  void buildForward();
  void buildLogits();
  void declareWeight(const Weight &weight);
  graph::PackingAttr packingOf(const Weight &weight);
  void declareState(StringRef name);

  // Parts of a layer; activations are [rows, size].
  Value layer(Value input, size_t index);
  Value attention(Value input, const DecoderLayer &layer, size_t index);
  Value heads(Value projected, int64_t numHeads,
              const std::optional<Weight> &norm, const Rotary &rotary);
  Value cached(Value perHead, StringRef state);
  Value scaledDotProduct(Value query, Value key, Value value, int64_t window);
  Value feedForward(Value input, const DecoderLayer &layer);

  // Single ops.
  Value decoded(const Weight &weight);
  Value linear(Value input, const Linear &parameters);
  Value matmul(Value lhs, Value rhs, bool transposeRhs,
               ArrayRef<int64_t> shape);
  Value rmsNorm(Value input, const Weight &gain);
  Value rotate(Value input, const Rotary &rotary);
  Value constant(float value);
  Value softCapped(Value input, float cap);
  Value activated(Value gate);
  Value reshape(Value input, ArrayRef<int64_t> shape);
  Value transpose(Value input, ArrayRef<int64_t> permutation);
  template <typename OpT>
  Value binary(Value lhs, Value rhs) {
    return OpT::create(builder, loc, lhs.getType(), lhs, rhs);
  }

  RankedTensorType tensor(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  Type scalar() { return RankedTensorType::get({}, builder.getI32Type()); }
  void at(const Twine &part) {
    loc = mlir::NameLoc::get(builder.getStringAttr(part));
  }

  const DecoderModel &model;
  OpBuilder builder;
  Location loc;
  ModuleOp module;
  Value position;
};

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

Value DecoderBuilder::decoded(const Weight &weight) {
  declareWeight(weight);
  auto encoded = graph::EncodedType::get(builder.getContext(), weight.encoding);
  Value loaded = graph::LoadWeightOp::create(
      builder, loc, RankedTensorType::get(weight.shape, encoded),
      mlir::FlatSymbolRefAttr::get(builder.getContext(), weight.name));
  return graph::DequantizeOp::create(builder, loc, tensor(weight.shape),
                                     loaded);
}

Value DecoderBuilder::matmul(Value lhs, Value rhs, bool transposeRhs,
                             ArrayRef<int64_t> shape) {
  return graph::MatmulOp::create(builder, loc, tensor(shape), lhs, rhs,
                                 transposeRhs);
}

Value DecoderBuilder::linear(Value input, const Linear &parameters) {
  at(StringRef(parameters.weight.name).rsplit('.').first);
  Value weight = decoded(parameters.weight);
  Value result = matmul(input, weight, /*transposeRhs=*/true,
                        {kDynamic, parameters.weight.shape[0]});
  if (parameters.bias)
    result = binary<graph::AddOp>(result, decoded(*parameters.bias));
  return result;
}

Value DecoderBuilder::rmsNorm(Value input, const Weight &gain) {
  at(StringRef(gain.name).rsplit('.').first);
  return graph::RmsNormOp::create(builder, loc, input.getType(), input,
                                  decoded(gain),
                                  builder.getF32FloatAttr(model.normEpsilon));
}

Value DecoderBuilder::constant(float value) {
  return graph::ConstantOp::create(builder, loc, tensor({}),
                                   builder.getF32FloatAttr(value));
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

Value DecoderBuilder::activated(Value gate) {
  if (model.activation == Activation::GeluTanh)
    return graph::GeluTanhOp::create(builder, loc, gate.getType(), gate);
  return graph::SiluOp::create(builder, loc, gate.getType(), gate);
}

Value DecoderBuilder::rotate(Value input, const Rotary &rotary) {
  Value factors = rotary.factors ? decoded(*rotary.factors) : Value();
  return graph::RotaryOp::create(
      builder, loc, input.getType(), input, position,
      /*positions=*/Value(), factors, builder.getF32FloatAttr(rotary.base),
      builder.getI64IntegerAttr(rotary.dim),
      builder.getF32FloatAttr(rotary.positionScale),
      graph::RotaryPairsAttr::get(builder.getContext(), rotary.pairs));
}

Value DecoderBuilder::reshape(Value input, ArrayRef<int64_t> shape) {
  return graph::ReshapeOp::create(builder, loc, tensor(shape), input);
}

Value DecoderBuilder::transpose(Value input, ArrayRef<int64_t> permutation) {
  ArrayRef<int64_t> inputShape =
      cast<RankedTensorType>(input.getType()).getShape();
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(inputShape[dim]);
  return graph::TransposeOp::create(builder, loc, tensor(shape), input,
                                    permutation);
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

/// [rows, KV heads, D] → all visible [KV heads, 1, keys, D]
Value DecoderBuilder::cached(Value perHead, StringRef state) {
  declareState(state);
  Value visible = graph::KvAppendOp::create(
      builder, loc, tensor({kDynamic, model.numKvHeads, model.headDim}),
      mlir::FlatSymbolRefAttr::get(builder.getContext(), state), perHead,
      position);
  return reshape(transpose(visible, {1, 0, 2}),
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
  scores = graph::CausalMaskOp::create(builder, loc, scores.getType(), scores,
                                       position, window);
  Value weights =
      graph::SoftmaxOp::create(builder, loc, scores.getType(), scores);
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
  key = cached(key, prefix + ".k");
  value = cached(value, prefix + ".v");
  return linear(scaledDotProduct(query, key, value, layer.window),
                layer.output);
}

Value DecoderBuilder::feedForward(Value input, const DecoderLayer &layer) {
  Value gate = linear(input, layer.gate);
  gate = activated(gate);
  Value up = linear(input, layer.up);
  return linear(binary<graph::MulOp>(gate, up), layer.down);
}

Value DecoderBuilder::layer(Value input, size_t index) {
  const DecoderLayer &layer = model.layers[index];
  Value normed = rmsNorm(input, layer.attentionNorm);
  Value part = attention(normed, layer, index);
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
// Functions and the module
//===----------------------------------------------------------------------===//

/// Declares the weight before the functions unless it has been.
/// None where the weight is rows in its encoding.
graph::PackingAttr DecoderBuilder::packingOf(const Weight &weight) {
  if (!weight.packed)
    return {};
  auto place = [&](const Place &place) {
    return graph::PlaceAttr::get(builder.getContext(), place.file,
                                 place.offsetInBytes);
  };
  const Packed &packed = *weight.packed;
  return graph::PackingAttr::get(
      builder.getContext(), graph::packingFormName(packed.form),
      packed.encoding, packed.group, place(packed.scales),
      packed.zeros ? place(*packed.zeros) : graph::PlaceAttr());
}

void DecoderBuilder::declareWeight(const Weight &weight) {
  if (module.lookupSymbol(weight.name))
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(module.lookupSymbol("forward"));
  auto encoded = graph::EncodedType::get(builder.getContext(), weight.encoding);
  mlir::FloatAttr addend;
  if (weight.addend != 0.0f)
    addend = builder.getF32FloatAttr(weight.addend);
  auto source = graph::SourceAttr::get(builder.getContext(), weight.file,
                                       weight.offsetInBytes, weight.shape[0],
                                       addend, packingOf(weight));
  graph::WeightOp::create(
      builder, loc, builder.getStringAttr(weight.name),
      mlir::TypeAttr::get(RankedTensorType::get(weight.shape, encoded)),
      builder.getArrayAttr(source));
}

void DecoderBuilder::declareState(StringRef name) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(module.lookupSymbol("forward"));
  auto type = tensor({model.numKvHeads, model.contextLength, model.headDim});
  graph::StateOp::create(builder, loc, builder.getStringAttr(name),
                         mlir::TypeAttr::get(type));
}

void DecoderBuilder::setAttributes() {
  SmallVector<Attribute> files;
  for (const std::string &file : model.files)
    files.push_back(builder.getStringAttr(file));
  for (const std::vector<float> &table : model.tables)
    files.push_back(builder.getDenseF32ArrayAttr(table));
  module->setAttr("graph.files", builder.getArrayAttr(files));
  module->setAttr("graph.architecture",
                  builder.getStringAttr(model.architecture));
  module->setAttr("graph.name", builder.getStringAttr(model.name));
  module->setAttr("graph.context_length",
                  builder.getI64IntegerAttr(model.contextLength));
}

/// Creates a function of one result and puts the builder into it.
mlir::func::FuncOp DecoderBuilder::startFunction(StringRef name,
                                                 ArrayRef<Type> inputs,
                                                 ArrayRef<StringRef> inputNames,
                                                 Type result,
                                                 StringRef resultName) {
  builder.setInsertionPointToEnd(module.getBody());
  auto function = mlir::func::FuncOp::create(
      builder, loc, name, builder.getFunctionType(inputs, result));
  for (auto [index, inputName] : llvm::enumerate(inputNames))
    function.setArgAttr(index, "graph.name", builder.getStringAttr(inputName));
  function.setResultAttr(0, "graph.name", builder.getStringAttr(resultName));
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

void DecoderBuilder::buildForward() {
  auto tokensType = RankedTensorType::get({kDynamic}, builder.getI32Type());
  Type hiddenType = tensor({kDynamic, model.hiddenSize});
  at("forward");
  auto function = startFunction("forward", {tokensType, scalar()},
                                {"tokens", "position"}, hiddenType, "hidden");
  position = function.getArgument(1);
  at(StringRef(model.embedding.name).rsplit('.').first);
  Value table = decoded(model.embedding);
  Value hidden = graph::EmbeddingOp::create(builder, loc, hiddenType,
                                            function.getArgument(0), table);
  if (model.embeddingScale != 1.0f)
    hidden = binary<graph::MulOp>(hidden, constant(model.embeddingScale));
  for (size_t index = 0; index < model.layers.size(); ++index)
    hidden = layer(hidden, index);
  mlir::func::ReturnOp::create(builder, loc, hidden);
}

void DecoderBuilder::buildLogits() {
  Type hiddenType = tensor({kDynamic, model.hiddenSize});
  Type logitsType = tensor({kDynamic, model.vocabularySize});
  at("logits");
  auto function = startFunction("logits", {hiddenType, scalar()},
                                {"hidden", "first_row"}, logitsType, "logits");
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

OwningOpRef<ModuleOp> DecoderBuilder::build() {
  OwningOpRef<ModuleOp> owner(ModuleOp::create(loc));
  module = *owner;
  setAttributes();
  buildForward();
  buildLogits();
  return owner;
}

} // namespace

OwningOpRef<ModuleOp> buildDecoder(MLIRContext &context,
                                   const DecoderModel &model) {
  return DecoderBuilder(context, model).build();
}

} // namespace llmc::importer
