// SPDX-License-Identifier: Apache-2.0
//
// Gives slices their offsets: the arena by lifetimes, named values by symbol.

#include "compiler/Planning/Passes.h"

#include "compiler/Planning/ArenaPlanner.h"
#include "compiler/Planning/EntryAccesses.h"
#include "dialects/Target/ModuleDevice.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "llmc-plan-memory"

namespace llmc::planning {

#define GEN_PASS_DEF_PLANMEMORYPASS
#include "compiler/Planning/Passes.h.inc"

using program::Storage;

namespace {

/// What all slices of one symbol share.
struct NamedValue {
  SmallVector<program::SliceOp> slices;
  int64_t sizeInBytes = 0;
  int64_t mostRowsWritten = 0;
  int64_t mostRowsRead = 0;
};

/// Plans one module for one device.
class MemoryPlanner {
public:
  MemoryPlanner(ModuleOp module, target::DeviceAttr device)
      : module(module), device(device),
        // Kernels load 16 bytes at a time.
        alignment(std::max<int64_t>(16, device.getBufferAlignment())) {}

  LogicalResult run() {
    for (auto entry : module.getOps<program::EntryOp>())
      eraseUnusedSlices(entry);
    for (auto entry : module.getOps<program::EntryOp>()) {
      planEntryArena(entry);
      collectNamedValues(entry);
    }
    placeNamedValues();
    for (auto entry : module.getOps<program::EntryOp>())
      if (failed(checkLimits(entry)))
        return failure();
    return success();
  }

  int64_t highWaterMark = 0; // of the largest entry
  int64_t lowerBound = 0;

private:
  static void eraseUnusedSlices(program::EntryOp entry);
  void planEntryArena(program::EntryOp entry);
  void collectNamedValues(program::EntryOp entry);
  void placeNamedValues();
  LogicalResult checkLimits(program::EntryOp entry);
  void setOffset(program::SliceOp slice, int64_t offset) {
    slice.setOffset(offset);
  }

  ModuleOp module;
  target::DeviceAttr device;
  int64_t alignment;
  // In the order of first appearance, so that offsets are the same every time.
  llvm::MapVector<std::pair<Storage, StringAttr>, NamedValue> namedValues;
};

void MemoryPlanner::eraseUnusedSlices(program::EntryOp entry) {
  for (auto slice :
       llvm::make_early_inc_range(entry.getBody().getOps<program::SliceOp>()))
    if (slice->use_empty())
      slice.erase();
}

/// Lifetimes are counted in barrier intervals, not dispatches: two dispatches
/// of one interval run at the same time, so what one reads last and what the
/// other writes first may not share memory.
void MemoryPlanner::planEntryArena(program::EntryOp entry) {
  auto dispatches = collectDispatches(entry);
  auto intervals = assignIntervals(collectValueAccesses(dispatches));
  llvm::MapVector<Operation *, ArenaValue> values;
  for (auto [dispatch, interval] : llvm::zip_equal(dispatches, intervals))
    for (Value binding : dispatch.getBindings()) {
      auto slice = binding.getDefiningOp<program::SliceOp>();
      if (slice.getStorage() != Storage::Arena)
        continue;
      int64_t bytes = slice.getBytes();
      auto &value =
          values.try_emplace(slice, ArenaValue{bytes, interval, interval})
              .first->second;
      value.lastUse = interval;
    }

  std::vector<ArenaValue> list;
  for (auto &[slice, value] : values)
    list.push_back(value);
  ArenaPlan plan = planArena(list, alignment);
  for (auto [item, offset] : llvm::zip_equal(values, plan.offsets))
    setOffset(cast<program::SliceOp>(item.first), offset);
  entry.setArenaBytes(plan.highWaterMark);
  if (plan.highWaterMark >= highWaterMark) {
    highWaterMark = plan.highWaterMark;
    lowerBound = arenaLowerBound(list, alignment);
  }
}

void MemoryPlanner::collectNamedValues(program::EntryOp entry) {
  int64_t rows = entry.getRows();
  for (auto slice : entry.getBody().getOps<program::SliceOp>()) {
    if (slice.getStorage() == Storage::Step)
      setOffset(slice, 0);
    if (!slice.getSymbolAttr() || slice.getStorage() == Storage::Weight)
      continue;
    NamedValue &value =
        namedValues[{slice.getStorage(), slice.getSymbolAttr()}];
    value.slices.push_back(slice);
    value.sizeInBytes = std::max<int64_t>(value.sizeInBytes, slice.getBytes());
  }
  for (program::DispatchOp dispatch : collectDispatches(entry))
    for (auto [binding, access] :
         llvm::zip_equal(dispatch.getBindings(), dispatch.getAccess())) {
      auto slice = binding.getDefiningOp<program::SliceOp>();
      if (slice.getStorage() != Storage::Kept)
        continue;
      NamedValue &value = namedValues[{Storage::Kept, slice.getSymbolAttr()}];
      if (access & static_cast<int32_t>(program::Access::Write))
        value.mostRowsWritten = std::max(value.mostRowsWritten, rows);
      if (access & static_cast<int32_t>(program::Access::Read))
        value.mostRowsRead = std::max(value.mostRowsRead, rows);
    }
}

void MemoryPlanner::placeNamedValues() {
  DenseMap<int, int64_t> ends; // storage → bytes given out
  // Inputs share the step words' buffer.
  ends[static_cast<int>(Storage::Input)] = 64;
  for (auto &[key, value] : namedValues) {
    Storage storage = key.first;
    // A reader takes as many rows as its bucket from any first row on.
    if (storage == Storage::Kept)
      value.sizeInBytes = (value.mostRowsWritten + value.mostRowsRead) *
                          value.slices.front().getRowBytes();
    int64_t &end = ends[static_cast<int>(storage)];
    int64_t offset = llvm::alignTo(end, alignment);
    end = offset + value.sizeInBytes;
    for (program::SliceOp slice : value.slices) {
      setOffset(slice, offset);
      // Ports keep their entry's rows; the rest binds all there is.
      if (storage == Storage::Kept || storage == Storage::State)
        slice.setBytes(value.sizeInBytes);
    }
  }
}

LogicalResult MemoryPlanner::checkLimits(program::EntryOp entry) {
  if (static_cast<int64_t>(*entry.getArenaBytes()) > device.getMaxAllocation())
    return entry.emitOpError("needs an arena of ")
           << *entry.getArenaBytes() << " bytes; target '" << device.getName()
           << "' allocates at most " << device.getMaxAllocation();
  for (program::DispatchOp dispatch : collectDispatches(entry))
    for (auto [index, binding] : llvm::enumerate(dispatch.getBindings())) {
      auto slice = binding.getDefiningOp<program::SliceOp>();
      int64_t bytes = slice.getBytes();
      if (bytes > device.getMaxBufferRange())
        return dispatch.emitOpError("binding ")
               << index << " ("
               << (slice.getSymbol()
                       ? *slice.getSymbol()
                       : program::stringifyStorage(slice.getStorage()))
               << ") of " << dispatch.getLabel().value_or("a dispatch")
               << " has " << bytes << " bytes; target '" << device.getName()
               << "' binds at most " << device.getMaxBufferRange();
    }
  return success();
}

//===----------------------------------------------------------------------===//
// llmc-plan-memory
//===----------------------------------------------------------------------===//

struct PlanMemoryPass final : impl::PlanMemoryPassBase<PlanMemoryPass> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<target::DeviceAttr> device =
        target::getModuleDevice(module, "to plan memory for");
    if (failed(device))
      return signalPassFailure();
    MemoryPlanner planner(module, *device);
    if (failed(planner.run()))
      return signalPassFailure();
    highWaterMark = planner.highWaterMark;
    lowerBound = planner.lowerBound;
  }
};

} // namespace
} // namespace llmc::planning
