// SPDX-License-Identifier: Apache-2.0
//
// Ops over the last dimension: softmax, means and norms.

#include "compiler/Import/ONNX/NodeImporter.h"

namespace llmc::onnx {

namespace {

/// A gain or bias of `size` numbers.
llvm::Expected<Value> vectorOperand(NodeImporter &n, size_t index,
                                    int64_t size) {
  const auto *constant = n.as<Constant>(index);
  std::optional<SymbolicInt> count = numElements(dimsOf(n.operand(index)));
  if (!count || *count != SymbolicInt{size, 0, 0})
    return n.fail("input " + Twine(index) + " is " +
                  describe(n.operand(index)) + ", but the last dimension is " +
                  Twine(size));
  if (constant) {
    Constant vector = *constant;
    vector.shape = {size};
    llvm::Expected<Value> value = n.emit.weight(vector);
    if (!value)
      return n.fail(llvm::toString(value.takeError()));
    return value;
  }
  std::optional<HostTensor> host = toHost(n.operand(index));
  if (!host || !host->isReal)
    return n.fail("input " + Twine(index) + " is " +
                  describe(n.operand(index)) + ", allowed are constants");
  host->shape = {size};
  return n.emit.table(*host, n.node.inputs[index]);
}

/// The size of the last dimension, which must be known.
llvm::Expected<int64_t> lastSize(NodeImporter &n, const Activation &input) {
  std::optional<int64_t> size =
      input.dims.empty() ? std::nullopt : input.dims.back().number();
  if (!size)
    return n.fail("over " + describe(Operand(input)) +
                  " needs a last dimension that is known");
  return *size;
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Over the last dimension. Over keys, rows see those of their own text.
llvm::Error softmaxOverLast(NodeImporter &n, const Activation &input) {
  const Dim &last = input.dims.back();
  bool isOverKeys = last.has(Symbol::Sequence);
  bool hasRows =
      llvm::any_of(ArrayRef(input.dims).drop_back(),
                   [](const Dim &dim) { return dim.has(Symbol::Sequence); });
  if (last.has(Symbol::Batch) || (isOverKeys && !hasRows))
    return n.fail(
        "over " + describe(Operand(input)) +
        " is not supported, allowed are known dimensions and the keys "
        "of attention");
  Activation result = input;
  if (isOverKeys)
    result.value = n.emit.rangeMask(input.value, n.graph.ranges);
  result.value = n.emit.unary<graph::SoftmaxOp>(result.value);
  result.isBlockDiagonal = isOverKeys;
  return n.set(std::move(result));
}

/// Up to opset 12, all dimensions from the axis on are one.
llvm::Error softmaxOverFlat(NodeImporter &n, const Activation &input,
                            size_t axis) {
  Dims flat(input.dims.begin(), input.dims.begin() + axis);
  Dim merged;
  for (const Dim &dim : ArrayRef(input.dims).drop_front(axis))
    merged.factors.append(dim.factors.begin(), dim.factors.end());
  flat.push_back(merged);
  llvm::Expected<Operand> viewed = n.reshaped(Operand(input), flat);
  if (!viewed)
    return viewed.takeError();
  if (llvm::Error error = softmaxOverLast(n, std::get<Activation>(*viewed)))
    return error;
  llvm::Expected<Operand> result =
      n.reshaped(n.graph.values.find(n.node.outputs[0])->second, input.dims);
  return result ? n.set(std::move(*result)) : result.takeError();
}

llvm::Error importSoftmax(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  constexpr int64_t kFirstOverOneAxis = 13;
  bool isFlat = n.opset < kFirstOverOneAxis;
  llvm::Expected<size_t> axis =
      n.axis(n.integer("axis", isFlat ? 1 : -1), input->dims.size());
  if (!axis)
    return axis.takeError();
  if (*axis + 1 == input->dims.size())
    return softmaxOverLast(n, *input);
  if (isFlat)
    return softmaxOverFlat(n, *input, *axis);
  return n.fail("over axis " + Twine(*axis) + " of " + describe(n.operand(0)) +
                " is not supported, allowed is the last one");
}

//===----------------------------------------------------------------------===//
// Means and norms
//===----------------------------------------------------------------------===//

llvm::Error importReduceMean(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  auto axes = n.integers("axes", 1);
  if (!axes)
    return axes.takeError();
  size_t rank = input->dims.size();
  bool hasAxes = *axes && !(*axes)->empty();
  if (!hasAxes && n.integer("noop_with_empty_axes", 0) != 0)
    return n.set(*input);
  bool isLast = hasAxes ? (*axes)->size() == 1 : rank == 1;
  if (isLast && hasAxes) {
    llvm::Expected<size_t> axis = n.axis((*axes)->front(), rank);
    if (!axis)
      return axis.takeError();
    isLast = *axis + 1 == rank;
  }
  if (!isLast)
    return n.fail("of " + describe(n.operand(0)) +
                  " over other axes than the last one is not supported");
  if (llvm::Expected<int64_t> size = lastSize(n, *input); !size)
    return size.takeError();
  Activation mean{n.emit.reduceMean(input->value), input->dims, false,
                  std::nullopt};
  mean.dims.back() = Dim::of(1);
  if (n.integer("keepdims", 1) != 0)
    return n.set(std::move(mean));
  Dims dims = mean.dims;
  dims.pop_back();
  llvm::Expected<Operand> result = n.reshaped(Operand(mean), dims);
  return result ? n.set(std::move(*result)) : result.takeError();
}

llvm::Error importLayerNormalization(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  llvm::Expected<size_t> axis =
      n.axis(n.integer("axis", -1), input->dims.size());
  if (!axis)
    return axis.takeError();
  if (*axis + 1 != input->dims.size())
    return n.fail("over several dimensions (axis " + Twine(*axis) +
                  ") is not supported");
  NormKind kind = n.node.opType == "SimplifiedLayerNormalization"
                      ? NormKind::Rms
                      : NormKind::Layer;
  return normalize(n, kind, *input, 1, 2, n.real("epsilon", 1e-5f));
}

/// norm(input + skip [+ bias]); output 3 is the sum. The simplified op, of the
/// root mean square, has no bias of the norm.
llvm::Error importSkipLayerNormalization(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(3))
    return error;
  bool isSimplified = n.node.opType == "SkipSimplifiedLayerNormalization";
  size_t normBias = 3, bias = isSimplified ? 3 : 4;
  llvm::Expected<Activation> sum =
      combine(n, "Add", n.operand(0), n.operand(1));
  if (sum && n.has(bias))
    sum = combine(n, "Add", *sum, n.operand(bias));
  if (!sum)
    return sum.takeError();
  (void)n.set(*sum, 3);
  return normalize(n, isSimplified ? NormKind::Rms : NormKind::Layer, *sum, 2,
                   normBias, n.real("epsilon", 1e-12f));
}

/// The row of a table of token types that all tokens have.
llvm::Expected<Operand> typeEmbedding(NodeImporter &n, size_t ids,
                                      const Constant &table) {
  const auto *types = n.as<Uniform>(ids);
  double row = types ? types->visible : 0;
  if (n.has(ids) && !types)
    return n.fail("the token types are " + describe(n.operand(ids)) +
                  ", allowed are those of a text");
  if (table.shape.size() != 2 || !(row >= 0) ||
      row >= static_cast<double>(table.shape[0]))
    return n.fail("has token type " + describe(row) + " of a table " +
                  describe(Operand(table)));
  Constant result = table;
  result.firstElement += static_cast<int64_t>(row) * table.shape[1];
  result.shape = {table.shape[1]};
  return Operand(result);
}

/// layer_norm(words[ids] + positions[places] [+ types[0]]). Output 1 is the
/// lengths of texts, output 2 the sum.
llvm::Error importEmbedLayerNormalization(NodeImporter &n) {
  const auto *tokens = n.as<Index>(0);
  const auto *words = n.as<Constant>(2), *places = n.as<Constant>(3);
  const auto *types = n.as<Constant>(4);
  auto isTable = [](const Constant *table) {
    return table && table->shape.size() == 2 && !table->isTransposed;
  };
  bool fits = tokens && !tokens->isPosition && !tokens->dims.empty() &&
              isTable(words) && isTable(places) &&
              (!n.has(4) || isTable(types));
  if (!fits)
    return n.fail("needs token ids, and constant matrices of words, positions "
                  "and token types");
  Index positions{n.graph.positions, tokens->dims, true, 0};
  if (n.has(8)) {
    const auto *given = n.as<Index>(8);
    if (!given || !given->isPosition)
      return n.fail("input 8 is " + describe(n.operand(8)) +
                    ", allowed are positions");
    positions.offset = given->offset;
  }
  llvm::Expected<Activation> sum = embed(n, *words, *tokens);
  if (!sum)
    return sum.takeError();
  llvm::Expected<Activation> byPosition = embed(n, *places, positions);
  if (!byPosition)
    return byPosition.takeError();
  sum = combine(n, "Add", *sum, *byPosition);
  if (sum && types) {
    llvm::Expected<Operand> type = typeEmbedding(n, 1, *types);
    if (!type)
      return type.takeError();
    sum = combine(n, "Add", *sum, *type);
  }
  if (!sum)
    return sum.takeError();
  (void)n.set(Length{{tokens->dims.front()}, 0}, 1);
  (void)n.set(*sum, 2);
  return normalize(n, NormKind::Layer, *sum, 5, 6, n.real("epsilon", 1e-12f));
}

constexpr OpEntry kOps[] = {
    {"", "Softmax", importSoftmax},
    {"", "ReduceMean", importReduceMean},
    {"", "LayerNormalization", importLayerNormalization},
    {"", "SimplifiedLayerNormalization", importLayerNormalization},
    {"com.microsoft", "SkipLayerNormalization", importSkipLayerNormalization},
    {"com.microsoft", "SkipSimplifiedLayerNormalization",
     importSkipLayerNormalization},
    {"com.microsoft", "EmbedLayerNormalization", importEmbedLayerNormalization},
};

} // namespace

llvm::Error normalize(NodeImporter &n, NormKind kind, const Activation &input,
                      size_t gain, size_t bias, float epsilon) {
  llvm::Expected<int64_t> size = lastSize(n, input);
  if (!size)
    return size.takeError();
  if (!n.has(gain))
    return n.fail("has no gain");
  llvm::Expected<Value> gainValue = vectorOperand(n, gain, *size);
  if (!gainValue)
    return gainValue.takeError();
  if (!(epsilon >= 0) || !std::isfinite(epsilon))
    return n.fail("epsilon is " + describe(epsilon) +
                  ", allowed are finite numbers from 0 on");
  if (kind == NormKind::Rms)
    return n.setActivation(n.emit.rmsNorm(input.value, *gainValue, epsilon),
                           input.dims);
  Value biasValue;
  if (n.has(bias)) {
    llvm::Expected<Value> value = vectorOperand(n, bias, *size);
    if (!value)
      return value.takeError();
    biasValue = *value;
  }
  return n.setActivation(
      n.emit.layerNorm(input.value, *gainValue, biasValue, epsilon),
      input.dims);
}

ArrayRef<OpEntry> rowOps() { return kOps; }

} // namespace llmc::onnx
