// SPDX-License-Identifier: Apache-2.0
//
// Weights whose numbers do not lie row after row in the weight's encoding: how
// other tools arrange them in their files, and the rows that result. Plain C++,
// no MLIR context.
//
// For a source of N rows and K columns; n is a row, k a column, g = k / group,
// G = K / group. Words are 32 bits, little-endian; nibble i of a word is its
// bits 4i … 4i + 3. A zero point that is absent is 8.
//
// rows: rows of any `encoding`, one after another.
// transposed: numbers of `encoding`, [K][N]. Numbers of these two forms are
//   quantized (RowEncoder.h) where the weight has another encoding than they.
// gptq: words [K/8][N], code k in nibble k % 8; scales [G][N]; zero points
//   [G] words [N/8], nibble n % 8 plus 1.
// gptq_v2: the same with zero points as they stand.
// awq: words [K][N/8], code n in the nibble that holds column n % 8 of the
//   order 0, 2, 4, 6, 1, 3, 5, 7; scales [G][N]; zero points [G] words [N/8]
//   in the same order.
// compressed: words [N][K/8], code k in nibble k % 8; scales [N][G]; zero
//   points words [N/8][G], nibble n % 8.
// nbits: [N][G] blocks of group / 2 bytes, code 2i in the low half of byte i;
//   scales [N][G]; zero points [N] bytes [(G + 1) / 2], g even in the low half.
//
// int8…, uint8…: dialects/Graph/BytePacking.h.
//
// Codes have the value scale * (code - zero point). `scales` are numbers of
// `encoding`, which a weight keeps as halves (the nearest one) where groups of
// columns have a scale, and as floats where a row has one.

#ifndef LLMC_DIALECTS_GRAPH_PACKING_H
#define LLMC_DIALECTS_GRAPH_PACKING_H

#include "dialects/Graph/Encoding.h"
#include "dialects/Graph/RowStore.h"

#include <cstdint>
#include <optional>
#include <string>

namespace llmc::graph {

enum class PackingForm {
  Rows,
  Transposed,
  Gptq,
  GptqV2,
  Awq,
  Compressed,
  NBits,
  // Bytes: dialects/Graph/BytePacking.h.
  Int8,
  Int8Tensor,
  Int8Transposed,
  Int8TransposedTensor,
  UInt8,
  UInt8Tensor,
  UInt8Transposed,
  UInt8TransposedTensor
};

/// Whether a source of that form is codes with scales, not numbers.
inline bool hasCodes(PackingForm form) {
  return form != PackingForm::Rows && form != PackingForm::Transposed;
}

/// "gptq" and so on; none for other names.
std::optional<PackingForm> packingFormOfName(const std::string &name);
const char *packingFormName(PackingForm form);

/// Where the parts of a packed source begin, and how they are to be read.
struct Packing {
  PackingForm form;
  /// Of the scales, or of the numbers of a form without scales.
  Encoding encoding;
  /// Columns that share a scale; K where a row has one.
  int64_t group;
  const uint8_t *scales = nullptr, *zeros = nullptr; // null: none
};

/// Some rows of a weight, or numbers of a vector.
struct RowSource {
  /// The rows' bytes, one row after another; the codes of a packed source.
  const uint8_t *bytes = nullptr;
  int64_t rows = 0;
  /// Of every number of a vector.
  float addend = 0.0f;
  std::optional<Packing> packing = {};
  /// Where rows that are quantized may be found; null: nowhere.
  RowStore *store = nullptr;
  /// Whether it is told of those that were not there: who reads each row once
  /// has no use for them.
  bool keepsRows = false;
};

struct PackedSizes {
  int64_t codes, scales, zeros;
};

/// Bytes of each part of a source of N rows and K columns (scales and zeros
/// also when it has none). None when the form's words or groups do not divide N
/// or K, `encoding` is none of F32, F16 and BF16 (but for Rows), or the bytes
/// exceed 2^62.
std::optional<PackedSizes> packedSizes(PackingForm form, Encoding encoding,
                                       int64_t group, int64_t rows,
                                       int64_t columns);

/// Whether a weight of encoding `target` can be read from such a source: from
/// numbers in the same encoding, or when it can be made of numbers; of codes an
/// I4 encoding whose
/// groups lie in those of the source, with zero points where the source has
/// some.
bool canUnpack(PackingForm form, Encoding encoding, int64_t group,
               bool hasZeros, int64_t columns, Encoding target);

/// The bytes of one row in the weight's encoding: in the file, or of a packed
/// source in `scratch`, which has room for a row. When the row has a number
/// that `target` can't hold, `problem` says so, and the bytes are those of no
/// row.
const uint8_t *encodedRow(const RowSource &source, Encoding target,
                          int64_t columns, int64_t row, uint8_t *scratch,
                          std::optional<std::string> &problem);

/// The numbers of a vector's source, addend included.
void decodeVector(const RowSource &source, Encoding encoding, float *result);

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_PACKING_H
