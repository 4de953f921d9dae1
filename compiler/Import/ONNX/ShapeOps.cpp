// SPDX-License-Identifier: Apache-2.0
//
// Ops that compute shapes, and ops that view the same numbers under another
// shape.

#include "compiler/Import/ONNX/NodeImporter.h"

namespace llmc::onnx {

namespace {

HostTensor integerVector(ArrayRef<SymbolicInt> values) {
  HostTensor result;
  result.shape = {static_cast<int64_t>(values.size())};
  result.integers.assign(values.begin(), values.end());
  return result;
}

/// A size as a dimension; none for products of symbols and numbers, whose order
/// isn't known.
std::optional<Dim> toDim(SymbolicInt size) {
  if (size.isNumber() && size.coefficient >= 0)
    return Dim::of(size.coefficient);
  if (size == SymbolicInt{1, 1, 0})
    return Dim::of(Symbol::Batch);
  if (size == SymbolicInt{1, 0, 1})
    return Dim::of(Symbol::Sequence);
  return std::nullopt;
}

/// The integers of an operand that says a shape.
llvm::Expected<std::vector<SymbolicInt>> shapeOperand(NodeImporter &n,
                                                      size_t index) {
  std::optional<HostTensor> host = toHost(n.operand(index));
  if (!host || host->isReal || host->shape.size() > 1)
    return n.fail("the shape must be known integers, but is " +
                  describe(n.operand(index)));
  return host->integers;
}

//===----------------------------------------------------------------------===//
// Shapes as numbers
//===----------------------------------------------------------------------===//

llvm::Error importShape(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  Dims dims = dimsOf(n.operand(0));
  auto rank = static_cast<int64_t>(dims.size());
  auto place = [&](StringRef attribute, int64_t otherwise) {
    int64_t value = n.integer(attribute, otherwise);
    return std::clamp(value < 0 ? value + rank : value, int64_t{0}, rank);
  };
  int64_t begin = place("start", 0), end = place("end", rank);
  std::vector<SymbolicInt> sizes;
  for (int64_t i = begin; i < end; ++i)
    sizes.push_back(dims[i].size());
  return n.set(integerVector(sizes));
}

llvm::Error importSize(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  std::optional<SymbolicInt> count = numElements(dimsOf(n.operand(0)));
  if (!count)
    return n.fail("of " + describe(n.operand(0)) + " is too large");
  HostTensor result = integerVector(*count);
  result.shape.clear();
  return n.set(std::move(result));
}

llvm::Error importConstantOfShape(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  auto sizes = shapeOperand(n, 0);
  if (!sizes)
    return sizes.takeError();
  HostTensor value{{}, true, {}, {0}};
  if (const Attribute *attribute = n.node.find("value"))
    if (attribute->tensor)
      if (auto read = readHostTensor(*attribute->tensor); read && read->size())
        value = *read;
  Dims dims;
  for (SymbolicInt size : *sizes) {
    std::optional<Dim> dim = toDim(size);
    if (!dim)
      return n.fail("gives a shape with a product of symbols");
    dims.push_back(*dim);
  }
  std::optional<SymbolicInt> count = numElements(dims);
  constexpr int64_t kMaxElements = 4096;
  if (!value.isReal && count && count->isNumber() &&
      count->coefficient <= kMaxElements) {
    HostTensor result;
    for (SymbolicInt size : *sizes)
      result.shape.push_back(size.coefficient);
    result.integers.assign(count->coefficient, value.integers.front());
    return n.set(std::move(result));
  }
  double number = value.isReal
                      ? value.reals.front()
                      : static_cast<double>(value.integers.front().coefficient);
  return n.set(Uniform{std::move(dims), number, number});
}

/// Known numbers, or positions 0 … sequence - 1.
llvm::Error importRange(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(3))
    return error;
  SymbolicInt terms[3];
  for (size_t i : {0, 1, 2}) {
    std::optional<HostTensor> host = toHost(n.operand(i));
    if (!host || host->isReal || host->size() != 1)
      return n.fail("input " + Twine(i) + " is " + describe(n.operand(i)) +
                    ", allowed is one known integer");
    terms[i] = host->integers.front();
  }
  auto [start, limit, delta] = terms;
  if (limit == SymbolicInt{1, 0, 1} && start.isNumber() &&
      delta == SymbolicInt{1, 0, 0} && start.coefficient == 0)
    return n.set(
        Index{n.graph.positions, {Dim::of(Symbol::Sequence)}, true, 0});
  constexpr int64_t kMaxElements = 1 << 16;
  bool isKnown = start.isNumber() && limit.isNumber() && delta.isNumber() &&
                 delta.coefficient > 0 && start.coefficient >= 0 &&
                 limit.coefficient <= kMaxElements;
  if (!isKnown)
    return n.fail("is neither of known numbers nor from 0 to the sequence");
  std::vector<SymbolicInt> values;
  for (int64_t i = start.coefficient; i < limit.coefficient;
       i += delta.coefficient)
    values.push_back({i, 0, 0});
  return n.set(integerVector(values));
}

/// A running sum of ones over the sequence: positions from 1 on.
llvm::Error importCumSum(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  const auto *mask = n.as<Uniform>(0);
  std::optional<double> axisValue = toScalar(n.operand(1));
  if (!mask || mask->visible != 1 || !axisValue || n.integer("exclusive", 0) ||
      n.integer("reverse", 0))
    return n.fail("is supported for the attention mask only");
  llvm::Expected<size_t> axis =
      n.axis(static_cast<int64_t>(*axisValue), mask->dims.size());
  if (!axis)
    return axis.takeError();
  if (mask->dims[*axis] != Dim::of(Symbol::Sequence))
    return n.fail("sums over another dimension than the sequence");
  return n.set(Index{n.graph.positions, mask->dims, true, 1});
}

/// A sum of the mask over the sequence: the texts' lengths.
llvm::Error importReduceSum(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  const auto *mask = n.as<Uniform>(0);
  auto axes = n.integers("axes", 1);
  if (!axes)
    return axes.takeError();
  if (!mask || mask->visible != 1 || mask->hidden != 0 || !*axes ||
      (*axes)->size() != 1)
    return n.fail("of " + describe(n.operand(0)) +
                  " is not supported, allowed is the attention mask over the "
                  "sequence");
  llvm::Expected<size_t> axis = n.axis((*axes)->front(), mask->dims.size());
  if (!axis)
    return axis.takeError();
  if (mask->dims[*axis] != Dim::of(Symbol::Sequence))
    return n.fail("sums over another dimension than the sequence");
  Length length{mask->dims, 0};
  if (n.integer("keepdims", 1) != 0)
    length.dims[*axis] = Dim::of(1);
  else
    length.dims.erase(length.dims.begin() + *axis);
  return n.set(std::move(length));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

llvm::Error setReshaped(NodeImporter &n, const Dims &dims) {
  llvm::Expected<Operand> result = n.reshaped(n.operand(0), dims);
  return result ? n.set(std::move(*result)) : result.takeError();
}

/// Replaces 0 (keep) and -1 (what is left) in a requested shape.
llvm::Error completeShape(NodeImporter &n, const Dims &from,
                          std::vector<SymbolicInt> &sizes) {
  bool keepsZero = n.integer("allowzero", 0) == 0;
  std::optional<size_t> unknown;
  std::optional<SymbolicInt> known = SymbolicInt{1, 0, 0};
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (size == SymbolicInt{0, 0, 0} && keepsZero && index < from.size())
      size = from[index].size();
    if (size == SymbolicInt{-1, 0, 0}) {
      if (unknown)
        return n.fail("has -1 twice in the shape");
      unknown = index;
    } else if (known) {
      known = multiply(*known, size);
    }
  }
  if (!unknown)
    return llvm::Error::success();
  std::optional<SymbolicInt> all = numElements(from);
  std::optional<SymbolicInt> left =
      all && known ? divide(*all, *known) : std::nullopt;
  if (!left)
    return n.fail("of " + describe(ArrayRef<Dim>(from)) +
                  " leaves no whole dimension for -1");
  sizes[*unknown] = *left;
  return llvm::Error::success();
}

llvm::Error importReshape(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  auto sizes = shapeOperand(n, 1);
  if (!sizes)
    return sizes.takeError();
  Dims from = dimsOf(n.operand(0));
  if (llvm::Error error = completeShape(n, from, *sizes))
    return error;
  std::optional<Dims> dims = reshape(from, *sizes);
  if (!dims)
    return n.fail("of " + describe(n.operand(0)) +
                  " gives another number of elements, or mixes batch or "
                  "sequence with other dimensions");
  return setReshaped(n, *dims);
}

llvm::Error importFlatten(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  Dims from = dimsOf(n.operand(0));
  int64_t given = n.integer("axis", 1);
  auto rank = static_cast<int64_t>(from.size());
  int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank)
    return n.fail("axis is " + Twine(given) + ", but the rank is " +
                  Twine(rank));
  Dims dims(2);
  for (auto [index, dim] : llvm::enumerate(from))
    dims[static_cast<int64_t>(index) < axis ? 0 : 1].factors.append(
        dim.factors.begin(), dim.factors.end());
  return setReshaped(n, dims);
}

llvm::Error importUnsqueeze(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  auto axes = n.integers("axes", 1);
  if (!axes)
    return axes.takeError();
  if (!*axes)
    return n.fail("has no axes");
  Dims from = dimsOf(n.operand(0));
  Dims dims(from.size() + (*axes)->size());
  SmallVector<bool> isNew(dims.size(), false);
  for (int64_t value : **axes) {
    llvm::Expected<size_t> axis = n.axis(value, dims.size());
    if (!axis)
      return axis.takeError();
    if (isNew[*axis])
      return n.fail("has axis " + Twine(value) + " twice");
    isNew[*axis] = true;
  }
  size_t next = 0;
  for (size_t i = 0; i != dims.size(); ++i)
    if (!isNew[i])
      dims[i] = from[next++];
  return setReshaped(n, dims);
}

llvm::Error importSqueeze(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  auto axes = n.integers("axes", 1);
  if (!axes)
    return axes.takeError();
  Dims from = dimsOf(n.operand(0));
  SmallVector<bool> isGone(from.size(), false);
  for (auto [index, dim] : llvm::enumerate(from))
    isGone[index] = !*axes && dim.isOne();
  if (*axes)
    for (int64_t value : **axes) {
      llvm::Expected<size_t> axis = n.axis(value, from.size());
      if (!axis)
        return axis.takeError();
      if (!from[*axis].isOne())
        return n.fail("axis " + Twine(value) + " of " + describe(n.operand(0)) +
                      " is not 1");
      isGone[*axis] = true;
    }
  Dims dims;
  for (auto [index, dim] : llvm::enumerate(from))
    if (!isGone[index])
      dims.push_back(dim);
  return setReshaped(n, dims);
}

llvm::Error importExpand(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  auto sizes = shapeOperand(n, 1);
  if (!sizes)
    return sizes.takeError();
  Dims wanted;
  for (SymbolicInt size : *sizes) {
    // -1 keeps a dimension, as exporters write it.
    std::optional<Dim> dim =
        size == SymbolicInt{-1, 0, 0} ? Dim::of(1) : toDim(size);
    if (!dim)
      return n.fail("gives a shape with a product of symbols");
    wanted.push_back(*dim);
  }
  Dims from = dimsOf(n.operand(0));
  std::optional<Dims> dims = broadcast(from, wanted);
  if (!dims)
    return n.fail("of " + describe(n.operand(0)) + " to " +
                  describe(ArrayRef<Dim>(wanted)) + " does not fit");
  bool isSame = *dims == from;
  if (!isSame && std::holds_alternative<HostTensor>(n.operand(0))) {
    std::optional<double> number = toScalar(n.operand(0));
    if (!number)
      return n.fail("of " + describe(n.operand(0)) + " is not supported");
    return n.set(Uniform{std::move(*dims), *number, *number});
  }
  const auto *input = n.as<Activation>(0);
  if (!isSame && input) {
    // Only the batch may be new, which is not stored.
    llvm::Expected<Value> value = n.aligned(*input, *dims);
    if (!value)
      return value.takeError();
    auto shape = storedShape(*dims);
    if (!shape || GraphEmitter::shapeOf(*value) != ArrayRef(*shape))
      return n.fail("repeats " + describe(n.operand(0)) +
                    ", which is not supported");
    Activation result = *input;
    result.value = *value;
    result.dims = *dims;
    return n.set(std::move(result));
  }
  return setReshaped(n, *dims);
}

llvm::Error importIdentity(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  return n.set(n.operand(0));
}

/// Numbers change between integers and reals; activations stay f32.
llvm::Error importCast(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  llvm::Expected<bool> isByDistance = importDistances(n, "Cast");
  if (!isByDistance || *isByDistance)
    return isByDistance.takeError();
  auto type = static_cast<DataType>(n.integer("to", 0));
  bool toReal = type == DataType::Float || type == DataType::Float16 ||
                type == DataType::Double || type == DataType::BFloat16;
  bool isActivation = n.as<Activation>(0) != nullptr;
  if (isActivation && !toReal)
    return n.fail("of an activation to " + dataTypeName(type) +
                  " is not supported");
  Operand result = n.operand(0);
  if (auto *uniform = std::get_if<Uniform>(&result);
      uniform && type == DataType::Bool) {
    uniform->visible = uniform->visible != 0;
    uniform->hidden = uniform->hidden != 0;
  }
  auto *host = std::get_if<HostTensor>(&result);
  if (!host || host->isReal == toReal)
    return n.set(std::move(result));
  for (SymbolicInt value : host->integers) {
    if (!value.isNumber())
      return n.fail("of a size that is not known to a real number");
    host->reals.push_back(static_cast<double>(value.coefficient));
  }
  host->integers.clear();
  if (!toReal) {
    for (double value : host->reals) {
      if (!(std::abs(value) < 9e18))
        return n.fail("of " + describe(value) + " to an integer");
      host->integers.push_back({static_cast<int64_t>(value), 0, 0});
    }
    host->reals.clear();
  }
  host->isReal = toReal;
  host->tensor = nullptr;
  return n.set(std::move(result));
}

/// Whether dimensions with the sequence stay in their order.
bool keepsRowsBeforeKeys(const Dims &dims, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> sequences;
  for (int64_t dim : permutation)
    if (dims[dim].has(Symbol::Sequence))
      sequences.push_back(dim);
  return llvm::is_sorted(sequences);
}

llvm::Error importTranspose(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  Dims from = dimsOf(n.operand(0));
  SmallVector<int64_t> permutation;
  if (const Attribute *attribute = n.node.find("perm"))
    permutation.assign(attribute->integers.begin(), attribute->integers.end());
  else
    for (size_t i = from.size(); i-- != 0;)
      permutation.push_back(static_cast<int64_t>(i));
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, from.size())))
    return n.fail("perm is no permutation of " + Twine(from.size()) +
                  " dimensions");
  Dims dims;
  for (int64_t dim : permutation)
    dims.push_back(from[dim]);
  if (const auto *constant = n.as<Constant>(0)) {
    Constant result = *constant;
    if (permutation.size() != 2)
      return n.fail("of a constant of rank " + Twine(permutation.size()) +
                    " is not supported, allowed is 2");
    if (permutation[0] == 1) {
      std::swap(result.shape[0], result.shape[1]);
      result.isTransposed = !result.isTransposed;
    }
    return n.set(std::move(result));
  }
  const auto *input = n.as<Activation>(0);
  bool isByDistance = n.as<Distances>(0) || n.as<RelativeBias>(0);
  if (isByDistance && !keepsRowsBeforeKeys(from, permutation))
    return n.fail("exchanges rows and keys of " + describe(n.operand(0)));
  if (!input)
    return setReshaped(n, dims); // masks and ids have no order to keep
  // The same permutation, of the dimensions that are stored.
  SmallVector<int64_t> storedBefore = storedDims(from), storedPermutation;
  for (int64_t dim : permutation)
    if (auto *found = llvm::find(storedBefore, dim);
        found != storedBefore.end())
      storedPermutation.push_back(found - storedBefore.begin());
  Activation result = *input;
  result.value = n.emit.transpose(input->value, storedPermutation);
  result.dims = std::move(dims);
  return n.set(std::move(result));
}

/// A node that holds a tensor.
llvm::Error importConstant(NodeImporter &n) {
  if (const Attribute *value = n.node.find("value"); value && value->tensor)
    return n.set(constantOperand(*value->tensor));
  if (const Attribute *value = n.node.find("value_float"); value && value->real)
    return n.set(HostTensor{{}, true, {}, {*value->real}});
  if (const Attribute *value = n.node.find("value_int");
      value && value->integer)
    return n.set(HostTensor{{}, false, {{*value->integer, 0, 0}}, {}});
  if (const Attribute *value = n.node.find("value_ints")) {
    std::vector<SymbolicInt> integers;
    for (int64_t integer : value->integers)
      integers.push_back({integer, 0, 0});
    return n.set(integerVector(integers));
  }
  if (const Attribute *value = n.node.find("value_floats")) {
    HostTensor numbers{
        {static_cast<int64_t>(value->reals.size())}, true, {}, {}};
    numbers.reals.assign(value->reals.begin(), value->reals.end());
    return n.set(std::move(numbers));
  }
  return n.fail("has neither value, value_float(s) nor value_int(s)");
}

constexpr OpEntry kOps[] = {
    {"", "Shape", importShape},
    {"", "Size", importSize},
    {"", "ConstantOfShape", importConstantOfShape},
    {"", "Range", importRange},
    {"", "CumSum", importCumSum},
    {"", "ReduceSum", importReduceSum},
    {"", "Reshape", importReshape},
    {"", "Flatten", importFlatten},
    {"", "Unsqueeze", importUnsqueeze},
    {"", "Squeeze", importSqueeze},
    {"", "Expand", importExpand},
    {"", "Identity", importIdentity},
    {"", "Dropout", importIdentity},
    {"", "Cast", importCast},
    {"", "Transpose", importTranspose},
    {"", "Constant", importConstant},
};

} // namespace

ArrayRef<OpEntry> shapeOps() { return kOps; }

} // namespace llmc::onnx
