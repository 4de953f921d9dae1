// SPDX-License-Identifier: Apache-2.0
//
// Tables of formulas, and broadcasting of small tensors.

#include "compiler/Import/ONNX/HostArithmetic.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

namespace llmc::onnx {

namespace {

using BinaryFormula = double (*)(double, double);
using UnaryFormula = double (*)(double);

BinaryFormula binaryFormula(StringRef opType) {
  return llvm::StringSwitch<BinaryFormula>(opType)
      .Case("Add", [](double a, double b) { return a + b; })
      .Case("Sub", [](double a, double b) { return a - b; })
      .Case("Mul", [](double a, double b) { return a * b; })
      .Case("Div", [](double a, double b) { return a / b; })
      .Case("Pow", [](double a, double b) { return std::pow(a, b); })
      .Case("Max", [](double a, double b) { return std::max(a, b); })
      .Case("Min", [](double a, double b) { return std::min(a, b); })
      .Case("Equal", [](double a, double b) { return double(a == b); })
      .Case("Greater", [](double a, double b) { return double(a > b); })
      .Case("GreaterOrEqual", [](double a, double b) { return double(a >= b); })
      .Case("Less", [](double a, double b) { return double(a < b); })
      .Case("LessOrEqual", [](double a, double b) { return double(a <= b); })
      .Case("And", [](double a, double b) { return double(a != 0 && b != 0); })
      .Case("Or", [](double a, double b) { return double(a != 0 || b != 0); })
      .Default(nullptr);
}

UnaryFormula unaryFormula(StringRef opType) {
  return llvm::StringSwitch<UnaryFormula>(opType)
      .Case("Not", [](double a) { return double(a == 0); })
      .Case("Neg", [](double a) { return -a; })
      .Case("Abs", [](double a) { return std::abs(a); })
      .Case("Sqrt", [](double a) { return std::sqrt(a); })
      .Case("Exp", [](double a) { return std::exp(a); })
      .Case("Log", [](double a) { return std::log(a); })
      .Case("Floor", [](double a) { return std::floor(a); })
      .Case("Ceil", [](double a) { return std::ceil(a); })
      .Case("Reciprocal", [](double a) { return 1 / a; })
      .Default(nullptr);
}

bool isComparison(StringRef opType) {
  return llvm::StringSwitch<bool>(opType)
      .Cases({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"},
             true)
      .Cases({"And", "Or"}, true)
      .Default(false);
}

/// Below 2^53, where doubles are exact.
bool isSmall(int64_t value) {
  return std::abs(static_cast<double>(value)) < 9007199254740992.0;
}

std::optional<SymbolicInt> truth(bool value) {
  return SymbolicInt{value ? 1 : 0, 0, 0};
}

/// A symbol is a number above 0, and nothing else is known of it.
std::optional<SymbolicInt> compareSymbolic(StringRef opType, SymbolicInt lhs,
                                           SymbolicInt rhs) {
  if (opType == "Equal") {
    if (lhs == rhs)
      return truth(true);
    bool differInSign = (lhs.coefficient > 0) != (rhs.coefficient > 0);
    return differInSign ? truth(false) : std::nullopt;
  }
  return std::nullopt;
}

/// What host tensors may grow to by broadcasting.
constexpr int64_t kMaxElements = int64_t{1} << 20;

/// The shape of a broadcast result; none when sizes differ or it is large.
std::optional<SmallVector<int64_t, 4>> broadcastShape(ArrayRef<int64_t> lhs,
                                                      ArrayRef<int64_t> rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  SmallVector<int64_t, 4> shape(lhs.begin(), lhs.end());
  size_t offset = lhs.size() - rhs.size();
  for (auto [index, size] : llvm::enumerate(rhs)) {
    int64_t &other = shape[offset + index];
    if (other != size && other != 1 && size != 1)
      return std::nullopt;
    other = other == 1 ? size : other;
  }
  int64_t count = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count) || count > kMaxElements)
      return std::nullopt;
  return shape;
}

/// The element of a tensor of `shape` that element `flat` of the broadcast
/// result `full` reads.
size_t sourceIndex(ArrayRef<int64_t> full, size_t flat,
                   ArrayRef<int64_t> shape) {
  size_t index = 0, stride = 1;
  for (size_t d = full.size(); d-- != 0;) {
    size_t place = flat % full[d];
    flat /= full[d];
    size_t missing = full.size() - shape.size();
    if (d < missing)
      continue;
    if (shape[d - missing] != 1)
      index += place * stride;
    stride *= shape[d - missing];
  }
  return index;
}

size_t countOf(ArrayRef<int64_t> shape) {
  size_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<size_t>(size);
  return count;
}

} // namespace

bool isHostBinary(StringRef opType) { return binaryFormula(opType) != nullptr; }
bool isHostUnary(StringRef opType) { return unaryFormula(opType) != nullptr; }

double computeReals(StringRef opType, double lhs, double rhs) {
  return static_cast<float>(binaryFormula(opType)(lhs, rhs));
}

double computeReal(StringRef opType, double value) {
  return static_cast<float>(unaryFormula(opType)(value));
}

std::optional<SymbolicInt> computeIntegers(StringRef opType, SymbolicInt lhs,
                                           SymbolicInt rhs) {
  if (opType == "Add")
    return add(lhs, rhs);
  if (opType == "Sub")
    return subtract(lhs, rhs);
  if (opType == "Mul")
    return multiply(lhs, rhs);
  if (opType == "Div")
    return divide(lhs, rhs);
  if (!lhs.isNumber() || !rhs.isNumber())
    return compareSymbolic(opType, lhs, rhs);
  if (!isSmall(lhs.coefficient) || !isSmall(rhs.coefficient))
    return std::nullopt;
  double value = binaryFormula(opType)(static_cast<double>(lhs.coefficient),
                                       static_cast<double>(rhs.coefficient));
  if (!(std::abs(value) < 9007199254740992.0))
    return std::nullopt;
  return SymbolicInt{static_cast<int64_t>(value), 0, 0};
}

std::optional<HostTensor> computeHost(StringRef opType, const HostTensor &lhs,
                                      const HostTensor &rhs) {
  auto shape = broadcastShape(lhs.shape, rhs.shape);
  if (!shape || lhs.isReal != rhs.isReal)
    return std::nullopt;
  HostTensor result;
  result.shape = *shape;
  result.isReal = lhs.isReal && !isComparison(opType);
  for (size_t i = 0, count = countOf(*shape); i != count; ++i) {
    size_t left = sourceIndex(*shape, i, lhs.shape);
    size_t right = sourceIndex(*shape, i, rhs.shape);
    if (!lhs.isReal) {
      auto value =
          computeIntegers(opType, lhs.integers[left], rhs.integers[right]);
      if (!value)
        return std::nullopt;
      result.integers.push_back(*value);
      continue;
    }
    double value = computeReals(opType, lhs.reals[left], rhs.reals[right]);
    if (result.isReal)
      result.reals.push_back(value);
    else
      result.integers.push_back({static_cast<int64_t>(value), 0, 0});
  }
  return result;
}

std::optional<HostTensor> computeHost(StringRef opType,
                                      const HostTensor &value) {
  HostTensor result = value;
  result.tensor = nullptr;
  for (double &real : result.reals)
    real = computeReal(opType, real);
  for (SymbolicInt &integer : result.integers) {
    if (!integer.isNumber() || !isSmall(integer.coefficient))
      return std::nullopt;
    double number =
        computeReal(opType, static_cast<double>(integer.coefficient));
    if (!(std::abs(number) < 9007199254740992.0))
      return std::nullopt;
    integer.coefficient = static_cast<int64_t>(number);
  }
  return result;
}

std::optional<HostTensor> selectHost(const HostTensor &condition,
                                     const HostTensor &lhs,
                                     const HostTensor &rhs) {
  auto values = broadcastShape(lhs.shape, rhs.shape);
  auto shape = values ? broadcastShape(*values, condition.shape) : std::nullopt;
  if (!shape || lhs.isReal != rhs.isReal || condition.isReal)
    return std::nullopt;
  HostTensor result;
  result.shape = *shape;
  result.isReal = lhs.isReal;
  for (size_t i = 0, count = countOf(*shape); i != count; ++i) {
    SymbolicInt chosen =
        condition.integers[sourceIndex(*shape, i, condition.shape)];
    if (!chosen.isNumber())
      return std::nullopt;
    const HostTensor &from = chosen.coefficient != 0 ? lhs : rhs;
    size_t index = sourceIndex(*shape, i, from.shape);
    if (from.isReal)
      result.reals.push_back(from.reals[index]);
    else
      result.integers.push_back(from.integers[index]);
  }
  return result;
}

} // namespace llmc::onnx
