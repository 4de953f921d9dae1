// SPDX-License-Identifier: Apache-2.0
//
// CounterReset.h.

#include "codegen/Lowering/CounterReset.h"

#include "codegen/Lowering/EntryKernel.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

namespace llmc::codegen {

void emitCounterReset(EntryBuilder &entry, target::DeviceAttr device,
                      Location loc) {
  program::SliceOp counters = entry.findCounters();
  if (!counters)
    return;
  int64_t lanes = std::min<int64_t>(
      kCountersPerGroup,
      llvm::bit_floor(static_cast<uint64_t>(device.getMaxInvocations())));
  EntryKernel kernel(entry, device, loc, {lanes, 1, 1});
  KernelBuilder &b = kernel.builder();
  Value memref = kernel.bind(counters, b.getI32Type(), program::Access::Write);
  // The number of counters is that of the grid, so that one kernel serves all.
  Value first = b.add(b.mul(b.groupId(), kCountersPerGroup), b.localId());
  for (int64_t done = 0; done < kCountersPerGroup; done += lanes)
    b.store(b.i32(0), memref, b.add(first, done));
  auto config = graph::LoweringConfigAttr::get(
      b.getContext(), b.getStringAttr("counters"), {lanes, 1, 1}, {lanes},
      /*splits=*/1, /*accumulators=*/0, /*registers=*/8);
  int64_t count = static_cast<int64_t>(counters.getBytes()) / 4;
  kernel.finish("zero counters", {count / kCountersPerGroup, 1, 1}, config);
  Block &body = entry.getEntry().getBody().front();
  body.back().moveBefore(&body, body.begin());
  counters->moveBefore(&body, body.begin());
}

} // namespace llmc::codegen
