// SPDX-License-Identifier: Apache-2.0
//
// Self-tests of the counting model on the fake Vulkan driver.

#ifndef LLMC_TEST_UNIT_RUNTIME_SESSION_SELFTESTMODEL_H
#define LLMC_TEST_UNIT_RUNTIME_SESSION_SELFTESTMODEL_H

#include "test/unit/runtime/session/FakeCounting.h"

namespace llmc::test {

/// Adds a case: forward of so many rows and logits of two in one entry, on
/// tokens 3 and 4. The logits are 3 and 7 times the weights.
void addSelfTestCase(format::Variant &variant, uint32_t forwardRows);

/// Gives kernel `number` of a variant code of its own, which does the same but
/// for a word that says nothing; the code.
Bytes setSpecialCode(ModuleFile &file, format::Variant &variant, int number);

} // namespace llmc::test

#endif // LLMC_TEST_UNIT_RUNTIME_SESSION_SELFTESTMODEL_H
