// SPDX-License-Identifier: Apache-2.0
//
// Counters by which workgroups learn that they are the last of some. They are
// zero when an entry begins, whatever an earlier submission left, and a kernel
// that has counted leaves zeros for the next one.

#ifndef LLMC_CODEGEN_LOWERING_COUNTERRESET_H
#define LLMC_CODEGEN_LOWERING_COUNTERRESET_H

#include "codegen/Lowering/ProgramBuilder.h"

namespace llmc::codegen {

/// Puts a dispatch that zeroes the entry's counters before all others, if it
/// has any (EntryBuilder::counterSlice).
void emitCounterReset(EntryBuilder &entry, target::DeviceAttr device,
                      Location loc);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_COUNTERRESET_H
