// SPDX-License-Identifier: Apache-2.0
//
// Trees of element-wise ops on whole tensors: one invocation computes four
// columns of a row. Results of equal shape share a dispatch.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/RegionLowering.h"

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

LogicalResult lowerElementwise(RegionContext &context) {
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
