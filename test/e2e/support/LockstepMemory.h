// SPDX-License-Identifier: Apache-2.0
//
// Steps in which each lane accesses memory of its own choice.

#ifndef LLMC_TEST_E2E_SUPPORT_LOCKSTEPMEMORY_H
#define LLMC_TEST_E2E_SUPPORT_LOCKSTEPMEMORY_H

#include "test/e2e/support/LockstepMachine.h"

namespace llmc::test {

/// Moves the components of a value from memory, or to it. `memory` is a number
/// of the machine's; an element of it has `components` of so many bytes each.
struct MemoryMove {
  LockstepSlot value, index;
  size_t memory, components, bytes;
  bool isStore;
};
LockstepStep memoryMoveStep(const MemoryMove &move);

/// Adds to a word of memory; the result is what it was.
struct AtomicAdd {
  LockstepSlot result, addend, index;
  size_t memory;
};
LockstepStep atomicAddStep(const AtomicAdd &add);

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_LOCKSTEPMEMORY_H
