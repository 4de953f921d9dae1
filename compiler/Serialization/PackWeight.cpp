// SPDX-License-Identifier: Apache-2.0
//
// Each format is packed block by block and row by row: a row's part of a unit
// is a word of its own, so rows never touch each other's words, except in
// headers, which are combined with "or" into zeroed memory.

#include "compiler/Serialization/PackWeight.h"

#include "compiler/Serialization/RowCursor.h"
#include "dialects/Graph/BlockCodes.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace llmc::serialization {

using codegen::Plane;
using codegen::PlaneKind;
using codegen::WeightLayout;
using graph::Encoding;

namespace {

constexpr int64_t kUnitBytes = 16;
/// From a unit (or any plane's element) to the same quad's next one.
constexpr int64_t kQuads = codegen::kQuadsPerTile;

void storeU32(uint8_t *to, uint32_t value) {
  std::memcpy(to, &value, sizeof(value));
}

void orU32(uint8_t *to, uint32_t bits) {
  uint32_t value;
  std::memcpy(&value, to, sizeof(value));
  storeU32(to, value | bits);
}

void copyHalf(uint8_t *to, const uint8_t *from) { std::memcpy(to, from, 2); }

using RowCursor = BasicRowCursor<uint8_t>;

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// |count| codes below 16 (higher bits are dropped), from |column| on.
void storeCodes4(const RowCursor &cursor, int64_t column, const uint8_t *codes,
                 int64_t count) {
  uint8_t *to = cursor.element(PlaneKind::Codes, column) + 4 * cursor.row();
  for (int64_t k = 0; k < count; k += 8, to += kUnitBytes * kQuads)
    for (int64_t b = 0; b < 4; ++b)
      to[b] = (codes[k + b] & 15) | codes[k + 4 + b] << 4;
}

void storeCodes8(const RowCursor &cursor, int64_t column, const void *codes,
                 int64_t count) {
  uint8_t *to = cursor.element(PlaneKind::Codes, column) + 4 * cursor.row();
  const auto *from = static_cast<const uint8_t *>(codes);
  for (int64_t k = 0; k < count; k += 4, to += kUnitBytes * kQuads)
    std::memcpy(to, from + k, 4);
}

/// A unit is two columns of four 16-bit numbers.
void storeCodes16(const RowCursor &cursor, int64_t column, const uint8_t *bytes,
                  int64_t count) {
  uint8_t *to = cursor.element(PlaneKind::Codes, column) + 2 * cursor.row();
  for (int64_t k = 0; k < count; ++k)
    copyHalf(to + k / 2 * kUnitBytes * kQuads + k % 2 * 8, bytes + 2 * k);
}

void storeCodes32(const RowCursor &cursor, int64_t column, const uint8_t *bytes,
                  int64_t count) {
  uint8_t *to = cursor.element(PlaneKind::Codes, column) + 4 * cursor.row();
  for (int64_t k = 0; k < count; ++k, to += kUnitBytes * kQuads)
    std::memcpy(to, bytes + 4 * k, 4);
}

/// One 32-bit number for each group of |groupSize| columns.
void storeGroups(const RowCursor &cursor, PlaneKind kind, int64_t column,
                 const float *values, int64_t count, int64_t groupSize) {
  for (int64_t g = 0; g < count; ++g)
    std::memcpy(cursor.element(kind, column + g * groupSize) + 4 * cursor.row(),
                &values[g], 4);
}

//===----------------------------------------------------------------------===//
// Blocks: one row's block that begins at |column|
//===----------------------------------------------------------------------===//

void packQ8_0(const RowCursor &cursor, int64_t column, const uint8_t *block) {
  copyHalf(cursor.element(PlaneKind::Scales, column) + 2 * cursor.row(), block);
  storeCodes8(cursor, column, block + 2, 32);
}

void storeHalf(const RowCursor &cursor, PlaneKind kind, int64_t column,
               const uint8_t *half) {
  copyHalf(cursor.element(kind, column) + 2 * cursor.row(), half);
}

/// The 16 bytes of codes of 32 columns.
void storeNibbles(const RowCursor &cursor, int64_t column,
                  const uint8_t *bytes) {
  uint8_t codes[32];
  graph::splitNibbles(bytes, codes);
  storeCodes4(cursor, column, codes, 32);
}

/// Q4_0 and IQ4_NL.
void packQ4_0(const RowCursor &cursor, int64_t column, const uint8_t *block) {
  storeHalf(cursor, PlaneKind::Scales, column, block);
  storeNibbles(cursor, column, block + 2);
}

void packQ4_1(const RowCursor &cursor, int64_t column, const uint8_t *block) {
  storeHalf(cursor, PlaneKind::Scales, column, block);
  storeHalf(cursor, PlaneKind::Offsets, column, block + 2);
  storeNibbles(cursor, column, block + 4);
}

void packMxfp4(const RowCursor &cursor, int64_t column, const uint8_t *block) {
  cursor.element(PlaneKind::Scales, column)[cursor.row()] = block[0];
  storeNibbles(cursor, column, block + 1);
}

void packIq4Xs(const RowCursor &cursor, int64_t column, const uint8_t *block) {
  float scales[8];
  graph::splitIq4XsScales(block, scales);
  storeGroups(cursor, PlaneKind::Scales, column, scales, 8, 32);
  for (int64_t group = 0; group < 8; ++group)
    storeNibbles(cursor, column + 32 * group, block + 8 + 16 * group);
}

/// Scales and minimums of Q4_K and Q5_K.
void packKHeader(const RowCursor &cursor, int64_t column,
                 const uint8_t *block) {
  uint8_t *header = cursor.element(PlaneKind::Header, column);
  const unsigned row = static_cast<unsigned>(cursor.row());
  std::memcpy(header + 4 * row, block, 4); // d, dmin
  uint8_t scales[8], minimums[8];
  graph::unpackKScales(block + 4, scales, minimums);
  // Byte `row` of the words of two groups; the second's nibbles are the upper.
  for (unsigned j = 0; j < 8; ++j) {
    uint32_t scale = scales[j], minimum = minimums[j];
    unsigned pair = j / 2, shift = 8 * row + 4 * (j % 2);
    orU32(header + 4 * (4 + 2 * pair), (scale & 15) << shift);
    orU32(header + 4 * (5 + 2 * pair), (minimum & 15) << shift);
    orU32(header + 4 * (12 + pair), (scale >> 4 | minimum >> 4 << 2) << shift);
  }
}

void packQ4_K(const RowCursor &cursor, int64_t column, const uint8_t *block) {
  packKHeader(cursor, column, block);
  uint8_t codes[256];
  graph::splitQ4KOrQ5K(block, /*hasFifthBit=*/false, codes);
  storeCodes4(cursor, column, codes, 256);
}

void packQ5_K(const RowCursor &cursor, int64_t column, const uint8_t *block) {
  packKHeader(cursor, column, block);
  uint8_t codes[256];
  graph::splitQ4KOrQ5K(block, /*hasFifthBit=*/true, codes);
  storeCodes4(cursor, column, codes, 256);
  for (int g = 0; g < 8; ++g) {
    uint32_t word = 0;
    for (unsigned k = 0; k < 32; ++k) {
      unsigned o = k / 8, h = k / 4 % 2, b = k % 4;
      word |= static_cast<uint32_t>(codes[32 * g + k] >> 4)
              << (8 * b + 2 * o + h);
    }
    storeU32(cursor.element(PlaneKind::High, column + 32 * g) +
                 4 * cursor.row(),
             word);
  }
}

void packQ6_K(const RowCursor &cursor, int64_t column, const uint8_t *block) {
  uint8_t codes[256];
  graph::splitQ6K(block, codes);
  storeCodes4(cursor, column, codes, 256);
  for (int g = 0; g < 16; ++g) {
    uint32_t word = 0;
    for (unsigned k = 0; k < 16; ++k) {
      unsigned o = k / 8, h = k / 4 % 2, b = k % 4;
      word |= static_cast<uint32_t>(codes[16 * g + k] >> 4)
              << (8 * b + 2 * (2 * o + h));
    }
    int64_t group = column + 16 * g;
    storeU32(cursor.element(PlaneKind::High, group) + 4 * cursor.row(), word);
    cursor.element(PlaneKind::Sub, group)[cursor.row()] = block[192 + g];
  }
  copyHalf(cursor.element(PlaneKind::Super, column) + 2 * cursor.row(),
           block + 208);
}

/// Encodings whose blocks are taken apart into bytes.
void packBlockCodes(Encoding encoding, const RowCursor &cursor, int64_t column,
                    const uint8_t *block) {
  graph::BlockCodes codes;
  graph::splitBlock(encoding, block, codes);
  int64_t count = graph::encodingFacts(encoding).blockElements,
          numGroups = count / codes.groupColumns;
  storeCodes8(cursor, column, codes.codes, count);
  storeGroups(cursor, PlaneKind::Scales, column, codes.scales, numGroups,
              codes.groupColumns);
  if (encoding == Encoding::Q2_K || encoding == Encoding::Q5_1)
    storeGroups(cursor, PlaneKind::Offsets, column, codes.offsets, numGroups,
                codes.groupColumns);
}

//===----------------------------------------------------------------------===//
// llmc's own encodings
//===----------------------------------------------------------------------===//

/// |count| codes of two a byte, the even one low.
void storePairs(const RowCursor &cursor, int64_t column, const uint8_t *bytes,
                int64_t count) {
  for (int64_t k = 0; k < count; k += 8) {
    uint8_t codes[8];
    for (int64_t i = 0; i < 8; ++i)
      codes[i] = bytes[(k + i) / 2] >> 4 * (i % 2) & 15;
    storeCodes4(cursor, column + k, codes, 8);
  }
}

/// A block of I4_G32 and the like, with and without a zero point.
void packOwnBlock(Encoding encoding, const RowCursor &cursor, int64_t column,
                  const uint8_t *block, int64_t count) {
  storeHalf(cursor, PlaneKind::Scales, column, block);
  bool isAsymmetric = graph::isAsymmetric(encoding);
  if (isAsymmetric)
    storeHalf(cursor, PlaneKind::Zeros, column, block + 2);
  storePairs(cursor, column, block + (isAsymmetric ? 4 : 2), count);
}

/// A row of a channel encoding, |count| columns from |column| on.
void packChannel(Encoding encoding, const RowCursor &cursor, int64_t column,
                 const uint8_t *row, int64_t count) {
  const graph::EncodingFacts &facts = graph::encodingFacts(encoding);
  if (column == 0) {
    std::memcpy(cursor.element(PlaneKind::Scales, 0) + 4 * cursor.row(), row,
                4);
    if (graph::isAsymmetric(encoding))
      std::memcpy(cursor.element(PlaneKind::Zeros, 0) + 4 * cursor.row(),
                  row + 4, 4);
  }
  const uint8_t *codes =
      row + facts.blockBytes + column * facts.rowCodeBits / 8;
  if (facts.rowCodeBits == 8)
    storeCodes8(cursor, column, codes, count);
  else
    storePairs(cursor, column, codes, count);
}

/// One row's |count| columns from |column| on: a block, some plain numbers, or
/// of a channel encoding some of the row that begins at |bytes|.
void packColumns(Encoding encoding, const RowCursor &cursor, int64_t column,
                 const uint8_t *bytes, int64_t count) {
  switch (encoding) {
  case Encoding::F32:
    return storeCodes32(cursor, column, bytes, count);
  case Encoding::F16:
  case Encoding::BF16:
    return storeCodes16(cursor, column, bytes, count);
  case Encoding::Q8_0:
    return packQ8_0(cursor, column, bytes);
  case Encoding::Q4_0:
  case Encoding::IQ4_NL:
    return packQ4_0(cursor, column, bytes);
  case Encoding::Q4_K:
    return packQ4_K(cursor, column, bytes);
  case Encoding::Q5_K:
    return packQ5_K(cursor, column, bytes);
  case Encoding::Q6_K:
    return packQ6_K(cursor, column, bytes);
  case Encoding::Q4_1:
    return packQ4_1(cursor, column, bytes);
  case Encoding::IQ4_XS:
    return packIq4Xs(cursor, column, bytes);
  case Encoding::MXFP4:
    return packMxfp4(cursor, column, bytes);
  case Encoding::Q2_K:
  case Encoding::Q3_K:
  case Encoding::Q5_0:
  case Encoding::Q5_1:
  case Encoding::IQ2_XXS:
  case Encoding::IQ2_XS:
  case Encoding::IQ2_S:
  case Encoding::IQ3_XXS:
  case Encoding::IQ3_S:
  case Encoding::IQ1_S:
  case Encoding::IQ1_M:
  case Encoding::TQ1_0:
  case Encoding::TQ2_0:
    return packBlockCodes(encoding, cursor, column, bytes);
  case Encoding::I4_G32:
  case Encoding::I4_G64:
  case Encoding::I4_G128:
  case Encoding::I4_G32_ASYM:
  case Encoding::I4_G64_ASYM:
  case Encoding::I4_G128_ASYM:
    return packOwnBlock(encoding, cursor, column, bytes, count);
  case Encoding::I4_CHANNEL:
  case Encoding::I4_CHANNEL_ASYM:
  case Encoding::I8_CHANNEL:
  case Encoding::I8_CHANNEL_ASYM:
    return packChannel(encoding, cursor, column, bytes, count);
  }
}

} // namespace

WeightPacker::WeightPacker(Encoding encoding, const WeightLayout &layout,
                           const std::vector<graph::RowSource> &sources)
    : encoding(encoding), layout(layout), sources(sources) {}

int64_t WeightPacker::numTiles() const {
  return layout.name == "vector" ? 1 : layout.paddedRows / codegen::kTileRows;
}

/// The first byte of each row; rows of packed sources lie in `scratch`.
std::vector<const uint8_t *>
WeightPacker::rowsOfTile(int64_t tile, std::vector<uint8_t> &scratch,
                         std::optional<std::string> &problem) const {
  const int64_t first = tile * codegen::kTileRows,
                end = std::min(first + codegen::kTileRows, layout.rows),
                rowBytes = *graph::encodedSizeInBytes(encoding, layout.columns);
  std::vector<const uint8_t *> rows;
  int64_t sourceFirst = 0;
  for (const graph::RowSource &source : sources) {
    if (source.packing)
      scratch.resize(codegen::kTileRows * rowBytes);
    for (int64_t row = std::max(first, sourceFirst);
         row < std::min(end, sourceFirst + source.rows); ++row)
      rows.push_back(graph::encodedRow(
          source, encoding, layout.columns, row - sourceFirst,
          source.packing ? &scratch[(row - first) * rowBytes] : nullptr,
          problem));
    sourceFirst += source.rows;
  }
  assert(static_cast<int64_t>(rows.size()) == end - first);
  return rows;
}

std::optional<std::string> WeightPacker::packTile(int64_t tile,
                                                  uint8_t *packed) const {
  // Plain numbers are packed in runs as long as the largest blocks, so that the
  // units of all 16 rows stay in the cache until they are whole.
  constexpr int64_t kRun = 256;
  const graph::EncodingFacts &facts = graph::encodingFacts(encoding);
  const int64_t step = facts.blockElements <= 1 ? kRun : facts.blockElements;
  std::vector<uint8_t> scratch;
  std::optional<std::string> problem;
  const std::vector<const uint8_t *> rows = rowsOfTile(tile, scratch, problem);
  for (int64_t column = 0; column < layout.columns; column += step) {
    int64_t offset =
        facts.isRow() ? 0 : column / facts.blockElements * facts.blockBytes;
    int64_t count = std::min(step, layout.columns - column);
    for (size_t row = 0; row < rows.size(); ++row)
      packColumns(encoding,
                  RowCursor(layout, packed, tile, static_cast<int64_t>(row)),
                  column, rows[row] + offset, count);
  }
  return problem;
}

void WeightPacker::packVector(uint8_t *packed) const {
  for (const graph::RowSource &source : sources) {
    std::vector<float> values(source.rows);
    graph::decodeVector(source, encoding, values.data());
    std::memcpy(packed, values.data(), values.size() * sizeof(float));
    packed += values.size() * sizeof(float);
  }
}

std::optional<std::string> WeightPacker::packTiles(int64_t begin, int64_t end,
                                                   uint8_t *packed) const {
  if (layout.name == "vector") {
    packVector(packed);
    return std::nullopt;
  }
  for (int64_t tile = begin; tile < end; ++tile)
    if (auto problem = packTile(tile, packed))
      return problem;
  return std::nullopt;
}

} // namespace llmc::serialization
