// SPDX-License-Identifier: Apache-2.0
//
// Where texts behind one another may begin.

#ifndef LLMC_DIALECTS_GRAPH_TEXTALIGNMENT_H
#define LLMC_DIALECTS_GRAPH_TEXTALIGNMENT_H

#include <cstdint>

namespace llmc::graph {

/// A text's first row is a multiple of it. It is a multiple of the blocks
/// of keys in which attention goes over texts, so that a text gives the same
/// bits wherever it begins.
inline constexpr int64_t kTextAlignment = 64;

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_TEXTALIGNMENT_H
