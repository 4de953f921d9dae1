// SPDX-License-Identifier: Apache-2.0
//
// What verifiers of graph ops ask about types and numbers.

#ifndef LLMC_DIALECTS_GRAPH_VERIFIERSUPPORT_H
#define LLMC_DIALECTS_GRAPH_VERIFIERSUPPORT_H

#include "dialects/Graph/Graph.h"

namespace llmc::graph {

inline RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

inline ArrayRef<int64_t> shapeOf(Value value) {
  return typeOf(value).getShape();
}

inline bool isPositiveFinite(const llvm::APFloat &number) {
  return number.isFinite() && !number.isNegative() && !number.isZero();
}

inline bool isFiniteNotNegative(const llvm::APFloat &number) {
  return number.isFinite() && (!number.isNegative() || number.isZero());
}

inline int64_t countDynamic(ArrayRef<int64_t> shape) {
  return llvm::count_if(shape, ShapedType::isDynamic);
}

inline uint64_t staticProduct(ArrayRef<int64_t> shape) {
  uint64_t product = 1; // wraps for shapes that no memory holds
  for (int64_t size : shape)
    product *= ShapedType::isDynamic(size) ? 1 : static_cast<uint64_t>(size);
  return product;
}

/// Whether a vector of biases is [an odd number * heads].
inline bool isRelativeTable(Value table, int64_t heads) {
  ArrayRef<int64_t> shape = shapeOf(table);
  return heads > 0 && shape.size() == 1 && !ShapedType::isDynamic(shape[0]) &&
         shape[0] % heads == 0 && shape[0] / heads % 2 == 1;
}

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_VERIFIERSUPPORT_H
