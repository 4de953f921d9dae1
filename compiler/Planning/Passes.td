// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_COMPILER_PLANNING_PASSES_TD
#define LLMC_COMPILER_PLANNING_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertBarriersPass : Pass<"llmc-insert-barriers", "::mlir::ModuleOp"> {
  let summary = "Insert the fewest barriers that the dispatches' accesses need";
  let description = [{
    Two dispatches of an entry need a barrier between them if they touch a common byte of a buffer and one of them writes
    it. Since a barrier makes all that ran before it visible, each is put as late as possible.

    An entry begins with a barrier, so that the runtime may record entries one after another without knowing what they
    share. Precondition: every slice but those of weights has an offset (`llmc-plan-memory`). Never reorders.

    ```mlir
    program.entry @e "forward" rows 1 arena 512 {
      %x = program.slice arena bytes 256 offset 0
      %y = program.slice arena bytes 256 offset 256
      // a barrier comes here
      program.dispatch @k groups [1, 1, 1](%x) access [2]
      // and here
      program.dispatch @m groups [1, 1, 1](%x, %y) access [1, 2]
    }
    ```
  }];
  let dependentDialects = ["::llmc::program::ProgramDialect"];
  let statistics = [Statistic<"numBarriers", "num-barriers", "Barriers inserted">];
}

def PlanMemoryPass : Pass<"llmc-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every slice but those of weights its offset";
  let description = [{
    - Arena: a slice lives from the first to the last barrier interval that uses it; slices whose lives are apart may share
      memory. `arena` of each entry becomes its high-water mark. The runtime's arena is as large as the largest.
    - Kept, state, input and output: slices of one symbol lie at one offset in all entries and get the size of the largest.
      A kept value gets room for the largest writer's rows plus the largest reader's, because a reader takes as many rows
      as its bucket from any first row on.
    - Step words: offset 0, in the buffer of the inputs.

    Slices that no dispatch uses are erased. Offsets are multiples of the target's `buffer_alignment`. Refuses what the
    target cannot bind (`max_buffer_range`) or allocate (`max_allocation`). Needs `target.device` on the module.
  }];
  let dependentDialects = ["::llmc::program::ProgramDialect", "::llmc::target::TargetDialect"];
  let statistics = [
    Statistic<"highWaterMark", "high-water-mark", "Bytes of the largest entry's arena">,
    Statistic<"lowerBound", "lower-bound", "Bytes that no plan of the largest entry could go below">
  ];
}

def ScheduleDispatchesPass : Pass<"llmc-schedule-dispatches", "::mlir::ModuleOp"> {
  let summary = "Move independent dispatches next to each other";
  let description = [{
    Orders the dispatches of each entry by the length of the longest chain of dependent dispatches before them, and
    otherwise as they were. Then as few barriers as possible are needed. Precondition: no offsets and no barriers yet.
  }];
  let dependentDialects = ["::llmc::program::ProgramDialect"];
  let statistics = [Statistic<"numMoved", "num-moved", "Dispatches that changed their place">];
}

#endif // LLMC_COMPILER_PLANNING_PASSES_TD
