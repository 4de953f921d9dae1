// SPDX-License-Identifier: Apache-2.0
//
// Trees of element-wise ops on whole tensors: one invocation computes four
// columns of a row. Results of equal shape share a dispatch.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/QuantizedStore.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace llmc::codegen {

/// Rows and quads of a row: results with equal extents are computed together.
using Extents = std::pair<int64_t, int64_t>;

static LogicalResult emitResults(RegionContext &context, Extents extents,
                                 ArrayRef<unsigned> numbers) {
  auto [rows, quads] = extents;
  KernelUnit unit(context, context.getConfig().getWorkgroup());
  KernelBuilder &b = unit.builder();
  int64_t threads = context.getConfig().getWorkgroup().front();
  Value place = b.add(b.mul(b.groupId(), threads), b.localId());
  Value row = b.div(place, quads), quad = b.rem(place, quads);
  auto type = cast<RankedTensorType>(
      context.getRegion().getResult(numbers.front()).getType());
  LogicalResult ok = success();
  b.ifThen(b.less(row, unit.numRows(type)), [&] {
    ElementwiseEmitter emitter(unit, row, quad);
    for (unsigned number : numbers)
      if (succeeded(ok))
        ok = emitter.storeResult(number);
  });
  if (failed(ok))
    return failure();
  int64_t numGroups = llvm::divideCeil(rows * quads, threads);
  unit.finish(llvm::formatv("elementwise {0} rows {1}", quads * 4, rows).str(),
              {numGroups, 1, 1});
  return success();
}

/// Results of one shape that are quantized, and stored too where something
/// reads them: one invocation computes 32 columns of a row.
static LogicalResult emitQuantized(RegionContext &context,
                                   const QuantizedResult &result) {
  KernelUnit unit(context, context.getConfig().getWorkgroup());
  KernelBuilder &b = unit.builder();
  int64_t threads = context.getConfig().getWorkgroup().front();
  int64_t rows = context.rowsOf(result.codes.type);
  Value place = b.add(b.mul(b.groupId(), threads), b.localId());
  Value row = b.div(place, result.numBlocks()),
        block = b.rem(place, result.numBlocks());
  LogicalResult ok = success();
  b.ifThen(b.less(row, unit.numRows(result.codes.type)), [&] {
    SmallVector<Value> quads;
    for (int64_t i = 0; i < kQuadsPerBlock && succeeded(ok); ++i) {
      ElementwiseEmitter emitter(unit, row,
                                 b.add(b.mul(block, kQuadsPerBlock), i));
      FailureOr<Value> value = emitter.evaluate(result.input);
      ok = succeeded(value) ? emitter.storeResults() : failure();
      if (succeeded(ok))
        quads.push_back(*value);
    }
    if (succeeded(ok))
      QuantizedStore(unit, result).storeBlock(row, block, quads);
  });
  if (failed(ok))
    return failure();
  int64_t numGroups = llvm::divideCeil(rows * result.numBlocks(), threads);
  unit.finish(llvm::formatv("elementwise {0} rows {1} quantized",
                            result.codes.columns(), rows)
                  .str(),
              {numGroups, 1, 1});
  return success();
}

/// A region computes what is quantized, so its other results have that shape.
static LogicalResult verifyQuantized(RegionContext &context,
                                     const QuantizedResult &result) {
  if (result.hasRowScales())
    return context.getRegion().emitOpError(
        "of kind elementwise quantizes with a scale a row, which only rms_norm "
        "does");
  Operation *yield = context.getRegion().getBody().front().getTerminator();
  for (Value value : yield->getOperands())
    if (!value.getDefiningOp<graph::QuantizeActivationsOp>() &&
        value.getType() != result.input.getType())
      return context.getRegion().emitOpError("quantizes ")
             << result.input.getType() << " and yields another shape, "
             << value.getType();
  return success();
}

LogicalResult lowerElementwise(RegionContext &context) {
  if (std::optional<QuantizedResult> result = findQuantizedResult(context)) {
    if (failed(verifyQuantized(context, *result)))
      return failure();
    return emitQuantized(context, *result);
  }
  llvm::MapVector<Extents, SmallVector<unsigned>> numbersOf;
  for (unsigned number = 0; number < context.getRegion().getNumResults();
       ++number) {
    View view = context.resultView(number);
    numbersOf[{context.rowsOf(view.type), paddedRow(view.columns()) / 4}]
        .push_back(number);
  }
  for (auto &[extents, numbers] : numbersOf)
    if (failed(emitResults(context, extents, numbers)))
      return failure();
  return success();
}

} // namespace llmc::codegen
