// SPDX-License-Identifier: Apache-2.0
//
// The parts of a linear region, and reading its input.

#include "codegen/Lowering/LinearRegion.h"

namespace llmc::codegen {

std::string LinearRegion::label(StringRef kind, int64_t rows) {
  std::string text =
      (kind + " " + formatName(layout().format) + " " + Twine(layout().rows) +
       "x" + Twine(layout().columns) + " rows " + Twine(rows))
          .str();
  if (linears.size() > 1)
    text += " x" + std::to_string(linears.size());
  return norm ? text + " norm" : text;
}

FailureOr<LinearRegion> analyzeLinear(RegionContext &context) {
  graph::RegionOp region = context.getRegion();
  LinearRegion parts;
  for (auto linear : region.getBody().getOps<graph::QuantizedLinearOp>()) {
    FailureOr<WeightView> weight = context.weight(linear.getWeight());
    if (failed(weight))
      return failure();
    parts.linears.push_back(linear);
    parts.weights.push_back(std::move(*weight));
  }
  if (parts.linears.empty() || parts.linears.size() > 2)
    return region.emitOpError("of a linear kind has ")
           << parts.linears.size() << " linears, not one or two";
  graph::QuantizedLinearOp first = parts.linears.front(),
                           last = parts.linears.back();
  if (first.getInput() != last.getInput() ||
      first.getWeight().getType() != last.getWeight().getType())
    return region.emitOpError(
        "has linears of different inputs or weight types");

  Value input = first.getInput();
  if ((parts.norm = input.getDefiningOp<graph::RmsNormOp>()))
    input = parts.norm.getInput();
  if ((parts.select = input.getDefiningOp<graph::SelectRowsOp>()))
    input = parts.select.getInput();
  FailureOr<View> view = context.view(input);
  if (failed(view))
    return failure();
  parts.input = *view;
  if (parts.input.columns() != parts.layout().columns)
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
  return b.add(b.mul(row, view.rowStride / 4), view.offset / 4);
}

} // namespace llmc::codegen
