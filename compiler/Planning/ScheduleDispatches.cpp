// SPDX-License-Identifier: Apache-2.0
//
// Orders the dispatches of each entry as scheduleDispatches says.

#include "compiler/Planning/Passes.h"

#include "compiler/Planning/EntryAccesses.h"

#define DEBUG_TYPE "llmc-schedule-dispatches"

namespace llmc::planning {

#define GEN_PASS_DEF_SCHEDULEDISPATCHESPASS
#include "compiler/Planning/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// llmc-schedule-dispatches
//===----------------------------------------------------------------------===//

struct ScheduleDispatchesPass final
    : impl::ScheduleDispatchesPassBase<ScheduleDispatchesPass> {
  using ScheduleDispatchesPassBase::ScheduleDispatchesPassBase;

  void runOnOperation() override {
    for (auto entry : getOperation().getOps<program::EntryOp>()) {
      auto dispatches = collectDispatches(entry);
      auto order = scheduleDispatches(collectValueAccesses(dispatches));
      // Slices have no operands: behind them all, dispatches may stand in any
      // order. Moving each to the end in turn gives the new one.
      for (auto [position, index] : llvm::enumerate(order)) {
        Block &body = *entry.getBody().begin();
        dispatches[index]->moveBefore(&body, body.end());
        numMoved += position != index;
      }
    }
  }
};

} // namespace
} // namespace llmc::planning
