// SPDX-License-Identifier: Apache-2.0
//
// Places of experts in the weight and in the result.

#include "codegen/Lowering/ExpertPlace.h"

namespace llmc::codegen {

ExpertPlaces::ExpertPlaces(KernelUnit &unit, LinearRegion &parts)
    : unit(unit), b(unit.builder()), parts(parts),
      numExperts(
          cast<graph::ExpertLinearOp>(parts.linears.front()).numExperts()) {}

Value ExpertPlaces::tileOfWeight(Value place, Value tile) {
  const View &view = *parts.experts;
  Value experts = unit.bind(view.slice, b.getI32Type(), program::Access::Read);
  Value index = b.add(b.add(b.mul(rowOf(place), view.rowStride), view.offset),
                      b.rem(place, parts.placesPerRow()));
  // As unsigned, so that whatever rows beyond the step's hold is an expert.
  Value expert =
      b.toIndex(b.min(b.load(experts, index), b.i32(numExperts - 1)));
  int64_t firstTile = unit.getContext().getPart().first / kTileRows;
  return b.sub(b.add(b.mul(expert, parts.outputs() / kTileRows), tile),
               b.index(firstTile));
}

Value ExpertPlaces::isInPart(Value tileOfWeight) {
  const WeightLayout &layout = parts.layout();
  if (layout.rows == numExperts * parts.outputs())
    return {};
  // A tile before the part is a huge number.
  return b.less(tileOfWeight, b.index(layout.paddedRows / kTileRows));
}

Value ExpertPlaces::rowOf(Value place) {
  return b.div(place, parts.placesPerRow());
}

Value ExpertPlaces::firstQuadOf(Value place) {
  return b.mul(b.rem(place, parts.placesPerRow()), parts.outputs() / 4);
}

} // namespace llmc::codegen
