// SPDX-License-Identifier: Apache-2.0
//
// Norms of rows (rms_norm, layer_norm, l2_normalize) of what select_rows or
// pool gives, or pool alone, with element-wise neighbours: one workgroup a row
// (a head, when a row has several), which reads the row once for each statistic
// and once more for the result. Statistics are f32 whatever the values are. A
// result that is quantized takes another pass or two instead of the last.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/QuantizedStore.h"
#include "codegen/Lowering/Reduction.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

namespace llmc::codegen {

namespace {

/// Emits the kernel of one region.
class NormKernel {
public:
  /// `root` is a norm, or a pool whose result no norm reads.
  NormKernel(RegionContext &context, Operation *root)
      : context(context), root(root),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()) {}

  LogicalResult emit();

private:
  // The row before the norm.
  Value inputOfNorm() {
    return isa<graph::PoolOp>(root) ? root->getResult(0) : root->getOperand(0);
  }
  FailureOr<Value> evaluateInput(ElementwiseEmitter &emitter, Value quad);
  FailureOr<Value> evaluatePool(graph::PoolOp pool, Value quad);
  LogicalResult emitSpan(graph::PoolOp pool);

  // Statistics.
  FailureOr<Value> sum(llvm::function_ref<Value(Value x, Value sum)> add);
  FailureOr<Value> meanSquare();
  LogicalResult emitStatistics();
  LogicalResult emitRootMeanSquare(graph::RmsNormOp norm);
  LogicalResult emitVariance(graph::LayerNormOp norm);
  LogicalResult emitLength(graph::L2NormalizeOp norm);
  void setInverse(Value square, double epsilon);

  // Results.
  LogicalResult mapRoot(ElementwiseEmitter &emitter, Value quad);
  LogicalResult storeResults();
  LogicalResult storeCodes(const QuantizedResult &result);

  int64_t threads() { return context.getConfig().getWorkgroup().front(); }

  RegionContext &context;
  Operation *root;
  KernelUnit unit;
  KernelBuilder &b;
  /// Normed elements, and quads they take; quads of a row are counted from
  /// `firstQuad`.
  int64_t normSize = 0, numQuads = 0;
  Value row, firstQuad, end;
  /// The rows of the text that a pool reads.
  std::pair<Value, Value> span;
  /// A number x becomes (x - mean) * inverse * gain + bias; what is null is
  /// left out.
  Value mean, inverse, gain, bias;
};

//===----------------------------------------------------------------------===//
// The row before the norm
//===----------------------------------------------------------------------===//

/// First and last row + 1 of those that count.
LogicalResult NormKernel::emitSpan(graph::PoolOp pool) {
  FailureOr<View> spans = context.view(pool.getSpans());
  if (failed(spans))
    return failure();
  Value memref = unit.bind(spans->slice, b.getI32Type(), program::Access::Read);
  Value place = b.add(b.mul(row, spans->rowStride), spans->offset);
  Value first = b.toIndex(b.load(memref, place)),
        last = b.toIndex(b.load(memref, b.add(place, 1)));
  if (pool.getMode() == graph::Pooling::First)
    last = b.min(last, b.add(first, 1));
  // A span without rows stays without.
  if (pool.getMode() == graph::Pooling::Last)
    first = b.sub(b.max(b.add(first, 1), last), b.index(1));
  span = {first, last};
  return success();
}

/// The mean of the span's rows at a quad; zeros when there are none.
FailureOr<Value> NormKernel::evaluatePool(graph::PoolOp pool, Value quad) {
  auto [first, last] = span;
  bool ok = true;
  auto addRow = [&](Value source, ValueRange carried) -> SmallVector<Value> {
    ElementwiseEmitter emitter(unit, source, quad);
    FailureOr<Value> x = emitter.evaluate(pool.getInput());
    ok &= succeeded(x);
    return {ok ? b.add(carried[0], *x) : carried[0]};
  };
  Value zero = b.constant(b.f32x4(), 0.0);
  Value sum = b.forLoop(first, last, b.index(1), ValueRange{zero}, addRow)[0];
  if (!ok)
    return failure();
  if (pool.getMode() != graph::Pooling::Mean)
    return sum;
  Value count = b.signedToF32(b.toI32(b.max(b.sub(last, first), b.index(1))));
  return b.div(sum, b.splat(count));
}

/// What is normed at a place, through `emitter`.
FailureOr<Value> NormKernel::evaluateInput(ElementwiseEmitter &emitter,
                                           Value quad) {
  Value input = inputOfNorm();
  if (auto pool = input.getDefiningOp<graph::PoolOp>())
    return evaluatePool(pool, quad);
  auto select = input.getDefiningOp<graph::SelectRowsOp>();
  if (!select)
    return emitter.evaluate(input);
  FailureOr<StepWord> first = context.word(select.getFirst());
  if (failed(first))
    return failure();
  Value sourceRow = b.add(row, b.toIndex(unit.stepWord(*first)));
  ElementwiseEmitter selected(unit, sourceRow, quad);
  return selected.evaluate(select.getInput());
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

/// The sum over the whole row of what `add` adds, four columns at a time.
FailureOr<Value>
NormKernel::sum(llvm::function_ref<Value(Value x, Value sum)> add) {
  bool ok = true;
  auto addQuad = [&](Value quad, ValueRange carried) -> SmallVector<Value> {
    Value place = b.add(firstQuad, quad);
    ElementwiseEmitter emitter(unit, row, place);
    FailureOr<Value> x = evaluateInput(emitter, place);
    ok &= succeeded(x);
    if (!ok)
      return {carried[0]};
    Value centred =
        mean ? zeroPadding(b, b.sub(*x, b.splat(mean)), quad, normSize) : *x;
    return {add(centred, carried[0])};
  };
  Value zero = b.constant(b.f32x4(), 0.0);
  SmallVector<Value> sums = b.forLoop(b.localId(), end, b.index(threads()),
                                      ValueRange{zero}, addQuad);
  if (!ok)
    return failure();
  return sumOverWorkgroup(
      b, b.sumOfLanes(sums[0]), b.localId(), threads(),
      reductionSubgroup(context.getConfig(), context.getDevice(), threads()));
}

/// Of x, or x - mean.
FailureOr<Value> NormKernel::meanSquare() {
  FailureOr<Value> squares =
      sum([&](Value x, Value sum) { return b.fma(x, x, sum); });
  if (failed(squares))
    return failure();
  return b.mul(*squares, b.f32(1.0 / static_cast<double>(normSize)));
}

/// 1 / sqrt(square + epsilon)
void NormKernel::setInverse(Value square, double epsilon) {
  inverse = b.div(b.f32(1.0), b.sqrt(b.add(square, b.f32(epsilon))));
}

LogicalResult NormKernel::emitRootMeanSquare(graph::RmsNormOp norm) {
  FailureOr<Value> square = meanSquare();
  FailureOr<Value> bound = unit.bindVector(norm.getGain(), b.f32x4());
  if (failed(square) || failed(bound))
    return failure();
  setInverse(*square, norm.getEpsilon().convertToFloat());
  gain = *bound;
  return success();
}

/// The mean first, then the squares of what is left: the difference of two
/// large means would lose digits.
LogicalResult NormKernel::emitVariance(graph::LayerNormOp norm) {
  FailureOr<Value> total =
      sum([&](Value x, Value sum) { return b.add(x, sum); });
  if (failed(total))
    return failure();
  mean = b.mul(*total, b.f32(1.0 / static_cast<double>(normSize)));
  FailureOr<Value> variance = meanSquare();
  FailureOr<Value> bound = unit.bindVector(norm.getGain(), b.f32x4());
  if (failed(variance) || failed(bound))
    return failure();
  setInverse(*variance, norm.getEpsilon().convertToFloat());
  gain = *bound;
  if (!norm.getBias())
    return success();
  FailureOr<Value> boundBias = unit.bindVector(norm.getBias(), b.f32x4());
  if (failed(boundBias))
    return failure();
  bias = *boundBias;
  return success();
}

LogicalResult NormKernel::emitLength(graph::L2NormalizeOp norm) {
  FailureOr<Value> squares =
      sum([&](Value x, Value sum) { return b.fma(x, x, sum); });
  if (failed(squares))
    return failure();
  inverse = b.div(b.f32(1.0), b.max(b.sqrt(*squares),
                                    b.f32(norm.getEpsilon().convertToFloat())));
  return success();
}

LogicalResult NormKernel::emitStatistics() {
  return llvm::TypeSwitch<Operation *, LogicalResult>(root)
      .Case([&](graph::RmsNormOp norm) { return emitRootMeanSquare(norm); })
      .Case([&](graph::LayerNormOp norm) { return emitVariance(norm); })
      .Case([&](graph::L2NormalizeOp norm) { return emitLength(norm); })
      .Case([&](graph::PoolOp) { return success(); });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The root at a quad of the row, and with it what follows it.
LogicalResult NormKernel::mapRoot(ElementwiseEmitter &emitter, Value quad) {
  FailureOr<Value> x = evaluateInput(emitter, b.add(firstQuad, quad));
  if (failed(x))
    return failure();
  Value result = *x;
  if (mean)
    result = b.sub(result, b.splat(mean));
  if (inverse)
    result = b.mul(result, b.splat(inverse));
  if (gain)
    result = b.mul(result, b.load(gain, quad));
  if (bias)
    result = b.add(result, b.load(bias, quad));
  emitter.map(root->getResult(0), result);
  return success();
}

/// Once more over the row, for the results that are stored as they are.
LogicalResult NormKernel::storeResults() {
  LogicalResult ok = success();
  b.forLoop(b.localId(), end, b.index(threads()), [&](Value quad) {
    ElementwiseEmitter emitter(unit, row, b.add(firstQuad, quad));
    ok = mapRoot(emitter, quad);
    if (succeeded(ok))
      ok = emitter.storeResults();
  });
  return ok;
}

/// Codes of the row. Its numbers are computed again for each pass: twice where
/// the scale is the row's, whose largest number has to be known first.
LogicalResult NormKernel::storeCodes(const QuantizedResult &result) {
  QuantizedStore store(unit, result);
  bool ok = true;
  auto valueAt = [&](Value quad) {
    ElementwiseEmitter emitter(unit, row, b.add(firstQuad, quad));
    FailureOr<Value> value = failure();
    if (succeeded(mapRoot(emitter, quad)))
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

LogicalResult NormKernel::emit() {
  auto type = cast<RankedTensorType>(root->getResult(0).getType());
  normSize = type.getShape().back();
  numQuads = paddedRow(normSize) / 4;
  int64_t numHeads = 1;
  for (int64_t size : type.getShape().drop_front().drop_back())
    numHeads *= size;
  if (numHeads > 1 && normSize % 4 != 0)
    return root->emitOpError("norms heads of ")
           << normSize << " elements, no multiple of four";

  row = b.groupId(gpu::Dimension::x);
  firstQuad = b.mul(b.groupId(gpu::Dimension::y), numQuads);
  // A row beyond the step's takes no rounds.
  end =
      b.select(b.less(row, unit.numRows(type)), b.index(numQuads), b.index(0));
  if (auto pool = inputOfNorm().getDefiningOp<graph::PoolOp>();
      pool && failed(emitSpan(pool)))
    return failure();
  if (failed(emitStatistics()))
    return failure();
  std::optional<QuantizedResult> quantized = findQuantizedResult(context);
  bool hasFloats = context.getRegion().getNumResults() > (quantized ? 3 : 0);
  if (hasFloats && failed(storeResults()))
    return failure();
  if (quantized && failed(storeCodes(*quantized)))
    return failure();
  StringRef kind = context.getConfig().getKind().getValue();
  unit.finish(llvm::formatv("{0} {1} rows {2}{3}", kind, normSize,
                            context.rowsOf(type), quantized ? " quantized" : "")
                  .str(),
              {context.rowsOf(type), numHeads, 1});
  return success();
}

} // namespace

LogicalResult lowerNorm(RegionContext &context) {
  Operation *root = nullptr, *pool = nullptr;
  bool isOnly = true;
  for (Operation &op : context.getRegion().getBody().front()) {
    if (isa<graph::PoolOp>(op)) {
      isOnly &= !pool;
      pool = &op;
    } else if (isa<graph::RmsNormOp, graph::LayerNormOp, graph::L2NormalizeOp>(
                   op)) {
      isOnly &= !root;
      root = &op;
    }
  }
  if (!root)
    root = pool;
  if (!root || !isOnly ||
      (pool && root != pool && root->getOperand(0) != pool->getResult(0)))
    return context.getRegion().emitOpError("of kind ")
           << context.getConfig().getKind()
           << " needs one norm, of what a pool gives if there is one";
  return NormKernel(context, root).emit();
}

} // namespace llmc::codegen
