// SPDX-License-Identifier: Apache-2.0
//
// Weights are declared before the function when they are first read.

#include "compiler/Import/ONNX/GraphEmitter.h"

#include "dialects/Graph/Encoding.h"

namespace llmc::onnx {

namespace {

using graph::Encoding;

/// Without ones; more than two dimensions become two.
SmallVector<int64_t, 2> squeeze(ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 2> result;
  for (int64_t size : shape)
    if (size != 1)
      result.push_back(size);
  if (result.empty())
    result.push_back(1);
  while (result.size() > 2) {
    result[1] *= result[0];
    result.erase(result.begin());
  }
  return result;
}

} // namespace

GraphEmitter::GraphEmitter(MLIRContext &context, const OnnxFile &file)
    : file(file), builder(&context), loc(builder.getUnknownLoc()),
      module(ModuleOp::create(loc)) {
  for (const std::string &path : file.files())
    files.push_back(builder.getStringAttr(path));
}

void GraphEmitter::at(StringRef part) {
  loc = mlir::NameLoc::get(builder.getStringAttr(part));
}

void GraphEmitter::startFunction(StringRef name, ArrayRef<Argument> arguments) {
  at(name);
  SmallVector<Type> types;
  for (const Argument &argument : arguments)
    types.push_back(argument.type);
  builder.setInsertionPointToEnd(module->getBody());
  function = mlir::func::FuncOp::create(builder, loc, name,
                                        builder.getFunctionType(types, {}));
  for (auto [index, argument] : llvm::enumerate(arguments))
    function.setArgAttr(index, "graph.name",
                        builder.getStringAttr(argument.name));
  builder.setInsertionPointToStart(function.addEntryBlock());
}

OwningOpRef<ModuleOp> GraphEmitter::finish(ArrayRef<Value> results,
                                           ArrayRef<std::string> names) {
  mlir::func::ReturnOp::create(builder, loc, results);
  llvm::BitVector unread(function.getNumArguments());
  for (mlir::BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      unread.set(argument.getArgNumber());
  (void)function.eraseArguments(unread);
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  for (auto [index, name] : llvm::enumerate(names))
    function.setResultAttr(index, "graph.name", builder.getStringAttr(name));
  (*module)->setAttr("graph.files", builder.getArrayAttr(files));
  return std::move(module);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

graph::PlaceAttr GraphEmitter::placeOf(const Tensor &tensor) {
  // What was decoded while reading has no place in the file: it becomes one.
  if (tensor.file >= 0)
    return graph::PlaceAttr::get(builder.getContext(), tensor.file,
                                 tensor.offset);
  std::vector<float> words((tensor.bytes.size() + 3) / 4);
  std::memcpy(words.data(), tensor.bytes.data(), tensor.bytes.size());
  return graph::PlaceAttr::get(builder.getContext(), addTable(words), 0);
}

/// Adds a file of these numbers; gives its index.
int64_t GraphEmitter::addTable(ArrayRef<float> numbers) {
  files.push_back(builder.getDenseF32ArrayAttr(numbers));
  return static_cast<int64_t>(files.size()) - 1;
}

llvm::Expected<GraphEmitter::Place>
GraphEmitter::place(const Constant &constant, bool isTurned) {
  const Tensor &tensor = *constant.tensor;
  bool isTransposedInFile = constant.isTransposed != isTurned;
  Place place{tensor.name.str(), squeeze(constant.shape), Encoding::F32, {}};
  if (constant.firstElement != 0)
    place.name += "[" + std::to_string(constant.firstElement) + "]";
  if (isTurned)
    std::swap(place.shape[0], place.shape[1]);
  if (isTransposedInFile)
    place.name += ".turned";
  if (constant.quantization)
    return placeQuantized(constant, std::move(place), isTransposedInFile);
  std::optional<Encoding> encoding = GraphEmitter::plainEncoding(tensor.type);
  if (!encoding)
    return llvm::createStringError(
        "constant '" + tensor.name + "' is of " + dataTypeName(tensor.type) +
        ", allowed for a weight are FLOAT, FLOAT16 "
        "and BFLOAT16, and int8 that is dequantized");
  place.encoding = *encoding;
  graph::PlaceAttr start = placeOf(tensor);
  int64_t offset =
      start.getOffset() + constant.firstElement * dataTypeBits(tensor.type) / 8;
  graph::PackingAttr packing;
  if (isTransposedInFile)
    packing = graph::PackingAttr::get(builder.getContext(), "transposed",
                                      *encoding, 0, {}, {});
  place.source =
      graph::SourceAttr::get(builder.getContext(), start.getFile(), offset,
                             place.shape[0], mlir::FloatAttr(), packing);
  return place;
}

/// Declares the weight unless there is the same one already, and decodes it.
Value GraphEmitter::load(const Place &place) {
  auto encoded = graph::EncodedType::get(builder.getContext(), place.encoding);
  auto type = RankedTensorType::get(place.shape, encoded);
  auto sources = builder.getArrayAttr(place.source);
  std::string name = place.name;
  while (Operation *other = module->lookupSymbol(name)) {
    auto weight = dyn_cast<graph::WeightOp>(other);
    if (weight && weight.getType() == type && weight.getSources() == sources)
      break;
    name += "'";
  }
  if (!module->lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    graph::WeightOp::create(builder, loc, builder.getStringAttr(name),
                            mlir::TypeAttr::get(type), sources);
  }
  Value loaded = graph::LoadWeightOp::create(
      builder, loc, type,
      mlir::FlatSymbolRefAttr::get(builder.getContext(), name));
  return graph::DequantizeOp::create(builder, loc, tensor(place.shape), loaded);
}

llvm::Expected<Value> GraphEmitter::weight(const Constant &constant) {
  llvm::Expected<Place> where = place(constant, /*isTurned=*/false);
  if (!where)
    return where.takeError();
  return reshape(load(*where), constant.shape);
}

llvm::Expected<Value> GraphEmitter::turnedWeight(const Constant &constant) {
  llvm::Expected<Place> where = place(constant, /*isTurned=*/true);
  if (!where)
    return where.takeError();
  return load(*where);
}

Value GraphEmitter::table(const HostTensor &host, StringRef name) {
  std::vector<float> numbers(host.reals.begin(), host.reals.end());
  auto count = static_cast<int64_t>(numbers.size());
  auto source =
      graph::SourceAttr::get(builder.getContext(), addTable(numbers), 0, count);
  return reshape(load({name.str(), {count}, Encoding::F32, source}),
                 host.shape);
}

Value GraphEmitter::constant(double value) {
  return graph::ConstantOp::create(
      builder, loc, tensor({}),
      builder.getF32FloatAttr(static_cast<float>(value)));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value GraphEmitter::reshape(Value input, ArrayRef<int64_t> shape) {
  if (shapeOf(input) == shape)
    return input;
  return graph::ReshapeOp::create(builder, loc, tensor(shape), input);
}

Value GraphEmitter::transpose(Value input, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(input)[dim]);
  return graph::TransposeOp::create(builder, loc, tensor(shape), input,
                                    permutation);
}

Value GraphEmitter::slice(Value input, int64_t dim, int64_t offset,
                          int64_t size) {
  SmallVector<int64_t> shape(shapeOf(input));
  shape[dim] = size;
  return graph::SliceOp::create(
      builder, loc, tensor(shape), input, static_cast<uint64_t>(dim),
      static_cast<uint64_t>(offset), static_cast<uint64_t>(size));
}

Value GraphEmitter::concat(ArrayRef<Value> inputs, int64_t dim) {
  SmallVector<int64_t> shape(shapeOf(inputs.front()));
  shape[dim] = 0;
  for (Value input : inputs)
    shape[dim] += shapeOf(input)[dim];
  return graph::ConcatOp::create(builder, loc, tensor(shape), inputs,
                                 static_cast<uint64_t>(dim));
}

Value GraphEmitter::matmul(Value lhs, Value rhs, bool transposeRhs) {
  ArrayRef<int64_t> left = shapeOf(lhs), right = shapeOf(rhs);
  int64_t columns = right[right.size() - (transposeRhs ? 2 : 1)];
  SmallVector<int64_t> shape;
  ArrayRef<int64_t> longer = left.size() < right.size() ? right : left;
  ArrayRef<int64_t> shorter = left.size() < right.size() ? left : right;
  for (size_t i = 0; i + 2 < longer.size(); ++i) {
    size_t missing = longer.size() - shorter.size();
    int64_t other = i < missing ? 1 : shorter[i - missing];
    shape.push_back(longer[i] == 1 ? other : longer[i]);
  }
  shape.append({left[left.size() - 2], columns});
  return graph::MatmulOp::create(builder, loc, tensor(shape), lhs, rhs,
                                 transposeRhs);
}

Value GraphEmitter::embedding(Value tokens, Value table) {
  return graph::EmbeddingOp::create(
      builder, loc, tensor({shapeOf(tokens)[0], shapeOf(table)[1]}), tokens,
      table);
}

Value GraphEmitter::reduceMean(Value input) {
  SmallVector<int64_t> shape(shapeOf(input));
  shape.back() = 1;
  return graph::ReduceMeanOp::create(builder, loc, tensor(shape), input);
}

Value GraphEmitter::layerNorm(Value input, Value gain, Value bias,
                              float epsilon) {
  return graph::LayerNormOp::create(builder, loc, input.getType(), input, gain,
                                    bias, builder.getF32FloatAttr(epsilon));
}

Value GraphEmitter::pool(Value hidden, Value spans, graph::Pooling mode,
                         bool isNormalized) {
  constexpr float kLengthEpsilon = 1e-12f; // as torch's normalize has it
  Value result = graph::PoolOp::create(builder, loc, hidden.getType(), hidden,
                                       spans, mode);
  if (!isNormalized)
    return result;
  return graph::L2NormalizeOp::create(builder, loc, result.getType(), result,
                                      builder.getF32FloatAttr(kLengthEpsilon));
}

Value GraphEmitter::rmsNorm(Value input, Value gain, float epsilon) {
  return graph::RmsNormOp::create(builder, loc, input.getType(), input, gain,
                                  builder.getF32FloatAttr(epsilon));
}

Value GraphEmitter::causalMask(Value input, Value position, int64_t window) {
  return graph::CausalMaskOp::create(builder, loc, input.getType(), input,
                                     position, window);
}

Value GraphEmitter::relativeBias(Value input, Value table) {
  return graph::RelativeBiasOp::create(builder, loc, input.getType(), input,
                                       table);
}

Value GraphEmitter::rotary(Value input, Value positions, double base,
                           int64_t dim, graph::RotaryPairs pairs) {
  return graph::RotaryOp::create(
      builder, loc, input.getType(), input, /*position=*/Value(), positions,
      /*factors=*/Value(), builder.getF32FloatAttr(static_cast<float>(base)),
      builder.getI64IntegerAttr(dim), builder.getF32FloatAttr(1.0f),
      graph::RotaryPairsAttr::get(builder.getContext(), pairs));
}

Value GraphEmitter::rangeMask(Value input, Value ranges) {
  return graph::RangeMaskOp::create(builder, loc, input.getType(), input,
                                    ranges);
}

} // namespace llmc::onnx
