// SPDX-License-Identifier: Apache-2.0
//
// What the dispatches of an entry read and write, as the plain data that the
// planners work on.

#ifndef LLMC_COMPILER_PLANNING_ENTRYACCESSES_H
#define LLMC_COMPILER_PLANNING_ENTRYACCESSES_H

#include "compiler/Planning/BarrierPlanner.h"
#include "dialects/Program/Program.h"

namespace llmc::planning {

/// The dispatches of |entry| in order.
SmallVector<program::DispatchOp> collectDispatches(program::EntryOp entry);

/// The accesses of each dispatch before memory is planned: every arena slice
/// and every symbol is a buffer of its own. Weights, inputs and step words are
/// never written and are left out.
std::vector<DispatchAccesses>
collectValueAccesses(ArrayRef<program::DispatchOp> dispatches);

/// The accesses of each dispatch after memory is planned: ranges of the
/// storages. All slices but those of weights must have an offset.
std::vector<DispatchAccesses>
collectRangeAccesses(ArrayRef<program::DispatchOp> dispatches);

} // namespace llmc::planning

#endif // LLMC_COMPILER_PLANNING_ENTRYACCESSES_H
