// SPDX-License-Identifier: Apache-2.0
//
// The values of the reference evaluator.

#ifndef LLMC_COMPILER_REFERENCE_TENSOR_H
#define LLMC_COMPILER_REFERENCE_TENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace llmc::reference {

using Shape = llvm::SmallVector<int64_t, 4>;

/// The product of the sizes.
inline int64_t numElements(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// Numbers in row-major order. Integers (tokens, positions) are held as doubles
/// too, which hold every int32 exactly.
struct Tensor {
  Shape shape;
  std::vector<double> values;

  Tensor() = default;
  /// Zeros.
  explicit Tensor(llvm::ArrayRef<int64_t> shape)
      : shape(shape), values(numElements(shape)) {}
  Tensor(llvm::ArrayRef<int64_t> shape, std::vector<double> values)
      : shape(shape), values(std::move(values)) {}

  /// A rank-0 tensor, such as a position.
  static Tensor scalar(double value) { return Tensor({}, {value}); }
  /// A rank-1 tensor, such as token ids.
  static Tensor vector(llvm::ArrayRef<int32_t> values) {
    return Tensor({static_cast<int64_t>(values.size())},
                  std::vector<double>(values.begin(), values.end()));
  }

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  /// The size of a dimension counted from the back, 1 for the last.
  int64_t fromBack(size_t index) const { return shape[shape.size() - index]; }
};

} // namespace llmc::reference

#endif // LLMC_COMPILER_REFERENCE_TENSOR_H
