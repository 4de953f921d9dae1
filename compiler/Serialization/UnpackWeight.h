// SPDX-License-Identifier: Apache-2.0
//
// The way back from the planes of docs/layouts.md to rows of an encoding, for
// the encodings that llmc quantizes to. Plain C++.

#ifndef LLMC_COMPILER_SERIALIZATION_UNPACKWEIGHT_H
#define LLMC_COMPILER_SERIALIZATION_UNPACKWEIGHT_H

#include "codegen/Lowering/WeightLayout.h"
#include "dialects/Graph/Encoding.h"

#include <cstdint>

namespace llmc::serialization {

/// Whether unpackRow can: I4_G32 and the like, and the channel encodings.
bool canUnpackRows(graph::Encoding encoding);

/// Writes row |row| of a packed weight, layout.bytes bytes at |packed|, to
/// |result|, which has room for a row of |encoding|.
void unpackRow(graph::Encoding encoding, const codegen::WeightLayout &layout,
               const uint8_t *packed, int64_t row, uint8_t *result);

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_UNPACKWEIGHT_H
