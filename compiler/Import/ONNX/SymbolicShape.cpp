// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of terms, and reshapes as moving borders between factors.

#include "compiler/Import/ONNX/SymbolicShape.h"

namespace llmc::onnx {

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

std::optional<SymbolicInt> add(SymbolicInt lhs, SymbolicInt rhs) {
  if (rhs.coefficient == 0)
    return lhs;
  if (lhs.coefficient == 0)
    return rhs;
  if (lhs.batch != rhs.batch || lhs.sequence != rhs.sequence ||
      __builtin_add_overflow(lhs.coefficient, rhs.coefficient,
                             &lhs.coefficient))
    return std::nullopt;
  return lhs.coefficient == 0 ? SymbolicInt{} : lhs;
}

std::optional<SymbolicInt> subtract(SymbolicInt lhs, SymbolicInt rhs) {
  if (rhs.coefficient == INT64_MIN)
    return std::nullopt;
  rhs.coefficient = -rhs.coefficient;
  return add(lhs, rhs);
}

std::optional<SymbolicInt> multiply(SymbolicInt lhs, SymbolicInt rhs) {
  SymbolicInt result{0, lhs.batch + rhs.batch, lhs.sequence + rhs.sequence};
  if (__builtin_mul_overflow(lhs.coefficient, rhs.coefficient,
                             &result.coefficient))
    return std::nullopt;
  return result.coefficient == 0 ? SymbolicInt{} : result;
}

std::optional<SymbolicInt> divide(SymbolicInt lhs, SymbolicInt rhs) {
  if (rhs.coefficient == 0 ||
      (rhs.coefficient == -1 && lhs.coefficient == INT64_MIN))
    return std::nullopt;
  SymbolicInt result{lhs.coefficient / rhs.coefficient, lhs.batch - rhs.batch,
                     lhs.sequence - rhs.sequence};
  bool isWhole = lhs.coefficient % rhs.coefficient == 0;
  if (result.batch < 0 || result.sequence < 0 ||
      (!isWhole && !(lhs.isNumber() && rhs.isNumber())))
    return std::nullopt;
  return result.coefficient == 0 ? SymbolicInt{} : result;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

Dim Dim::of(int64_t size) {
  Dim dim;
  if (size != 1)
    dim.factors.push_back({Symbol::None, size});
  return dim;
}

bool Dim::has(Symbol symbol) const {
  return llvm::any_of(factors, [&](Factor f) { return f.symbol == symbol; });
}

bool Dim::isBatch() const {
  return factors.size() == 1 && factors[0].symbol == Symbol::Batch;
}

std::optional<int64_t> Dim::number() const {
  SymbolicInt term = size();
  return term.isNumber() ? std::optional(term.coefficient) : std::nullopt;
}

SymbolicInt Dim::size() const {
  SymbolicInt result{1, 0, 0};
  for (Factor factor : factors) {
    result.coefficient *= factor.size;
    result.batch += factor.symbol == Symbol::Batch;
    result.sequence += factor.symbol == Symbol::Sequence;
  }
  return result;
}

std::string describe(llvm::ArrayRef<Dim> dims) {
  std::string text = "[";
  for (const Dim &dim : dims) {
    text += text.size() > 1 ? ", " : "";
    std::string factors;
    for (Factor factor : dim.factors)
      factors +=
          (factors.empty() ? "" : "*") +
          (factor.symbol == Symbol::Batch      ? "batch"
           : factor.symbol == Symbol::Sequence ? "sequence"
                                               : std::to_string(factor.size));
    text += factors.empty() ? "1" : factors;
  }
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

namespace {

/// Takes factors from the front of `rest` whose product is `size`; the number
/// that crosses the border is split in two.
std::optional<Dim> takeDim(llvm::SmallVectorImpl<Factor> &rest,
                           SymbolicInt size) {
  Dim dim;
  while (size != SymbolicInt{1, 0, 0}) {
    if (rest.empty())
      return std::nullopt;
    Factor &front = rest.front();
    if (front.symbol != Symbol::None) {
      int &power = front.symbol == Symbol::Batch ? size.batch : size.sequence;
      if (power-- == 0)
        return std::nullopt;
      dim.factors.push_back(front);
      rest.erase(rest.begin());
      continue;
    }
    bool fits = size.coefficient > 1 && size.coefficient % front.size == 0;
    bool splits = size.coefficient > 1 && front.size % size.coefficient == 0;
    if (!fits && !splits)
      return std::nullopt;
    int64_t taken = fits ? front.size : size.coefficient;
    dim.factors.push_back({Symbol::None, taken});
    size.coefficient /= taken;
    if (fits)
      rest.erase(rest.begin());
    else
      front.size /= taken;
  }
  return dim;
}

} // namespace

std::optional<Dims> reshape(llvm::ArrayRef<Dim> dims,
                            llvm::ArrayRef<SymbolicInt> sizes) {
  llvm::SmallVector<Factor> rest;
  for (const Dim &dim : dims)
    rest.append(dim.factors.begin(), dim.factors.end());
  Dims result;
  for (SymbolicInt size : sizes) {
    std::optional<Dim> dim =
        size.coefficient > 0 ? takeDim(rest, size) : std::nullopt;
    if (!dim)
      return std::nullopt;
    result.push_back(*dim);
  }
  return rest.empty() ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<SymbolicInt> numElements(llvm::ArrayRef<Dim> dims) {
  SymbolicInt result{1, 0, 0};
  for (const Dim &dim : dims) {
    std::optional<SymbolicInt> product = multiply(result, dim.size());
    if (!product)
      return std::nullopt;
    result = *product;
  }
  return result;
}

std::optional<Dims> broadcast(llvm::ArrayRef<Dim> lhs,
                              llvm::ArrayRef<Dim> rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  Dims result(lhs.begin(), lhs.end());
  size_t offset = lhs.size() - rhs.size();
  for (auto [index, dim] : llvm::enumerate(rhs)) {
    Dim &other = result[offset + index];
    if (other.isOne())
      other = dim;
    else if (!dim.isOne() && dim.size() != other.size())
      return std::nullopt;
  }
  return numElements(result) ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<llvm::SmallVector<int64_t>>
storedShape(llvm::ArrayRef<Dim> dims) {
  llvm::SmallVector<int64_t> shape;
  for (const Dim &dim : dims) {
    if (dim.isBatch())
      continue;
    int64_t size = 1;
    bool hasRows = false;
    for (auto [index, factor] : llvm::enumerate(dim.factors)) {
      if (factor.symbol == Symbol::Batch && size != 1)
        return std::nullopt;
      size *= factor.size;
      hasRows |= factor.symbol == Symbol::Sequence;
    }
    if (hasRows && (size != 1 || dim.size().sequence != 1))
      return std::nullopt;
    shape.push_back(hasRows ? kRows : size);
  }
  return shape;
}

llvm::SmallVector<int64_t> storedDims(llvm::ArrayRef<Dim> dims) {
  llvm::SmallVector<int64_t> indices;
  for (auto [index, dim] : llvm::enumerate(dims))
    if (!dim.isBatch())
      indices.push_back(static_cast<int64_t>(index));
  return indices;
}

} // namespace llmc::onnx
