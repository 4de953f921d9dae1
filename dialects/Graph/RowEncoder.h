// SPDX-License-Identifier: Apache-2.0
//
// From numbers to the bytes of an encoding: the way back from dequantizeRow,
// for weights that are quantized while a model is compiled. Plain C++.
//
// Quantization chooses a scale d (and a zero point z) for each group, or row of
// a channel encoding, that makes the weighted squared error small:
//
//   sum of w[i] * (x[i] - decoded[i])^2,  w[i] = x[i]^2 + mean of x^2
//
// Large weights count more, since what they are multiplied with tends to be
// large too; none counts for nothing. With codes of 8 bits all count alike:
// there the weights did harm (docs/quantization.md). Tried are scales that map
// the largest number to the largest code and up to some 20 % less or more; for
// each, codes are rounded to the nearest, the best d (and z) for these codes is
// computed in closed form, stored numbers are rounded as the encoding holds
// them, and codes are chosen anew for what is stored. The one with the least
// error is kept, so that none is worse than the usual scale, max |x| / largest
// code.

#ifndef LLMC_DIALECTS_GRAPH_ROWENCODER_H
#define LLMC_DIALECTS_GRAPH_ROWENCODER_H

#include "dialects/Graph/GraphEnums.h"

#include <cstdint>
#include <optional>
#include <string>

namespace llmc::graph {

/// Nearest binary16, halves to even; beyond its range infinity.
uint16_t floatToHalf(float value);

/// Whether encodeRow can make rows of this encoding: F32, F16 and llmc's own.
bool canEncode(Encoding encoding);

/// Encodes `count` numbers, a row or a whole number of blocks, into `result`,
/// which has room for encodedSizeInBytes(encoding, count). Gives what is wrong
/// when a number is not finite, or beyond what the encoding can hold ("is
/// nan"); the result is undefined then.
std::optional<std::string> encodeRow(Encoding encoding, const float *values,
                                     int64_t count, uint8_t *result);

/// The weighted squared error that quantization makes small, see above: of
/// `decoded` numbers for `values`.
double weightedError(Encoding encoding, const float *values,
                     const float *decoded, int64_t count);

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_ROWENCODER_H
