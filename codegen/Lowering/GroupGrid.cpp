// SPDX-License-Identifier: Apache-2.0
//
// GroupGrid.h.

#include "codegen/Lowering/GroupGrid.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

namespace llmc::codegen {

static int64_t ceilDiv(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

static int64_t numGroups(const GroupGrid &grid) {
  return grid[0] * grid[1] * grid[2];
}

GroupGrid foldGrid(const GroupGrid &wanted, const GroupGrid &most) {
  bool fits = true;
  for (auto [count, limit] : llvm::zip_equal(wanted, most))
    fits &= count <= limit;
  // Kernels number groups in 32 bits.
  int64_t total = numGroups(wanted);
  if (fits || total > std::numeric_limits<int32_t>::max())
    return wanted;
  int64_t planes = ceilDiv(total, most[0] * most[1]);
  int64_t inPlane = ceilDiv(total, planes);
  int64_t lines = ceilDiv(inPlane, most[0]);
  GroupGrid folded = {ceilDiv(inPlane, lines), lines, planes};
  return planes <= most[2] ? folded : wanted;
}

/// The number of the group in `folded`, counted along x first.
static Value groupNumber(KernelBuilder &b, const GroupGrid &folded) {
  Value number;
  for (auto dimension :
       {gpu::Dimension::z, gpu::Dimension::y, gpu::Dimension::x}) {
    int64_t count = folded[static_cast<size_t>(dimension)];
    if (number)
      number = b.mul(number, count);
    if (count == 1 && dimension != gpu::Dimension::x)
      continue;
    Value id = b.groupId(dimension);
    number = number ? b.add(number, id) : id;
  }
  return number;
}

void foldKernel(gpu::GPUFuncOp function, const GroupGrid &wanted,
                const GroupGrid &folded) {
  Block &body = function.getBody().front();
  SmallVector<gpu::BlockIdOp> ids;
  SmallVector<gpu::GridDimOp> counts;
  function.walk([&](gpu::BlockIdOp id) { ids.push_back(id); });
  function.walk([&](gpu::GridDimOp count) { counts.push_back(count); });
  KernelBuilder b(function.getLoc(), function.getContext());
  b.setInsertionPointToStart(&body);
  Value number = groupNumber(b, folded);
  std::array<Value, 3> places = {b.rem(number, wanted[0]),
                                 b.rem(b.div(number, wanted[0]), wanted[1]),
                                 b.div(number, wanted[0] * wanted[1])};
  mlir::scf::IfOp guard;
  if (numGroups(wanted) != numGroups(folded))
    guard =
        mlir::scf::IfOp::create(b, b.less(number, b.index(numGroups(wanted))),
                                /*withElseRegion=*/false);
  // Last, since the builder inserts before the first of them.
  for (gpu::BlockIdOp id : ids) {
    id.replaceAllUsesWith(places[static_cast<size_t>(id.getDimension())]);
    id.erase();
  }
  for (gpu::GridDimOp count : counts) {
    b.setInsertionPoint(count);
    count.replaceAllUsesWith(
        b.index(wanted[static_cast<size_t>(count.getDimension())]));
    count.erase();
  }
  if (!guard)
    return;
  Block *guarded = guard.thenBlock();
  guarded->getOperations().splice(
      guarded->getTerminator()->getIterator(), body.getOperations(),
      std::next(guard->getIterator()), body.getTerminator()->getIterator());
}

} // namespace llmc::codegen
