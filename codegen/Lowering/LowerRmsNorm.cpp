// SPDX-License-Identifier: Apache-2.0
//
// [select_rows] rms_norm with element-wise neighbours: one workgroup a row (a
// head, when a row has several), which reads the row twice, first for the sum
// of squares. Statistics are f32 whatever the values are.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/Reduction.h"
#include "codegen/Lowering/RegionLowering.h"

#include "llvm/Support/FormatVariadic.h"

namespace llmc::codegen {

namespace {

/// Emits the kernel of one region.
class RmsNormKernel {
public:
  RmsNormKernel(RegionContext &context, graph::RmsNormOp norm)
      : context(context), norm(norm),
        unit(context, context.getConfig().getWorkgroup()) {}

  LogicalResult emit();

private:
  /// The norm's input at a place, through `emitter`.
  FailureOr<Value> evaluateInput(ElementwiseEmitter &emitter, Value quad);
  FailureOr<Value> sumOfSquares();
  LogicalResult storeResults(Value inverse);

  int64_t threads() { return context.getConfig().getWorkgroup().front(); }

  RegionContext &context;
  graph::RmsNormOp norm;
  KernelUnit unit;
  /// Normed elements, and quads they take; quads of a row are counted from
  /// `firstQuad`.
  int64_t normSize = 0, numQuads = 0;
  Value row, firstQuad, end;
};

FailureOr<Value> RmsNormKernel::evaluateInput(ElementwiseEmitter &emitter,
                                              Value quad) {
  auto select = norm.getInput().getDefiningOp<graph::SelectRowsOp>();
  if (!select)
    return emitter.evaluate(norm.getInput());
  FailureOr<StepWord> first = context.word(select.getFirst());
  if (failed(first))
    return failure();
  KernelBuilder &b = unit.builder();
  Value sourceRow = b.add(row, b.toIndex(unit.stepWord(*first)));
  ElementwiseEmitter selected(unit, sourceRow, quad);
  return selected.evaluate(select.getInput());
}

/// Over the whole workgroup.
FailureOr<Value> RmsNormKernel::sumOfSquares() {
  KernelBuilder &b = unit.builder();
  bool ok = true;
  auto addSquares = [&](Value quad, ValueRange carried) -> SmallVector<Value> {
    Value place = b.add(firstQuad, quad);
    ElementwiseEmitter emitter(unit, row, place);
    FailureOr<Value> x = evaluateInput(emitter, place);
    ok &= succeeded(x);
    return {ok ? b.fma(*x, *x, carried[0]) : carried[0]};
  };
  Value zero = b.constant(b.f32x4(), 0.0);
  SmallVector<Value> sums = b.forLoop(b.localId(), end, b.index(threads()),
                                      ValueRange{zero}, addSquares);
  if (!ok)
    return failure();
  return sumOverWorkgroup(b, b.sumOfLanes(sums[0]), b.localId(), threads());
}

/// Once more over the row: the norm and what follows it. `inverse` is 1 /
/// sqrt(mean + epsilon).
LogicalResult RmsNormKernel::storeResults(Value inverse) {
  KernelBuilder &b = unit.builder();
  FailureOr<Value> gain = unit.bindVector(norm.getGain(), b.f32x4());
  if (failed(gain))
    return failure();
  LogicalResult ok = success();
  b.forLoop(b.localId(), end, b.index(threads()), [&](Value quad) {
    Value place = b.add(firstQuad, quad);
    ElementwiseEmitter emitter(unit, row, place);
    FailureOr<Value> x = evaluateInput(emitter, place);
    if (failed(x)) {
      ok = failure();
      return;
    }
    Value scaled = b.mul(b.mul(*x, b.splat(inverse)), b.load(*gain, quad));
    emitter.map(norm.getResult(), scaled);
    for (unsigned number = 0;
         succeeded(ok) && number < context.getRegion().getNumResults();
         ++number)
      ok = emitter.storeResult(number);
  });
  return ok;
}

LogicalResult RmsNormKernel::emit() {
  auto type = cast<RankedTensorType>(norm.getType());
  normSize = type.getShape().back();
  numQuads = paddedRow(normSize) / 4;
  int64_t numHeads = 1;
  for (int64_t size : type.getShape().drop_front().drop_back())
    numHeads *= size;
  if (numHeads > 1 && normSize % 4 != 0)
    return norm.emitOpError("norms heads of ")
           << normSize << " elements, no multiple of four";

  KernelBuilder &b = unit.builder();
  row = b.groupId(gpu::Dimension::x);
  firstQuad = b.mul(b.groupId(gpu::Dimension::y), numQuads);
  // A row beyond the step's takes no rounds.
  end =
      b.select(b.less(row, unit.numRows(type)), b.index(numQuads), b.index(0));
  FailureOr<Value> sum = sumOfSquares();
  if (failed(sum))
    return failure();
  Value mean = b.mul(*sum, b.f32(1.0 / static_cast<double>(normSize)));
  Value root = b.sqrt(b.add(mean, b.f32(norm.getEpsilon().convertToFloat())));
  if (failed(storeResults(b.div(b.f32(1.0), root))))
    return failure();
  unit.finish(
      llvm::formatv("rms_norm {0} rows {1}", normSize, context.rowsOf(type))
          .str(),
      {context.rowsOf(type), numHeads, 1});
  return success();
}

} // namespace

LogicalResult lowerRmsNorm(RegionContext &context) {
  auto norms = context.getRegion().getBody().getOps<graph::RmsNormOp>();
  if (!llvm::hasSingleElement(norms))
    return context.getRegion().emitOpError(
        "of kind rms_norm needs one rms_norm");
  return RmsNormKernel(context, *norms.begin()).emit();
}

} // namespace llmc::codegen
