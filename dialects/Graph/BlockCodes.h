// SPDX-License-Identifier: Apache-2.0
//
// Blocks of the formats that devices read as bytes: codes of eight bits with a
// scale, and for some an offset, for 16 or 32 of them. Nothing is rounded.
// Plain C++.

#ifndef LLMC_DIALECTS_GRAPH_BLOCKCODES_H
#define LLMC_DIALECTS_GRAPH_BLOCKCODES_H

#include "dialects/Graph/GraphEnums.h"

#include <cstdint>
#include <optional>

namespace llmc::graph {

/// One block. Number i is scales[g] * codes[i] + offsets[g], g = i /
/// groupColumns; the product is exact in float.
struct BlockCodes {
  int64_t groupColumns;
  int8_t codes[256];
  float scales[16];
  /// Zeros but for Q2_K and Q5_1.
  float offsets[16];
};

/// Codes that share a scale in the BlockCodes of an encoding; none for one that
/// has no BlockCodes.
std::optional<int64_t> blockCodesGroup(Encoding encoding);

/// Takes a block of an encoding that has BlockCodes apart. Formulas are in
/// Encoding.h.
void splitBlock(Encoding encoding, const uint8_t *block, BlockCodes &result);

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_BLOCKCODES_H
