// SPDX-License-Identifier: Apache-2.0

#include "compiler/Import/ONNX/NodeImporter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace llmc::onnx {

llvm::Error NodeImporter::fail(const Twine &message) const {
  std::string text = graph.file.path().str() + ": node '";
  llvm::raw_string_ostream stream(text);
  llvm::printEscapedString(node.name.take_front(80), stream);
  stream << "' (";
  llvm::printEscapedString(node.opType.take_front(80), stream);
  stream << " of domain "
         << (node.domain.empty() ? StringRef("ai.onnx") : node.domain)
         << ", opset " << opset << "): " << message;
  return llvm::createStringError(text);
}

llvm::Error NodeImporter::requireInputs(size_t atLeast) const {
  for (size_t i = 0; i != atLeast; ++i)
    if (!has(i))
      return fail("has no input " + Twine(i) + ", which it needs");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

int64_t NodeImporter::integer(StringRef attribute, int64_t otherwise) const {
  const Attribute *found = node.find(attribute);
  return found && found->integer ? *found->integer : otherwise;
}

float NodeImporter::real(StringRef attribute, float otherwise) const {
  const Attribute *found = node.find(attribute);
  return found && found->real ? *found->real : otherwise;
}

StringRef NodeImporter::text(StringRef attribute, StringRef otherwise) const {
  const Attribute *found = node.find(attribute);
  return found && found->text ? *found->text : otherwise;
}

llvm::Expected<std::optional<std::vector<int64_t>>>
NodeImporter::integers(StringRef attribute, size_t index) const {
  using Result = std::optional<std::vector<int64_t>>;
  if (const Attribute *found = node.find(attribute))
    return Result(found->integers);
  if (!has(index))
    return Result();
  std::optional<HostTensor> host = toHost(operand(index));
  bool isKnown = host && !host->isReal &&
                 llvm::all_of(host->integers, [](const SymbolicInt &value) {
                   return value.isNumber();
                 });
  if (!isKnown)
    return fail("the " + attribute + " (input " + Twine(index) +
                ") must be known integers, but are " +
                describe(operand(index)));
  std::vector<int64_t> result;
  for (const SymbolicInt &value : host->integers)
    result.push_back(value.coefficient);
  return Result(std::move(result));
}

llvm::Expected<size_t> NodeImporter::axis(int64_t value, size_t rank) const {
  auto signedRank = static_cast<int64_t>(rank);
  if (value < -signedRank || value >= signedRank)
    return fail("axis is " + Twine(value) + ", but the rank is " + Twine(rank));
  return static_cast<size_t>(value < 0 ? value + signedRank : value);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

llvm::Expected<Activation> NodeImporter::activation(size_t index) {
  return activation(operand(index));
}

/// The number of a mask that is one everywhere, or of a real constant of one
/// element.
static std::optional<double> realNumber(const Operand &operand) {
  bool isOne =
      llvm::all_of(dimsOf(operand), [](const Dim &dim) { return dim.isOne(); });
  if (std::holds_alternative<Uniform>(operand))
    return toScalar(operand);
  std::optional<HostTensor> host = isOne ? toHost(operand) : std::nullopt;
  return host && host->isReal ? std::optional(host->reals.front())
                              : std::nullopt;
}

llvm::Expected<Activation> NodeImporter::activation(const Operand &operand) {
  if (const auto *found = std::get_if<Activation>(&operand)) {
    if (found->numerator)
      return fail("reads a reciprocal, which only a product may");
    return *found;
  }
  if (std::optional<double> number = realNumber(operand))
    return Activation{emit.constant(*number), {}, false, std::nullopt};
  if (const auto *constant = std::get_if<Constant>(&operand)) {
    llvm::Expected<Value> value = emit.weight(*constant);
    if (!value)
      return fail(llvm::toString(value.takeError()));
    return Activation{*value, dimsOf(operand), false, std::nullopt};
  }
  const auto *host = std::get_if<HostTensor>(&operand);
  if (host && host->isReal)
    return Activation{emit.table(*host, node.outputs[0]), dimsOf(operand),
                      false, std::nullopt};
  return fail("reads " + describe(operand) +
              " where a floating-point tensor is allowed");
}

llvm::Expected<SmallVector<int64_t>>
NodeImporter::stored(ArrayRef<Dim> dims) const {
  auto shape = storedShape(dims);
  if (!shape)
    return fail("gives " + describe(dims) +
                ", which mixes the sequence with another dimension");
  return *shape;
}

/// Whether a reshape op may have such a result: rows stay rows, and shapes with
/// several dynamic dimensions can't change.
static bool canReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  return from == to || (llvm::count(from, kRows) <= 1 &&
                        llvm::count(from, kRows) == llvm::count(to, kRows));
}

llvm::Expected<Operand> NodeImporter::reshaped(const Operand &operand,
                                               const Dims &dims) {
  Operand result = operand;
  if (auto *uniform = std::get_if<Uniform>(&result)) {
    uniform->dims = dims;
    return result;
  }
  if (auto *index = std::get_if<Index>(&result)) {
    index->dims = dims;
    return result;
  }
  if (auto *length = std::get_if<Length>(&result)) {
    length->dims = dims;
    return result;
  }
  if (auto *distances = std::get_if<Distances>(&result)) {
    distances->dims = dims;
    return result;
  }
  if (auto *bias = std::get_if<RelativeBias>(&result)) {
    bias->dims = dims;
    return result;
  }
  if (auto *value = std::get_if<Activation>(&result)) {
    llvm::Expected<SmallVector<int64_t>> shape = stored(dims);
    if (!shape)
      return shape.takeError();
    if (!canReshape(GraphEmitter::shapeOf(value->value), *shape))
      return fail("gives " + describe(dims) + " of " + describe(operand) +
                  ", which llmc can't store");
    value->value = emit.reshape(value->value, *shape);
    value->dims = dims;
    return result;
  }
  SmallVector<int64_t, 4> shape;
  for (const Dim &dim : dims)
    shape.push_back(dim.number().value_or(-1));
  if (auto *host = std::get_if<HostTensor>(&result)) {
    host->shape = shape;
    return result;
  }
  auto *constant = std::get_if<Constant>(&result);
  if (constant && (!constant->isTransposed || constant->shape == shape)) {
    constant->shape = shape;
    return result;
  }
  return fail("can't view " + describe(operand) + " as " + describe(dims));
}

llvm::Expected<Value> NodeImporter::aligned(const Activation &input,
                                            ArrayRef<Dim> dims) {
  if (input.dims.size() > dims.size())
    return fail("has an operand of more dimensions than its result");
  Dims kept;
  size_t missing = dims.size() - input.dims.size();
  for (auto [index, dim] : llvm::enumerate(input.dims))
    if (!dims[missing + index].isBatch())
      kept.push_back(dim);
  llvm::Expected<SmallVector<int64_t>> shape = stored(kept);
  if (!shape)
    return shape.takeError();
  ArrayRef<int64_t> now = GraphEmitter::shapeOf(input.value);
  if (!canReshape(now, *shape))
    return fail("can't combine " + describe(ArrayRef(input.dims)) + " with " +
                describe(dims));
  return emit.reshape(input.value, *shape);
}

llvm::Error NodeImporter::set(Operand value, size_t output) {
  if (output < node.outputs.size() && !node.outputs[output].empty())
    graph.values.insert_or_assign(node.outputs[output], std::move(value));
  return llvm::Error::success();
}

} // namespace llmc::onnx
