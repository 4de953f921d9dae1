// SPDX-License-Identifier: Apache-2.0
//
// Folds that are right on every device and for every number: views of views,
// views that change nothing, arithmetic with a neutral constant.

#include "dialects/Graph/Graph.h"

namespace llmc::graph {

namespace {

/// Whether `value` is the constant `number` and `result` keeps the other
/// operand's type.
bool isNeutral(Value value, double number, Value other, Value result) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.getValue().convertToDouble() == number &&
         other.getType() == result.getType();
}

} // namespace

/// x - 0 → x
mlir::OpFoldResult SubOp::fold(FoldAdaptor) {
  return isNeutral(getRhs(), 0, getLhs(), getResult()) ? getLhs() : Value();
}

/// x * 1 → x
mlir::OpFoldResult MulOp::fold(FoldAdaptor) {
  return isNeutral(getRhs(), 1, getLhs(), getResult()) ? getLhs() : Value();
}

/// x / 1 → x
mlir::OpFoldResult DivOp::fold(FoldAdaptor) {
  return isNeutral(getRhs(), 1, getLhs(), getResult()) ? getLhs() : Value();
}

/// reshape to the same type → x
/// reshape (reshape x) → reshape x
mlir::OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return {};
}

/// transpose by the identity → x
/// transpose (transpose x) → transpose x by the composed permutation
mlir::OpFoldResult TransposeOp::fold(FoldAdaptor) {
  ArrayRef<int64_t> outer = getPermutation();
  if (llvm::equal(outer, llvm::seq<int64_t>(0, outer.size())))
    return getInput();
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> composed;
  for (int64_t dim : outer)
    composed.push_back(inner.getPermutation()[dim]);
  setPermutation(composed);
  getInputMutable().assign(inner.getInput());
  return getResult();
}

/// slice of everything → x
/// slice (slice x) along one dimension → slice x
mlir::OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto inner = getInput().getDefiningOp<SliceOp>();
  if (!inner || inner.getDim() != getDim())
    return {};
  setOffset(inner.getOffset() + getOffset());
  getInputMutable().assign(inner.getInput());
  return getResult();
}

} // namespace llmc::graph
