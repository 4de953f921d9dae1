// SPDX-License-Identifier: Apache-2.0

#include "compiler/Serialization/UnpackWeight.h"

#include "compiler/Serialization/RowCursor.h"
#include "dialects/Graph/RowEncoder.h"

#include <cstring>

namespace llmc::serialization {

using codegen::PlaneKind;
using graph::Encoding;

namespace {

using RowCursor = BasicRowCursor<const uint8_t>;

/// |count| codes below 16, from |column| on, two a byte, the even one low.
void loadPairs(const RowCursor &cursor, int64_t column, int64_t count,
               uint8_t *result) {
  for (int64_t k = 0; k < count; k += 8) {
    const uint8_t *from =
        cursor.element(PlaneKind::Codes, column + k) + 4 * cursor.row();
    // Column k + b is byte b's low half, k + 4 + b its high one.
    for (int64_t b = 0; b < 4; b += 2) {
      result[(k + b) / 2] =
          static_cast<uint8_t>((from[b] & 15) | (from[b + 1] & 15) << 4);
      result[(k + b) / 2 + 2] =
          static_cast<uint8_t>(from[b] >> 4 | (from[b + 1] & 0xf0));
    }
  }
}

void loadBytes(const RowCursor &cursor, int64_t count, uint8_t *result) {
  for (int64_t k = 0; k < count; k += 4)
    std::memcpy(result + k,
                cursor.element(PlaneKind::Codes, k) + 4 * cursor.row(), 4);
}

/// A scale or zero point of |size| bytes; the place behind it.
uint8_t *loadNumber(const RowCursor &cursor, PlaneKind kind, int64_t column,
                    int64_t size, uint8_t *result) {
  std::memcpy(result, cursor.element(kind, column) + size * cursor.row(),
              static_cast<size_t>(size));
  return result + size;
}

} // namespace

bool canUnpackRows(Encoding encoding) {
  return graph::canEncode(encoding) && encoding != Encoding::F32 &&
         encoding != Encoding::F16;
}

void unpackRow(Encoding encoding, const codegen::WeightLayout &layout,
               const uint8_t *packed, int64_t row, uint8_t *result) {
  const graph::EncodingFacts &facts = graph::encodingFacts(encoding);
  const RowCursor cursor(layout, packed, row / codegen::kTileRows,
                         row % codegen::kTileRows);
  // A row with one scale, a float, is one block; others are halves.
  const int64_t block = facts.isRow() ? layout.columns : facts.blockElements,
                numberBytes = facts.isRow() ? 4 : 2;
  for (int64_t column = 0; column < layout.columns; column += block) {
    result = loadNumber(cursor, PlaneKind::Scales, column, numberBytes, result);
    if (graph::isAsymmetric(encoding))
      result =
          loadNumber(cursor, PlaneKind::Zeros, column, numberBytes, result);
    if (facts.isRow() && facts.rowCodeBits == 8) {
      loadBytes(cursor, layout.columns, result);
      return;
    }
    loadPairs(cursor, column, block, result);
    result += block / 2;
  }
}

} // namespace llmc::serialization
