// SPDX-License-Identifier: Apache-2.0
//
// Weights of int8 and uint8 codes beside tensors of scales and zero points, as
// ONNX files hold them. Plain C++, no MLIR context.
//
// For a source of N rows and K columns: codes [N][K], or [K][N] when
// transposed; scales [N] of the packing's encoding, or one for all; zero points
// of the codes' type, as many as scales. A code has the value
// scale * (code - zero point); a zero point that is absent is 0.

#ifndef LLMC_DIALECTS_GRAPH_BYTEPACKING_H
#define LLMC_DIALECTS_GRAPH_BYTEPACKING_H

#include "dialects/Graph/Packing.h"

namespace llmc::graph {

/// What the forms of bytes differ in: "int8" or "uint8", then ".transposed" and
/// ".tensor" (one scale).
struct ByteForm {
  bool isUnsigned, isTransposed, hasOneScale;
};

/// None for forms of other codes.
std::optional<ByteForm> byteForm(PackingForm form);

/// Bytes of each part; `numberBytes` are those of a scale.
PackedSizes byteSizes(ByteForm form, int64_t numberBytes, int64_t rows,
                      int64_t columns);

/// I8_CHANNEL where all zero points are 0 in signed bytes, else
/// I8_CHANNEL_ASYM.
Encoding byteEncoding(ByteForm form, bool hasZeros);

/// Writes row `row` in the encoding above: unsigned codes and zero points are
/// shifted by 128, which changes no value.
void unpackBytes(const RowSource &source, ByteForm form, int64_t columns,
                 int64_t row, uint8_t *result);

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_BYTEPACKING_H
