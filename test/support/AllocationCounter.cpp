// SPDX-License-Identifier: Apache-2.0
//
// The program's own `new` and `delete`.

#include "test/support/AllocationCounter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t numOfThread = 0;
std::atomic<uint64_t> numOfProcess{0};

void *allocate(size_t size) {
  ++numOfThread;
  ++numOfProcess;
  if (void *memory = std::malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}

} // namespace

void *operator new(size_t size) { return allocate(size); }
void *operator new[](size_t size) { return allocate(size); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }

namespace llmc::test {

uint64_t allocationsOfThread() { return numOfThread; }
uint64_t allocationsOfProcess() { return numOfProcess; }

} // namespace llmc::test
