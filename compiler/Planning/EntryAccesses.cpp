// SPDX-License-Identifier: Apache-2.0
//
// From dispatches and slices to MemoryAccess.

#include "compiler/Planning/EntryAccesses.h"

#include "llvm/ADT/DenseMap.h"

namespace llmc::planning {

SmallVector<program::DispatchOp> collectDispatches(program::EntryOp entry) {
  return llvm::to_vector(entry.getBody().getOps<program::DispatchOp>());
}

/// Calls |toAccess| for every binding that can take part in a hazard.
static std::vector<DispatchAccesses>
collectAccesses(ArrayRef<program::DispatchOp> dispatches,
                llvm::function_ref<MemoryAccess(program::SliceOp)> toAccess) {
  std::vector<DispatchAccesses> result;
  result.reserve(dispatches.size());
  for (program::DispatchOp dispatch : dispatches) {
    DispatchAccesses &accesses = result.emplace_back();
    for (auto [binding, access] :
         llvm::zip_equal(dispatch.getBindings(), dispatch.getAccess())) {
      auto slice = binding.getDefiningOp<program::SliceOp>();
      program::Storage storage = slice.getStorage();
      if (storage == program::Storage::Weight ||
          storage == program::Storage::Input ||
          storage == program::Storage::Step)
        continue;
      MemoryAccess &entry = accesses.emplace_back(toAccess(slice));
      entry.reads = access & static_cast<int32_t>(program::Access::Read);
      entry.writes = access & static_cast<int32_t>(program::Access::Write);
    }
  }
  return result;
}

std::vector<DispatchAccesses>
collectValueAccesses(ArrayRef<program::DispatchOp> dispatches) {
  // A symbol or, for the arena, the slice itself → number of the buffer.
  DenseMap<std::pair<int, const void *>, int64_t> buffers;
  return collectAccesses(dispatches, [&](program::SliceOp slice) {
    const void *identity = slice.getSymbolAttr()
                               ? slice.getSymbolAttr().getAsOpaquePointer()
                               : slice.getAsOpaquePointer();
    auto key = std::make_pair(static_cast<int>(slice.getStorage()), identity);
    int64_t buffer = buffers.try_emplace(key, buffers.size()).first->second;
    return MemoryAccess{buffer, 0, 1, false, false};
  });
}

std::vector<DispatchAccesses>
collectRangeAccesses(ArrayRef<program::DispatchOp> dispatches) {
  return collectAccesses(dispatches, [&](program::SliceOp slice) {
    int64_t begin = *slice.getOffset();
    int64_t end = begin + static_cast<int64_t>(slice.getBytes());
    return MemoryAccess{static_cast<int64_t>(slice.getStorage()), begin, end,
                        false, false};
  });
}

} // namespace llmc::planning
