// SPDX-License-Identifier: Apache-2.0
//
// The parts of a linear region, and reading its input.

#include "codegen/Lowering/LinearRegion.h"

namespace llmc::codegen {

std::string LinearRegion::label(StringRef kind, std::optional<int64_t> rows) {
  std::string text = (kind + " " + formatName(layout().format) + " " +
                      Twine(outputs()) + "x" + Twine(layout().columns))
                         .str();
  if (rows)
    text += " rows " + std::to_string(*rows);
  if (linears.size() > 1)
    text += " x" + std::to_string(linears.size());
  return norm ? text + " norm" : text;
}

/// Sets the experts of expert_linears, which must be the same for both.
static LogicalResult findExperts(RegionContext &context, LinearRegion &parts) {
  auto first = dyn_cast<graph::ExpertLinearOp>(parts.linears.front());
  if (!first)
    return success();
  auto last = cast<graph::ExpertLinearOp>(parts.linears.back());
  if (first.getExperts() != last.getExperts() ||
      first.numOutputs() != last.numOutputs())
    return context.getRegion().emitOpError("has linears of different experts");
  if (first.numOutputs() % kTileRows != 0)
    return first.emitOpError("has experts of ")
           << first.numOutputs() << " rows, allowed are multiples of "
           << kTileRows;
  FailureOr<View> view = context.view(first.getExperts());
  if (failed(view))
    return failure();
  parts.experts = *view;
  return success();
}

FailureOr<LinearRegion> analyzeLinear(RegionContext &context) {
  graph::RegionOp region = context.getRegion();
  LinearRegion parts;
  for (Operation &op : region.getBody().front()) {
    if (!isa<graph::QuantizedLinearOp, graph::ExpertLinearOp>(op))
      continue;
    FailureOr<WeightView> weight = context.weight(op.getOperand(1));
    if (failed(weight))
      return failure();
    parts.linears.push_back(&op);
    parts.weights.push_back(std::move(*weight));
  }
  if (parts.linears.empty() || parts.linears.size() > 2)
    return region.emitOpError("of a linear kind has ")
           << parts.linears.size() << " linears, not one or two";
  Operation *first = parts.linears.front(), *last = parts.linears.back();
  if (first->getName() != last->getName() ||
      first->getOperand(0) != last->getOperand(0) ||
      first->getOperand(1).getType() != last->getOperand(1).getType())
    return region.emitOpError(
        "has linears of different inputs or weight types");
  if (failed(findExperts(context, parts)))
    return failure();

  Value input = first->getOperand(0);
  if ((parts.norm = input.getDefiningOp<graph::RmsNormOp>()))
    input = parts.norm.getInput();
  if ((parts.select = input.getDefiningOp<graph::SelectRowsOp>()))
    input = parts.select.getInput();
  FailureOr<View> view = context.view(input);
  if (failed(view))
    return failure();
  parts.input = *view;
  int64_t inputs = parts.experts && parts.input.type.getRank() == 3
                       ? parts.placesPerRow()
                       : 1;
  if (parts.input.columns() != inputs * parts.layout().columns)
    return region.emitOpError("has an input of ")
           << parts.input.columns() << " columns for a weight of "
           << parts.layout().columns;
  return parts;
}

FailureOr<LinearInput> LinearInput::bind(KernelUnit &unit,
                                         LinearRegion &parts) {
  KernelBuilder &b = unit.builder();
  LinearInput input(unit, parts);
  if (parts.norm) {
    FailureOr<Value> gain = unit.bindVector(parts.norm.getGain(), b.f32x4());
    if (failed(gain))
      return failure();
    input.gain = *gain;
  }
  if (parts.select) {
    FailureOr<StepWord> word = unit.getContext().word(parts.select.getFirst());
    if (failed(word))
      return failure();
    input.firstRow = b.toIndex(unit.stepWord(*word));
  }
  return input;
}

Value LinearInput::rowBase(Value row, int64_t clampTo) {
  KernelBuilder &b = unit->builder();
  if (clampTo)
    row = b.min(row, b.index(clampTo - 1));
  if (firstRow)
    row = b.add(row, firstRow);
  Value place;
  if (placesPerRow != 1) {
    place = b.rem(row, placesPerRow);
    row = b.div(row, placesPerRow);
  }
  Value base = b.add(b.mul(row, view.rowStride / 4), view.offset / 4);
  return place && hasPlaces
             ? b.add(base, b.mul(place, view.type.getDimSize(2) / 4))
             : base;
}

} // namespace llmc::codegen
