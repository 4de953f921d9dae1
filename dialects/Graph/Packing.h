// SPDX-License-Identifier: Apache-2.0
//
// Weights whose numbers do not lie row after row in the weight's encoding: how
// other tools arrange them in their files, and the rows that result. Plain C++,
// no MLIR context.
//
// For a source of N rows and K columns:
//
// transposed: numbers of `encoding`, [K][N].

#ifndef LLMC_DIALECTS_GRAPH_PACKING_H
#define LLMC_DIALECTS_GRAPH_PACKING_H

#include "dialects/Graph/Encoding.h"

#include <cstdint>
#include <optional>
#include <string>

namespace llmc::graph {

enum class PackingForm { Transposed };

/// "transposed"; none for other names.
std::optional<PackingForm> packingFormOfName(const std::string &name);

/// Where the parts of a packed source begin, and how they are to be read.
struct Packing {
  PackingForm form;
  /// Of the scales, or of transposed numbers.
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
  std::optional<Packing> packing;
};

struct PackedSizes {
  int64_t codes, scales, zeros;
};

/// Bytes of each part of a source of N rows and K columns (scales and zeros
/// also when it has none). None when the form's words or groups do not divide N
/// or K, `encoding` is none of F32, F16 and BF16, or the bytes exceed 2^62.
std::optional<PackedSizes> packedSizes(PackingForm form, Encoding encoding,
                                       int64_t group, int64_t rows,
                                       int64_t columns);

/// Whether a weight of encoding `target` can be read from such a source: plain
/// numbers from transposed ones of the same encoding.
bool canUnpack(PackingForm form, Encoding encoding, int64_t group,
               bool hasZeros, int64_t columns, Encoding target);

/// The bytes of one row in the weight's encoding: in the file, or of a packed
/// source in `scratch`, which has room for a row.
const uint8_t *encodedRow(const RowSource &source, Encoding target,
                          int64_t columns, int64_t row, uint8_t *scratch);

/// The numbers of a vector's source, addend included.
void decodeVector(const RowSource &source, Encoding encoding, float *result);

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_PACKING_H
