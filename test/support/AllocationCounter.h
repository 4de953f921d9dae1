// SPDX-License-Identifier: Apache-2.0
//
// Counts every `new` of a program that links it; what a driver does with malloc
// is the driver's.

#ifndef LLMC_TEST_SUPPORT_ALLOCATIONCOUNTER_H
#define LLMC_TEST_SUPPORT_ALLOCATIONCOUNTER_H

#include <cstdint>

namespace llmc::test {

/// So far: of the calling thread, and of all threads.
uint64_t allocationsOfThread();
uint64_t allocationsOfProcess();

} // namespace llmc::test

#endif // LLMC_TEST_SUPPORT_ALLOCATIONCOUNTER_H
