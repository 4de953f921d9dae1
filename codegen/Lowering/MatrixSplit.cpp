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

/// The number of a quad's sum of the first linear.
static Value placeOf(KernelBuilder &b, const MatrixSplit &shape, Value split,
                     Value row, Value quad) {
  Value line = b.add(b.mul(split, shape.linears * shape.rows), row);
  return b.add(b.mul(line, shape.quads), quad);
}

void storePartialQuads(KernelUnit &unit, const MatrixSplit &shape,
                       Value partials, Value split, Value row, Value quad,
                       ArrayRef<Value> sums) {
  KernelBuilder &b = unit.builder();
  Value memref = unit.bind(partials, b.f32x4(), program::Access::Write),
        place = placeOf(b, shape, split, row, quad);
  for (auto [linear, sum] : llvm::enumerate(sums))
    b.store(
        sum, memref,
        b.add(place, static_cast<int64_t>(linear) * shape.rows * shape.quads));
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
  LogicalResult ok = success();
  b.ifThen(b.less(row, unit.numRows(parts.resultType())), [&] {
    Value memref = unit.bind(partials, b.f32x4(), program::Access::Read);
    ElementwiseEmitter emitter(unit, row, quad);
    for (auto [number, linear] : llvm::enumerate(parts.linears)) {
      Value sum;
      for (int64_t split = 0; split < shape.splits; ++split) {
        int64_t offset =
            (split * shape.linears + static_cast<int64_t>(number)) *
            shape.rows * shape.quads;
        Value partial = b.load(memref, b.add(place, offset));
        sum = sum ? b.add(sum, partial) : partial;
      }
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
              {(places + kInvocations - 1) / kInvocations, 1, 1}, registers);
  return success();
}

} // namespace llmc::codegen
