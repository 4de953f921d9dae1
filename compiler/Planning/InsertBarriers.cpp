// SPDX-License-Identifier: Apache-2.0
//
// Inserts barriers where BarrierPlanner finds hazards on planned memory.

#include "compiler/Planning/Passes.h"

#include "compiler/Planning/EntryAccesses.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "llmc-insert-barriers"

namespace llmc::planning {

#define GEN_PASS_DEF_INSERTBARRIERSPASS
#include "compiler/Planning/Passes.h.inc"

namespace {

/// Every slice that takes part in a hazard has an offset.
LogicalResult checkOffsets(program::EntryOp entry) {
  for (auto slice : entry.getBody().getOps<program::SliceOp>())
    if (slice.getStorage() != program::Storage::Weight && !slice.getOffset())
      return slice.emitOpError(
          "has no offset; llmc-plan-memory runs before barriers are inserted");
  return success();
}

//===----------------------------------------------------------------------===//
// llmc-insert-barriers
//===----------------------------------------------------------------------===//

struct InsertBarriersPass final
    : impl::InsertBarriersPassBase<InsertBarriersPass> {
  using InsertBarriersPassBase::InsertBarriersPassBase;

  void runOnOperation() override {
    for (auto entry : getOperation().getOps<program::EntryOp>()) {
      if (failed(checkOffsets(entry)))
        return signalPassFailure();
      auto dispatches = collectDispatches(entry);
      auto intervals = assignIntervals(collectRangeAccesses(dispatches));
      int64_t current = -1; // the entry's first interval begins with a barrier
      for (auto [dispatch, interval] : llvm::zip_equal(dispatches, intervals)) {
        if (interval == current)
          continue;
        current = interval;
        OpBuilder builder(dispatch);
        program::BarrierOp::create(builder, dispatch.getLoc());
        ++numBarriers;
      }
    }
  }
};

} // namespace
} // namespace llmc::planning
