// SPDX-License-Identifier: Apache-2.0
//
// The second kernel of linears whose columns of k are split: one invocation a
// quad of the result.

#include "codegen/Lowering/MatrixSplit.h"

#include "codegen/Lowering/Elementwise.h"

namespace llmc::codegen {

MatrixSplit matrixSplit(RegionContext &context, LinearRegion &parts) {
  return {context.getConfig().getSplits(),
          static_cast<int64_t>(parts.linears.size()),
          context.rowsOf(parts.resultType()),
          paddedRow(parts.layout().rows) / 4};
}

void storePartialQuads(KernelUnit &unit, const MatrixSplit &shape,
                       Value partials, Value split, Value numRows, Value row,
                       Value quad, ArrayRef<Value> sums) {
  KernelBuilder &b = unit.builder();
  Value memref = unit.bind(partials, b.f32x4(), program::Access::Write),
        line = b.add(b.mul(b.mul(split, shape.linears), numRows), row),
        place = b.add(b.mul(line, shape.quads), quad);
  for (auto [linear, sum] : llvm::enumerate(sums)) {
    if (linear != 0)
      place = b.add(place, b.mul(numRows, shape.quads));
    b.store(sum, memref, place);
  }
}

LogicalResult emitMatrixCombine(RegionContext &context, LinearRegion &parts,
                                const MatrixSplit &shape, Value partials) {
  // Small workgroups, so that few rows fill the device.
  constexpr int64_t kInvocations = 64;
  KernelUnit unit(context, {kInvocations, 1, 1});
  KernelBuilder &b = unit.builder();
  Value place = b.add(b.mul(b.groupId(), kInvocations), b.localId());
  Value row = b.div(place, b.index(shape.quads)),
        quad = b.sub(place, b.mul(row, shape.quads));
  Value numRows = unit.numRows(parts.resultType()),
        ofLinear = b.mul(numRows, shape.quads),
        ofSplit = b.mul(ofLinear, shape.linears);
  LogicalResult ok = success();
  b.ifThen(b.less(row, numRows), [&] {
    Value memref = unit.bind(partials, b.f32x4(), program::Access::Read);
    ElementwiseEmitter emitter(unit, row, quad);
    Value first = place;
    for (Operation *linear : parts.linears) {
      Value sum, next = first;
      for (int64_t split = 0; split < shape.splits; ++split) {
        Value partial = b.load(memref, next);
        sum = sum ? b.add(sum, partial) : partial;
        next = b.add(next, ofSplit);
      }
      first = b.add(first, ofLinear);
      emitter.map(linear->getResult(0), sum);
    }
    ok = emitter.storeResults();
  });
  if (failed(ok))
    return failure();
  // The sum, a partial of each split in flight, addresses.
  int64_t registers = 24 + 4 * shape.splits;
  int64_t places = shape.rows * shape.quads;
  unit.finish(parts.label("gemm combine", shape.rows),
              {(places + kInvocations - 1) / kInvocations, 1, 1}, registers,
              parts.label("gemm combine") + " of " +
                  std::to_string(shape.splits));
  return success();
}

} // namespace llmc::codegen
