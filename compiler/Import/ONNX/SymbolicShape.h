// SPDX-License-Identifier: Apache-2.0
//
// Shapes in which the number of texts (batch) and their length (sequence) are
// not known. Plain C++.
//
// llmc has no padding: the tokens of all texts are rows behind one another. A
// tensor [batch, sequence, hidden] is therefore stored as [rows, hidden], one
// [batch, heads, sequence, sequence] as [heads, rows, rows]: the batch leaves
// the shape, and the sequence becomes the rows of all texts. That works for any
// place of the two, as long as neither is mixed with another dimension.

#ifndef LLMC_COMPILER_IMPORT_ONNX_SYMBOLICSHAPE_H
#define LLMC_COMPILER_IMPORT_ONNX_SYMBOLICSHAPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>

namespace llmc::onnx {

enum class Symbol : uint8_t { None, Batch, Sequence };

/// coefficient * batch^b * sequence^s: what shape arithmetic in a graph
/// computes with. A plain number has neither.
struct SymbolicInt {
  int64_t coefficient = 0;
  int batch = 0;
  int sequence = 0;

  bool isNumber() const { return batch == 0 && sequence == 0; }
  bool operator==(const SymbolicInt &other) const {
    return coefficient == other.coefficient && batch == other.batch &&
           sequence == other.sequence;
  }
  bool operator!=(const SymbolicInt &other) const { return !(*this == other); }
};

/// None when a result is no such term or not a whole number, or overflows.
std::optional<SymbolicInt> add(SymbolicInt lhs, SymbolicInt rhs);
std::optional<SymbolicInt> subtract(SymbolicInt lhs, SymbolicInt rhs);
std::optional<SymbolicInt> multiply(SymbolicInt lhs, SymbolicInt rhs);
/// Of numbers it truncates, as ONNX does.
std::optional<SymbolicInt> divide(SymbolicInt lhs, SymbolicInt rhs);

/// A part of a dimension: a symbol, or a number above 1.
struct Factor {
  Symbol symbol = Symbol::None;
  int64_t size = 1;

  bool operator==(const Factor &other) const {
    return symbol == other.symbol && size == other.size;
  }
};

/// A dimension: the factors that were merged into it, outermost first; none is
/// the dimension 1.
struct Dim {
  llvm::SmallVector<Factor, 2> factors;

  static Dim of(int64_t size);
  static Dim of(Symbol symbol) { return {{Factor{symbol, 1}}}; }

  bool isOne() const { return factors.empty(); }
  bool has(Symbol symbol) const;
  /// Whether it is the batch and nothing else.
  bool isBatch() const;
  /// The size when no symbol is in it.
  std::optional<int64_t> number() const;
  SymbolicInt size() const;
  bool operator==(const Dim &other) const { return factors == other.factors; }
  bool operator!=(const Dim &other) const { return !(*this == other); }
};

using Dims = llvm::SmallVector<Dim, 4>;

/// "[batch, sequence, 384]".
std::string describe(llvm::ArrayRef<Dim> dims);

/// The dimensions `sizes` when a tensor of `dims` takes that shape: factors
/// keep their order. None when the number of elements differs or a symbol would
/// be split or overtaken.
std::optional<Dims> reshape(llvm::ArrayRef<Dim> dims,
                            llvm::ArrayRef<SymbolicInt> sizes);

/// The product of all dimensions; none beyond int64.
std::optional<SymbolicInt> numElements(llvm::ArrayRef<Dim> dims);

/// Dimensions of an element-wise result, counted from the last one; none when
/// they differ and neither is 1.
std::optional<Dims> broadcast(llvm::ArrayRef<Dim> lhs, llvm::ArrayRef<Dim> rhs);

/// How llmc stores the tensor: batch dimensions are left out, a dimension with
/// the sequence is kRows. None when the sequence is merged with a number, or a
/// number stands outside of the batch in one dimension.
constexpr int64_t kRows = INT64_MIN;
std::optional<llvm::SmallVector<int64_t>> storedShape(llvm::ArrayRef<Dim> dims);

/// Indices of the dimensions that are stored, in order.
llvm::SmallVector<int64_t> storedDims(llvm::ArrayRef<Dim> dims);

} // namespace llmc::onnx

#endif // LLMC_COMPILER_IMPORT_ONNX_SYMBOLICSHAPE_H
