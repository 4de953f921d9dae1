// SPDX-License-Identifier: Apache-2.0
//
// [select_rows] rms_norm with element-wise neighbours: one workgroup a row (a
// head, when a row has several), which reads the row twice, first for the sum
// of squares. Statistics are f32 whatever the values are. A result that is
// quantized takes another pass or two instead of the second.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/QuantizedStore.h"
#include "codegen/Lowering/Reduction.h"

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
  LogicalResult mapNorm(ElementwiseEmitter &emitter, Value quad);
  LogicalResult storeResults();
  LogicalResult storeCodes(const QuantizedResult &result);

  int64_t threads() { return context.getConfig().getWorkgroup().front(); }

  RegionContext &context;
  graph::RmsNormOp norm;
  KernelUnit unit;
  /// Normed elements, and quads they take; quads of a row are counted from
  /// `firstQuad`.
  int64_t normSize = 0, numQuads = 0;
  Value row, firstQuad, end;
  /// The gain in memory, and 1 / sqrt(mean + epsilon).
  Value gain, inverse;
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
  return sumOverWorkgroup(
      b, b.sumOfLanes(sums[0]), b.localId(), threads(),
      reductionSubgroup(context.getConfig(), context.getDevice(), threads()));
}

/// The norm at a quad of the row, and with it what follows it.
LogicalResult RmsNormKernel::mapNorm(ElementwiseEmitter &emitter, Value quad) {
  KernelBuilder &b = unit.builder();
  FailureOr<Value> x = evaluateInput(emitter, b.add(firstQuad, quad));
  if (failed(x))
    return failure();
  Value scaled = b.mul(b.mul(*x, b.splat(inverse)), b.load(gain, quad));
  emitter.map(norm.getResult(), scaled);
  return success();
}

/// Once more over the row, for the results that are stored as they are.
LogicalResult RmsNormKernel::storeResults() {
  KernelBuilder &b = unit.builder();
  LogicalResult ok = success();
  b.forLoop(b.localId(), end, b.index(threads()), [&](Value quad) {
    ElementwiseEmitter emitter(unit, row, b.add(firstQuad, quad));
    ok = mapNorm(emitter, quad);
    if (succeeded(ok))
      ok = emitter.storeResults();
  });
  return ok;
}

/// Codes of the row. Its numbers are computed again for each pass: twice where
/// the scale is the row's, whose largest number has to be known first.
LogicalResult RmsNormKernel::storeCodes(const QuantizedResult &result) {
  KernelBuilder &b = unit.builder();
  QuantizedStore store(unit, result);
  bool ok = true;
  auto valueAt = [&](Value quad) {
    ElementwiseEmitter emitter(unit, row, b.add(firstQuad, quad));
    FailureOr<Value> value = failure();
    if (succeeded(mapNorm(emitter, quad)))
      value = emitter.evaluate(result.input);
    ok &= succeeded(value);
    return ok ? *value : b.constant(b.f32x4(), 0.0);
  };
  std::optional<CodeScale> ofRow;
  if (result.hasRowScales()) {
    auto addQuad = [&](Value quad, ValueRange carried) -> SmallVector<Value> {
      return {b.max(carried[0], largestMagnitude(b, valueAt(quad)))};
    };
    SmallVector<Value> largest = b.forLoop(b.localId(), end, b.index(threads()),
                                           ValueRange{b.f32(0.0)}, addQuad);
    ofRow =
        codeScale(b, maxOverWorkgroup(b, largest[0], b.localId(), threads()));
    b.ifThen(b.equal(b.localId(), b.index(0)),
             [&] { store.storeRowScale(row, ofRow->scale); });
  }
  Value endBlock = b.div(end, kQuadsPerBlock);
  b.forLoop(b.localId(), endBlock, b.index(threads()), [&](Value block) {
    Value first = b.mul(block, kQuadsPerBlock), sum;
    SmallVector<Value> quads;
    for (int64_t i = 0; i < kQuadsPerBlock; ++i) {
      Value quad = b.add(first, i), value = valueAt(quad);
      if (!ofRow) {
        quads.push_back(value);
        continue;
      }
      Value part = store.storeCodes(row, quad, value, ofRow->inverse);
      sum = sum ? b.add(sum, part) : part;
    }
    if (ofRow)
      store.storeBlockSum(row, block, ofRow->scale, sum);
    else
      store.storeBlock(row, block, quads);
  });
  return mlir::success(ok);
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
  inverse = b.div(b.f32(1.0), root);
  FailureOr<Value> bound = unit.bindVector(norm.getGain(), b.f32x4());
  if (failed(bound))
    return failure();
  gain = *bound;
  std::optional<QuantizedResult> quantized = findQuantizedResult(context);
  bool hasFloats = context.getRegion().getNumResults() > (quantized ? 3 : 0);
  if (hasFloats && failed(storeResults()))
    return failure();
  if (quantized && failed(storeCodes(*quantized)))
    return failure();
  unit.finish(llvm::formatv("rms_norm {0} rows {1}{2}", normSize,
                            context.rowsOf(type), quantized ? " quantized" : "")
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
