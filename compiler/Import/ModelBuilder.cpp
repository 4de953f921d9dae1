// SPDX-License-Identifier: Apache-2.0
//
// Weights, states, functions and single ops of a model's module.

#include "compiler/Import/ModelBuilder.h"

namespace llmc::importer {

/// As torch's normalize has it.
static constexpr float kLengthEpsilon = 1e-12f;

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

void ModelBuilder::setAttributes(const ModelSource &source,
                                 int64_t contextLength) {
  SmallVector<Attribute> files;
  for (const std::string &file : source.files)
    files.push_back(builder.getStringAttr(file));
  for (const std::vector<float> &table : source.tables)
    files.push_back(builder.getDenseF32ArrayAttr(table));
  module->setAttr("graph.files", builder.getArrayAttr(files));
  module->setAttr("graph.architecture",
                  builder.getStringAttr(source.architecture));
  module->setAttr("graph.name", builder.getStringAttr(source.name));
  module->setAttr("graph.context_length",
                  builder.getI64IntegerAttr(contextLength));
}

/// Creates a function and puts the builder into it.
mlir::func::FuncOp ModelBuilder::startFunction(StringRef name,
                                               ArrayRef<NamedType> inputs,
                                               ArrayRef<NamedType> results) {
  auto typesOf = [](ArrayRef<NamedType> list) {
    return llvm::map_to_vector(list,
                               [](NamedType named) { return named.type; });
  };
  builder.setInsertionPointToEnd(module.getBody());
  auto function = mlir::func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType(typesOf(inputs), typesOf(results)));
  for (auto [index, input] : llvm::enumerate(inputs))
    function.setArgAttr(index, "graph.name", builder.getStringAttr(input.name));
  for (auto [index, result] : llvm::enumerate(results))
    function.setResultAttr(index, "graph.name",
                           builder.getStringAttr(result.name));
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

/// Puts the builder before the functions, behind what is declared there.
void ModelBuilder::toModuleStart() {
  auto functions = module.getOps<mlir::func::FuncOp>();
  builder.setInsertionPoint(*functions.begin());
}

/// None where the weight is rows in its encoding.
graph::PackingAttr ModelBuilder::packingOf(const Weight &weight) {
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

graph::SourceAttr ModelBuilder::sourceOf(const Weight &weight) {
  mlir::FloatAttr addend;
  if (weight.addend != 0.0f)
    addend = builder.getF32FloatAttr(weight.addend);
  return graph::SourceAttr::get(builder.getContext(), weight.file,
                                weight.offsetInBytes, weight.shape[0], addend,
                                packingOf(weight));
}

Value ModelBuilder::load(const std::string &name, ArrayRef<Weight> parts) {
  SmallVector<int64_t, 2> shape = parts.front().shape;
  SmallVector<Attribute> sources;
  shape[0] = 0;
  for (const Weight &part : parts) {
    shape[0] += part.shape[0];
    sources.push_back(sourceOf(part));
  }
  auto type = RankedTensorType::get(
      shape,
      graph::EncodedType::get(builder.getContext(), parts.front().encoding));
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    toModuleStart();
    graph::WeightOp::create(builder, loc, builder.getStringAttr(name),
                            mlir::TypeAttr::get(type),
                            builder.getArrayAttr(sources));
  }
  return graph::LoadWeightOp::create(
      builder, loc, type,
      mlir::FlatSymbolRefAttr::get(builder.getContext(), name));
}

/// Declares a state of f32 and gives its name.
mlir::FlatSymbolRefAttr ModelBuilder::state(StringRef name,
                                            ArrayRef<int64_t> shape) {
  OpBuilder::InsertionGuard guard(builder);
  toModuleStart();
  graph::StateOp::create(builder, loc, builder.getStringAttr(name),
                         mlir::TypeAttr::get(tensor(shape)));
  return mlir::FlatSymbolRefAttr::get(builder.getContext(), name);
}

//===----------------------------------------------------------------------===//
// Encoders
//===----------------------------------------------------------------------===//

mlir::func::FuncOp ModelBuilder::startEncode(int64_t hiddenSize,
                                             int64_t contextLength,
                                             bool isPooled) {
  Type pairs = integers({kDynamic, 2}), numbers = integers({kDynamic});
  Type rows = tensor({kDynamic, hiddenSize});
  SmallVector<NamedType> inputs = {
      {"tokens", numbers}, {"positions", numbers}, {"ranges", pairs}};
  SmallVector<NamedType> results = {{"hidden", rows}};
  if (isPooled) {
    inputs.push_back({"spans", pairs});
    results.push_back({"embedding", rows});
  }
  at("encode");
  auto function = startFunction("encode", inputs, results);
  function->setAttr("graph.min_rows", builder.getI64IntegerAttr(contextLength));
  return function;
}

Value ModelBuilder::pooled(Value hidden, Value spans, graph::Pooling mode,
                           bool isNormalized) {
  at("pooling");
  Value result = graph::PoolOp::create(builder, loc, hidden.getType(), hidden,
                                       spans, mode);
  if (!isNormalized)
    return result;
  return graph::L2NormalizeOp::create(builder, loc, result.getType(), result,
                                      builder.getF32FloatAttr(kLengthEpsilon));
}

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

Value ModelBuilder::decoded(const Weight &weight) {
  return graph::DequantizeOp::create(builder, loc, tensor(weight.shape),
                                     load(weight.name, weight));
}

Value ModelBuilder::matmul(Value lhs, Value rhs, bool transposeRhs,
                           ArrayRef<int64_t> shape) {
  return graph::MatmulOp::create(builder, loc, tensor(shape), lhs, rhs,
                                 transposeRhs);
}

Value ModelBuilder::linear(Value input, const Linear &parameters) {
  atPartOf(parameters.weight);
  Value weight = decoded(parameters.weight);
  Value result = matmul(input, weight, /*transposeRhs=*/true,
                        {kDynamic, parameters.weight.shape[0]});
  if (parameters.bias)
    result = binary<graph::AddOp>(result, decoded(*parameters.bias));
  return result;
}

Value ModelBuilder::expertLinear(Value input, const ExpertWeight &weight,
                                 Value chosen) {
  at(StringRef(weight.name).rsplit('.').first);
  int64_t numChosen = cast<RankedTensorType>(chosen.getType()).getDimSize(1);
  return graph::ExpertLinearOp::create(
      builder, loc, tensor({kDynamic, numChosen, weight.outputs}), input,
      load(weight.name, weight.parts), chosen);
}

Value ModelBuilder::embedding(Value tokens, const Weight &table) {
  atPartOf(table);
  Value rows = decoded(table);
  return graph::EmbeddingOp::create(
      builder, loc, tensor({kDynamic, table.shape[1]}), tokens, rows);
}

Value ModelBuilder::constant(float value) {
  return graph::ConstantOp::create(builder, loc, tensor({}),
                                   builder.getF32FloatAttr(value));
}

Value ModelBuilder::activated(Value input, Activation activation) {
  switch (activation) {
  case Activation::Silu:
    return graph::SiluOp::create(builder, loc, input.getType(), input);
  case Activation::Gelu:
    return graph::GeluOp::create(builder, loc, input.getType(), input);
  case Activation::GeluTanh:
    return graph::GeluTanhOp::create(builder, loc, input.getType(), input);
  case Activation::Relu:
    return graph::ReluOp::create(builder, loc, input.getType(), input);
  }
  llvm_unreachable("unknown activation");
}

Value ModelBuilder::reshape(Value input, ArrayRef<int64_t> shape) {
  return graph::ReshapeOp::create(builder, loc, tensor(shape), input);
}

Value ModelBuilder::transpose(Value input, ArrayRef<int64_t> permutation) {
  ArrayRef<int64_t> inputShape =
      cast<RankedTensorType>(input.getType()).getShape();
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(inputShape[dim]);
  return graph::TransposeOp::create(builder, loc, tensor(shape), input,
                                    permutation);
}

/// `size` columns of [rows, columns] from `offset` on.
Value ModelBuilder::columns(Value input, int64_t offset, int64_t size) {
  return graph::SliceOp::create(builder, loc, tensor({kDynamic, size}), input,
                                /*dim=*/1, offset, size);
}

} // namespace llmc::importer
