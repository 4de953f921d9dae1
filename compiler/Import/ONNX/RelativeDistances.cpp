// SPDX-License-Identifier: Apache-2.0
//
// Biases by the distance of a key, as T5 and MPNet have them: exporters write
// out how a distance becomes a bucket. That is computed here for every distance
// that a text can have, and what is left is a table of biases.

#include "compiler/Import/ONNX/HostArithmetic.h"
#include "compiler/Import/ONNX/NodeImporter.h"

#include <cmath>

namespace llmc::onnx {

namespace {

constexpr int64_t kSpan = kLongestText - 1;
constexpr int64_t kCount = 2 * kSpan + 1;

/// Where a position's tensor has the sequence, counted from the last dimension;
/// none unless all others are 1.
std::optional<size_t> sequenceFromEnd(const Dims &dims) {
  std::optional<size_t> found;
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (dim.isOne())
      continue;
    if (found || dim != Dim::of(Symbol::Sequence))
      return std::nullopt;
    found = dims.size() - index;
  }
  return found;
}

/// lhs - rhs where one is the row's and the other the key's position.
std::optional<Distances> differenceOf(const Index &lhs, const Index &rhs) {
  std::optional<size_t> left = sequenceFromEnd(lhs.dims);
  std::optional<size_t> right = sequenceFromEnd(rhs.dims);
  std::optional<Dims> dims = broadcast(lhs.dims, rhs.dims);
  if (!left || !right || *left == *right || !dims)
    return std::nullopt;
  int64_t sign = *left < *right ? 1 : -1;
  Distances result{std::move(*dims), false, {}};
  for (int64_t distance = -kSpan; distance <= kSpan; ++distance)
    result.values.push_back(static_cast<double>(sign * distance) +
                            static_cast<double>(lhs.offset) -
                            static_cast<double>(rhs.offset));
  return result;
}

/// An operand as numbers by distance: one number for all where it is known.
struct ByDistance {
  Dims dims;
  bool isReal;
  const std::vector<double> *values;
  double number;

  double at(int64_t index) const { return values ? (*values)[index] : number; }
};

std::optional<ByDistance> operandByDistance(const Operand &operand) {
  if (const auto *distances = std::get_if<Distances>(&operand))
    return ByDistance{distances->dims, distances->isReal, &distances->values,
                      0};
  std::optional<double> number = toScalar(operand);
  if (!number)
    return std::nullopt;
  std::optional<HostTensor> host = toHost(operand);
  return ByDistance{dimsOf(operand), host && host->isReal, nullptr, *number};
}

double toInteger(double value) {
  constexpr double kMost = 1e15;
  return std::isnan(value) ? 0 : std::trunc(std::clamp(value, -kMost, kMost));
}

double castTo(DataType type, double value) {
  switch (type) {
  case DataType::Bool:
    return value != 0;
  case DataType::Float:
  case DataType::Double:
  case DataType::Float16:
  case DataType::BFloat16:
    return static_cast<float>(value);
  default:
    return toInteger(value);
  }
}

bool isRealType(DataType type) {
  return type == DataType::Float || type == DataType::Double ||
         type == DataType::Float16 || type == DataType::BFloat16;
}

/// The number of an op for one distance; none for ops that are not supported.
std::optional<double> computeAt(NodeImporter &n, StringRef op,
                                ArrayRef<ByDistance> arguments, int64_t index) {
  double first = arguments[0].at(index);
  if (op == "Cast")
    return castTo(static_cast<DataType>(n.integer("to", 0)), first);
  if (op == "Where" && arguments.size() == 3)
    return arguments[first != 0 ? 1 : 2].at(index);
  if (arguments.size() == 1 && isHostUnary(op))
    return computeReal(op, first);
  if (arguments.size() != 2 || !isHostBinary(op))
    return std::nullopt;
  double result = computeReals(op, first, arguments[1].at(index));
  bool isWhole = op == "Div" && !arguments[0].isReal && !arguments[1].isReal;
  return isWhole ? toInteger(result) : result;
}

/// Whether the result of an op is real.
bool givesReal(NodeImporter &n, StringRef op, ArrayRef<ByDistance> arguments) {
  if (op == "Cast")
    return isRealType(static_cast<DataType>(n.integer("to", 0)));
  return llvm::any_of(arguments.drop_front(op == "Where" ? 1 : 0),
                      [](const ByDistance &one) { return one.isReal; });
}

llvm::Error importByDistance(NodeImporter &n, StringRef op,
                             ArrayRef<ByDistance> arguments) {
  Distances result;
  result.dims = arguments.front().dims;
  for (const ByDistance &argument : arguments.drop_front()) {
    std::optional<Dims> dims = broadcast(result.dims, argument.dims);
    if (!dims)
      return n.fail("has operands of different dimensions");
    result.dims = std::move(*dims);
  }
  result.isReal = givesReal(n, op, arguments);
  for (int64_t index = 0; index != kCount; ++index) {
    std::optional<double> value = computeAt(n, op, arguments, index);
    if (!value)
      return n.fail("of distances is not supported");
    // Reals are floats in the graph: where a bucket ends depends on it.
    result.values.push_back(result.isReal ? static_cast<float>(*value)
                                          : *value);
  }
  return n.set(std::move(result));
}

} // namespace

llvm::Expected<bool> importDistances(NodeImporter &n, StringRef op) {
  const auto *left = n.as<Index>(0), *right = n.as<Index>(1);
  if (op == "Sub" && left && right && left->isPosition && right->isPosition) {
    std::optional<Distances> difference = differenceOf(*left, *right);
    if (!difference)
      return n.fail("of " + describe(n.operand(0)) + " and " +
                    describe(n.operand(1)) +
                    " is not supported, allowed are positions of rows and of "
                    "keys");
    (void)n.set(std::move(*difference));
    return true;
  }
  SmallVector<ByDistance> arguments;
  bool isByDistance = false;
  for (size_t i = 0; n.has(i); ++i) {
    isByDistance |= n.as<Distances>(i) != nullptr;
    if (std::optional<ByDistance> argument = operandByDistance(n.operand(i)))
      arguments.push_back(std::move(*argument));
  }
  if (!isByDistance)
    return false;
  if (arguments.size() != n.node.inputs.size())
    return n.fail("combines distances of keys with something that is not "
                  "known");
  if (llvm::Error error = importByDistance(n, op, arguments))
    return std::move(error);
  return true;
}

llvm::Error gatherBiases(NodeImporter &n, const HostTensor &table,
                         const Distances &buckets) {
  if (!table.isReal || table.shape.size() != 2 || buckets.isReal)
    return n.fail("by distances is supported for a matrix [buckets, heads]");
  int64_t rows = table.shape[0], heads = table.shape[1];
  HostTensor biases{{kCount * heads}, true, {}, {}};
  for (double bucket : buckets.values) {
    auto count = static_cast<double>(rows);
    if (!(bucket >= -count && bucket < count))
      return n.fail("has bucket " + describe(bucket) + " of " + Twine(rows));
    auto row = static_cast<int64_t>(bucket < 0 ? bucket + count : bucket);
    biases.reals.insert(biases.reals.end(), table.reals.begin() + row * heads,
                        table.reals.begin() + (row + 1) * heads);
  }
  Dims dims = buckets.dims;
  dims.push_back(Dim::of(heads));
  std::string name = (n.node.inputs[0] + ".by_distance").str();
  return n.set(RelativeBias{n.emit.table(biases, name), std::move(dims)});
}

llvm::Expected<Activation> addRelativeBias(NodeImporter &n,
                                           const Activation &scores,
                                           const RelativeBias &bias) {
  ArrayRef<Dim> dims = bias.dims;
  while (dims.size() > 3 && (dims.front().isOne() || dims.front().isBatch()))
    dims = dims.drop_front();
  ArrayRef<Dim> last = ArrayRef(scores.dims).take_back(3);
  Dim sequence = Dim::of(Symbol::Sequence);
  bool fits = dims.size() == 3 && dims == last && dims[1] == sequence &&
              dims[2] == sequence &&
              GraphEmitter::shapeOf(scores.value).size() == 3;
  if (!fits)
    return n.fail("adds a bias by distance " + describe(ArrayRef(bias.dims)) +
                  " to " + describe(Operand(scores)) +
                  ", allowed is one [heads, rows, keys]");
  return Activation{n.emit.relativeBias(scores.value, bias.table), scores.dims,
                    false, std::nullopt};
}

} // namespace llmc::onnx
