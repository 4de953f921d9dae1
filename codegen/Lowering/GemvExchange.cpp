// SPDX-License-Identifier: Apache-2.0
//
// The GEMV kernel's input in the registers of lanes that read the same columns.

#include "codegen/Lowering/GemvExchange.h"

namespace llmc::codegen {

GemvExchange::GemvExchange(KernelBuilder &builder, LinearInput &input,
                           int64_t subgroup)
    : b(builder), input(input), subgroup(subgroup) {
  Value lane = gpu::LaneIdOp::create(b, mlir::IntegerAttr());
  inShare = b.rem(lane, kQuadsPerTile);
  firstLane = b.toI32(b.sub(lane, inShare));
}

SmallVector<Value> GemvExchange::load(Value rowBase, Value first,
                                      int64_t count) {
  SmallVector<Value> own;
  for (int64_t number = 0; number < count; number += kQuadsPerTile) {
    Value place = b.add(first, b.add(inShare, number));
    Value x = input.load(rowBase, place);
    Value gain = input.loadGain(place);
    own.push_back(gain ? b.mul(x, gain) : x);
  }
  return own;
}

Value GemvExchange::vector(ArrayRef<Value> own, int64_t number) {
  Value from = b.add(firstLane, number % kQuadsPerTile),
        width = b.i32(subgroup);
  SmallVector<Value> columns;
  for (int64_t column = 0; column < 4; ++column)
    columns.push_back(gpu::ShuffleOp::create(
                          b, b.extract(own[number / kQuadsPerTile], column),
                          from, width, gpu::ShuffleMode::IDX)
                          .getShuffleResult());
  return b.vector(columns);
}

} // namespace llmc::codegen
