// SPDX-License-Identifier: Apache-2.0
//
// What a variant takes of a device's memory, told before anything is loaded.

#ifndef LLMC_RUNTIME_FORMAT_MEMORYPLAN_H
#define LLMC_RUNTIME_FORMAT_MEMORYPLAN_H

#include "runtime/format/manifest.pb.h"

#include <cstdint>

namespace llmc::format {

/// In bytes. Exact: the runtime allocates these buffers and nothing else.
struct MemoryPlan {
  uint64_t weights = 0; // once for a module
  // For each session:
  uint64_t arena = 0;
  uint64_t states = 0;      // KV caches, for the whole context
  uint64_t hostVisible = 0; // inputs and outputs, which the host reaches too
  // For a while:
  uint64_t staging = 0;  // in a load, where the host does not reach all of the
                         // device
  uint64_t selfTest = 0; // while kernels are tested

  uint64_t ofSession() const { return arena + states + hostVisible; }
  /// Of a module with one session.
  uint64_t total() const { return weights + ofSession(); }
};

/// The bytes through which the host copies to and from memory that it does not
/// reach.
inline constexpr uint64_t kStagingBytes = uint64_t{16} << 20;

/// Of `variant` in a file whose states are planned for `plannedContext`
/// positions, if it were compiled for `context`: caches grow with it, all else
/// stays. `context` 0: as planned.
MemoryPlan planMemory(const Variant &variant, uint64_t plannedContext,
                      uint64_t context = 0);

} // namespace llmc::format

#endif // LLMC_RUNTIME_FORMAT_MEMORYPLAN_H
