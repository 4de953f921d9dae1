// SPDX-License-Identifier: Apache-2.0
//
// The state of a workgroup whose invocations go through a kernel in lockstep:
// every step is done by all active lanes before the next one begins.

#ifndef LLMC_TEST_E2E_SUPPORT_LOCKSTEPMACHINE_H
#define LLMC_TEST_E2E_SUPPORT_LOCKSTEPMACHINE_H

#include "test/e2e/support/SharedAccesses.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace llmc::test {

/// Where a value is: a word for each component and lane, a component's lanes
/// one after the other. Narrower numbers are the word's low bits, the rest
/// zero. Of a matrix, a word for each subgroup and element, row by row.
struct LockstepSlot {
  size_t first = 0, words = 0;
  bool isMatrix = false;
};

/// A buffer, or workgroup memory.
struct LockstepMemory {
  uint8_t *data = nullptr;
  size_t bytes = 0;
  /// Of workgroup memory alone.
  std::optional<SharedAccesses> accesses;
};

struct LockstepMachine {
  uint32_t lanes = 0, subgroupSize = 0;
  /// Invocations of the workgroup, the workgroup's number, workgroups of the
  /// dispatch.
  std::array<uint32_t, 3> size = {1, 1, 1}, group = {}, groups = {};
  std::vector<uint32_t> words;
  /// The lanes that do the next step.
  std::vector<uint8_t> active;
  /// Buffers by binding, then workgroup memory.
  std::vector<LockstepMemory> memories;
  Synchronizations synchronizations;
  /// What went wrong first; steps after it count for nothing.
  std::string error;

  uint32_t *at(LockstepSlot slot) { return words.data() + slot.first; }
  uint32_t subgroups() const { return lanes / subgroupSize; }
  bool failed() const { return !error.empty(); }
  void fail(const std::string &text) {
    if (error.empty())
      error = text;
  }
};

using LockstepStep = std::function<void(LockstepMachine &)>;

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_LOCKSTEPMACHINE_H
