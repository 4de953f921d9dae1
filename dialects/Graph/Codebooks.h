// SPDX-License-Identifier: Apache-2.0
//
// The codebooks of GGUF's IQ formats and of MXFP4. Plain C++.

#ifndef LLMC_DIALECTS_GRAPH_CODEBOOKS_H
#define LLMC_DIALECTS_GRAPH_CODEBOOKS_H

#include <cstdint>

namespace llmc::graph {

/// Entries of eight magnitudes: number k has index (entry >> 2k) & 3 into
/// kIq2Magnitudes.
extern const uint16_t kIq2XxsGrid[256];
extern const uint16_t kIq2XsGrid[512];
extern const uint16_t kIq2SGrid[1024];
inline constexpr int8_t kIq2Magnitudes[3] = {8, 25, 43};

/// Entries of four magnitudes: number k has index (entry >> 3k) & 7.
extern const uint16_t kIq3XxsGrid[256];
extern const uint16_t kIq3SGrid[512];
inline constexpr int8_t kIq3XxsMagnitudes[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr int8_t kIq3SMagnitudes[8] = {1, 3, 5, 7, 9, 11, 13, 15};

/// Entries of eight numbers: number k is ((entry >> 2k) & 3) - 1.
extern const uint16_t kIq1Grid[2048];

/// What a nibble of IQ4_NL and IQ4_XS stands for.
inline constexpr int8_t kIq4Codes[16] = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
/// What a nibble of MXFP4 (E2M1) stands for, in halves.
inline constexpr int8_t kMxfp4Codes[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                           0, -1, -2, -3, -4, -6, -8, -12};

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_CODEBOOKS_H
