// SPDX-License-Identifier: Apache-2.0
//
// HeadChain.h.

#include "codegen/Lowering/HeadChain.h"

namespace llmc::codegen {

/// The op that gives `value`, through reshapes, if it is an `OpT`; `value`
/// becomes what it reads.
template <typename OpT>
static OpT takeOp(Value &value) {
  Value shown = value;
  while (auto reshape = shown.getDefiningOp<graph::ReshapeOp>())
    shown = reshape.getInput();
  auto op = shown.getDefiningOp<OpT>();
  if (op)
    value = op.getInput();
  return op;
}

HeadChain readHeadChain(Value value) {
  HeadChain chain;
  chain.append = takeOp<graph::KvAppendOp>(value);
  chain.type = cast<RankedTensorType>(value.getType());
  chain.rotary = takeOp<graph::RotaryOp>(value);
  chain.norm = takeOp<graph::RmsNormOp>(value);
  for (Operation *op : {chain.append.getOperation(),
                        chain.rotary.getOperation(), chain.norm.getOperation()})
    if (op)
      chain.type = cast<RankedTensorType>(op->getOperand(0).getType());
  chain.source = value;
  return chain;
}

} // namespace llmc::codegen
