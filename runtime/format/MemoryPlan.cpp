// SPDX-License-Identifier: Apache-2.0
//
// MemoryPlan.h: sums over buffers.

#include "runtime/format/MemoryPlan.h"

namespace llmc::format {

MemoryPlan planMemory(const Variant &variant, uint64_t plannedContext,
                      uint64_t context) {
  MemoryPlan plan;
  for (const Buffer &buffer : variant.buffers()) {
    switch (buffer.kind()) {
    case Buffer::WEIGHTS:
      plan.weights += buffer.size();
      break;
    case Buffer::ARENA:
      plan.arena += buffer.size();
      break;
    case Buffer::STATE:
      plan.states +=
          context && plannedContext
              ? static_cast<uint64_t>(static_cast<double>(buffer.size()) *
                                      static_cast<double>(context) /
                                      static_cast<double>(plannedContext))
              : buffer.size();
      break;
    default:
      plan.hostVisible += buffer.size();
    }
  }
  plan.staging = kStagingBytes;
  for (const Buffer &buffer : variant.self_test().program().buffers())
    if (buffer.kind() != Buffer::WEIGHTS)
      plan.selfTest += buffer.size();
  return plan;
}

} // namespace llmc::format
