// SPDX-License-Identifier: Apache-2.0

#include "dialects/Graph/RegionResults.h"

namespace llmc::graph {

Value throughReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

bool isReadableResult(OpResult result) {
  auto region = cast<RegionOp>(result.getOwner());
  Value inBody = region.getBody().front().getTerminator()->getOperand(
      result.getResultNumber());
  Type element = cast<RankedTensorType>(result.getType()).getElementType();
  return (element.isF32() || element.isF16()) &&
         !inBody.getDefiningOp<KvAppendOp>() &&
         !inBody.getDefiningOp<QuantizeActivationsOp>();
}

} // namespace llmc::graph
