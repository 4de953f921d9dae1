// SPDX-License-Identifier: Apache-2.0
//
// Nibbles that are indices into sixteen numbers, looked up in kernels.

#ifndef LLMC_CODEGEN_LOWERING_CODEBOOKBYTES_H
#define LLMC_CODEGEN_LOWERING_CODEBOOKBYTES_H

#include "codegen/Lowering/KernelBuilder.h"
#include "codegen/Lowering/WeightLayout.h"

namespace llmc::codegen {

/// The numbers of a codebook, indexed by nibble; not for Codebook::None.
ArrayRef<int8_t> codebookNumbers(Codebook codebook);

/// `nibbles`: an i32, or a vector of them, with an index in the low half of
/// each byte and zeros above. Gives the indexed numbers as signed bytes.
///
/// All bytes of a word are looked up at once: a tree of choices between
/// constants, by masks that each bit of the index spreads over its byte. Some
/// 12 instructions a number, no memory.
Value codebookBytes(KernelBuilder &b, Value nibbles, Codebook codebook);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_CODEBOOKBYTES_H
