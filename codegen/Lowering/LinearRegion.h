// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of linear regions share: the parts of the region, and
// reading its input.

#ifndef LLMC_CODEGEN_LOWERING_LINEARREGION_H
#define LLMC_CODEGEN_LOWERING_LINEARREGION_H

#include "codegen/Lowering/ActivationRows.h"
#include "codegen/Lowering/WeightDecode.h"

#include <optional>

namespace llmc::codegen {

/// [select_rows] → [rms_norm] → one or two linears of equal weight types; what
/// follows them is element-wise.
struct LinearRegion {
  /// All quantized_linear or all expert_linear.
  SmallVector<Operation *> linears;
  SmallVector<WeightView> weights;
  /// Null when absent.
  graph::SelectRowsOp select;
  graph::RmsNormOp norm;
  /// In memory.
  View input;
  /// Of expert_linears: the expert of each place, a row's places together.
  std::optional<View> experts;

  const WeightLayout &layout() const { return weights.front().layout; }
  RankedTensorType resultType() {
    return cast<RankedTensorType>(linears.front()->getResult(0).getType());
  }
  /// Places of a row of the result that have an expert each.
  int64_t placesPerRow() { return experts ? resultType().getDimSize(1) : 1; }
  /// Columns of a place, which as many rows of the weight compute.
  int64_t outputs() {
    return experts ? resultType().getDimSize(2) : layout().rows;
  }
  /// Quads of a place that are stored; the weight may have more.
  int64_t usedQuads() { return paddedRow(outputs()) / 4; }
  /// `gemv q8_0 2048x5632 rows 8 x2 norm`, from the parts; without `rows` of a
  /// kernel for any number of them.
  std::string label(StringRef kind, std::optional<int64_t> rows = std::nullopt);
};

/// The parts of the context's region; an error there when it has another form.
FailureOr<LinearRegion> analyzeLinear(RegionContext &context);

/// Reads the linears' input, four columns (a step of one in `quad`) at a time.
class LinearInput {
public:
  /// Fails, with an error, when the norm's gain cannot be bound.
  static FailureOr<LinearInput> bind(KernelUnit &unit, LinearRegion &parts);

  /// Where row `row` (of the linears' result; an index) begins, with experts
  /// place `row`. Rows beyond `numRows` are read as the last one when `clampTo`
  /// is not 0.
  Value rowBase(Value row, int64_t clampTo);
  Value load(Value rowBase, Value quad) {
    return rows.load(unit->builder().add(rowBase, quad));
  }
  /// Quads of the input at any index.
  const ActivationRows &buffer() const { return rows; }
  /// The norm's gain; null without a norm.
  Value loadGain(Value quad) {
    return gain ? unit->builder().load(gain, quad) : Value();
  }

private:
  LinearInput(KernelUnit &unit, LinearRegion &parts)
      : unit(&unit), view(parts.input), placesPerRow(parts.placesPerRow()),
        hasPlaces(parts.experts && parts.input.type.getRank() == 3),
        rows(unit, parts.input, program::Access::Read) {}

  KernelUnit *unit;
  View view;
  int64_t placesPerRow;
  /// Whether each place has an input of its own.
  bool hasPlaces;
  ActivationRows rows;
  Value gain;
  /// Added to every row; null without select_rows.
  Value firstRow;
};

/// acc[row] += column vectors times one x: `columns[c]` * x[c], c = 0 … 3.
inline Value accumulate(KernelBuilder &b, ArrayRef<Value> columns, Value x4,
                        Value sum) {
  for (auto [lane, column] : llvm::enumerate(columns)) {
    Value x = b.splat(b.extract(x4, static_cast<int64_t>(lane)));
    sum = sum ? b.fma(column, x, sum) : b.mul(column, x);
  }
  return sum;
}

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_LINEARREGION_H
