// SPDX-License-Identifier: Apache-2.0
//
// How a weight's bytes encode numbers: the facts of each encoding and its
// decoder. Plain C++, no MLIR context.
//
// The formats are those of GGUF files (ggml's ggml-common.h and ggml-quants.c
// describe the same blocks). Numbers in a block are little-endian; "half" is an
// IEEE binary16. A row of a weight is a whole number of blocks. i counts a
// block's elements; for blocks of 256: h = i / 128, g = i % 128 / 32, l = i
// % 32.
//
// F32, F16, BF16: one number; BF16 is the upper half of a binary32.
// Q8_0, 32 elements in 34 bytes: half d; int8 q[32].
//   value d * q[i]
// Q4_0, 32 in 18: half d; u8 qs[16]. Element i < 16 is the low nibble of qs[i],
//   element i >= 16 the high nibble of qs[i - 16].
//   value d * (nibble - 8)
// Q4_K, 256 in 144: half d; half dmin; u8 scales[12]; u8 qs[128]. 32-group
//   j = i / 32 has six-bit scale sc and minimum m (see unpackKScales); its
//   codes are the low (j even) or high (j odd) nibbles of qs[32 * (j / 2) + l].
//   value d * sc * q - dmin * m
// Q5_K, 256 in 176: half d; half dmin; u8 scales[12]; u8 qh[32]; u8 qs[128].
//   As Q4_K, and bit j of qh[l] is the fifth bit of the code.
// Q6_K, 256 in 210: u8 ql[128]; u8 qh[64]; int8 sc[16]; half d. Low four bits:
//   nibble g / 2 of ql[64 * h + 32 * (g % 2) + l]; high two: bits 2 * g of
//   qh[32 * h + l].
//   value d * sc[i / 16] * (q - 32)
// Q2_K, 256 in 84: u8 s[16]; u8 qs[64]; half d; half dmin. q is bits 2 * g of
//   qs[32 * h + l]; s[i / 16] holds scale sc (low nibble) and minimum m (high).
//   value d * sc * q - dmin * m
// Q3_K, 256 in 110: u8 hmask[32]; u8 qs[64]; u8 s[12]; half d. Low two bits as
//   Q2_K; the third is bit 4 * h + g of hmask[l]. Scale k = i / 16 has six
//   bits: the low four are nibble k / 8 of s[k % 8], the high two bits 2 * (k /
//   4) of s[8 + k % 4]. value d * (sc - 32) * (q - 4)
// Q4_1, 32 in 20: half d; half m; u8 qs[16] as Q4_0. value d * nibble + m
// Q5_0, 32 in 22: half d; u32 qh; u8 qs[16]. As Q4_0, and bit i of qh is the
//   fifth bit of the code. value d * (q - 16)
// Q5_1, 32 in 24: half d; half m; u32 qh; u8 qs[16]. value d * q + m
// IQ4_NL, 32 in 18: as Q4_0, but a nibble is an index into kIq4Codes.
// IQ4_XS, 256 in 136: half d; u16 h; u8 s[4]; u8 qs[128]. Of 32-group j: sc is
//   nibble j % 2 of s[j / 2] with bits 2j, 2j + 1 of h above; codes as IQ4_NL
//   in qs[16 * j …]. value d * (sc - 32) * kIq4Codes[nibble]
// MXFP4, 32 in 17: u8 e; u8 qs[16] as Q4_0, indices into kMxfp4Codes.
//   value 2^(e - 128) * kMxfp4Codes[nibble]
// IQ2_XXS, 256 in 66: half d; eight pairs of u32, one a 32-group. The first
//   word's bytes are four indices into a grid of eight magnitudes each; the
//   second holds four sign words of 7 bits and, from bit 28, a scale s. The
//   eighth sign of a word is the parity of the other seven.
//   value d * (2 * s + 1) / 8 * (+- magnitude)
// IQ2_XS, 256 in 74: half d; u16 w[32]; u8 s[8]. Eight numbers a word: 9 bits
//   of index and 7 of signs, as above; nibble i / 16 of s is their scale.
// IQ2_S, 256 in 82: half d; u8 low[32]; u8 signs[32]; u8 high[8]; u8 s[8]. As
//   IQ2_XS, with two high bits of an index in `high` and all eight signs.
// IQ3_XXS, 256 in 98: half d; u8 index[64]; u32 w[8]: as IQ2_XXS' second words.
//   A grid entry has four magnitudes. value d * (2 * s + 1) / 4 * magnitude
// IQ3_S, 256 in 110: half d; u8 low[64]; u8 high[8]; u8 signs[32]; u8 s[4]: one
//   high bit of an index, a nibble of scale for 32. value d * (2 * s + 1) *
//   magnitude
// IQ1_S, 256 in 50: half d; u8 low[32]; u16 w[8]. Word j has the four high
//   parts (3 bits) of the indices of 32-group j, a scale s of 3 bits from bit
//   12 on, and the sign of the eighth. value d * (2 * s + 1) * (grid +- 1/8)
// IQ1_M, 256 in 56: u8 low[32]; u8 high[16]; u16 w[4]. A nibble of `high` for
//   eight numbers: 3 bits of index, the sign of the eighth. The words' top
//   nibbles are d; below them four scales of 3 bits, for 16 numbers each.
// TQ1_0, 256 in 54: u8 a[48]; u8 b[4]; half d: five (b: four) digits of base 3
//   a byte. value d * (digit - 1)
// TQ2_0, 256 in 66: u8 qs[64]; half d: two bits a digit. value d * (digit - 1)
//
// llmc's own, which no model file holds; weights are quantized to them, and
// other files' 4-bit formats repacked. "A channel" is a whole row.
// I4_G32, I4_G64, I4_G128: half d; u8 qs[G / 2], element 2i the low nibble of
//   byte i. value d * (nibble - 8)
// I4_G…_ASYM: half d; half z; qs. value d * (nibble - z)
// I4_CHANNEL, a row in 4 + K / 2 bytes: float d; qs. value d * (nibble - 8)
// I4_CHANNEL_ASYM, in 8 + K / 2: float d; float z; qs. value d * (nibble - z)
// I8_CHANNEL, in 4 + K: float d; int8 q[K]. value d * q
// I8_CHANNEL_ASYM, in 8 + K: float d; float z; int8 q[K]. value d * (q - z)

#ifndef LLMC_DIALECTS_GRAPH_ENCODING_H
#define LLMC_DIALECTS_GRAPH_ENCODING_H

#include "dialects/Graph/GraphEnums.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace llmc::graph {

/// What is constant for an encoding.
struct EncodingFacts {
  Encoding encoding;
  /// The usual name, as model files' names spell it: "Q4_K".
  const char *name;
  /// The type number in a GGUF file; kNoGgmlType for llmc's own.
  uint32_t ggmlType;
  /// Numbers in a block; a row is a multiple of it. 0: a row is one block.
  int64_t blockElements;
  /// Of a block; where a row is one, of what precedes its codes.
  int64_t blockBytes;
  /// Bits of a code where a row is one block, else 0. A row's codes are whole
  /// bytes.
  int64_t rowCodeBits = 0;

  bool isRow() const { return rowCodeBits != 0; }
};

inline constexpr uint32_t kNoGgmlType = ~0u;

/// All encodings, in the order of the enum.
llvm::ArrayRef<EncodingFacts> allEncodings();

const EncodingFacts &encodingFacts(Encoding encoding);

/// The encoding with a GGUF type number; none when llmc has no decoder for it.
std::optional<Encoding> encodingOfGgmlType(uint32_t ggmlType);

/// The usual name of a GGUF type number, of supported types and others
/// ("MXFP4"); "unknown" beyond the known ones.
std::string ggmlTypeName(uint32_t ggmlType);

/// "F32, F16, …": the usual names of a GGUF file's encodings, for error
/// messages.
std::string supportedEncodingNames();

/// The encoding of that name, in any case; none when there is no such.
std::optional<Encoding> encodingOfName(const std::string &name);

/// Whether the value is d * (q - z) with a stored zero point z.
bool isAsymmetric(Encoding encoding);

/// Bytes of `numElements` numbers; none when they are negative, no whole number
/// of blocks, or beyond 2^63 - 1 bytes. For an encoding whose rows are one
/// block each, the numbers are one row.
std::optional<int64_t> encodedSizeInBytes(Encoding encoding,
                                          int64_t numElements);

/// Bytes of `rows` rows of `columns` numbers; none when the rows are no whole
/// number of blocks, a count is negative, or the bytes exceed 2^63 - 1.
std::optional<int64_t> encodedSizeInBytes(Encoding encoding, int64_t rows,
                                          int64_t columns);

/// Decodes `numElements` numbers (a whole number of blocks; one row where a
/// row is a block) from `bytes` into `result`. Every value is the exact formula
/// above rounded once to float.
void dequantizeRow(Encoding encoding, const uint8_t *bytes, int64_t numElements,
                   float *result);

//===----------------------------------------------------------------------===//
// Parts of blocks, for repacking
//===----------------------------------------------------------------------===//

/// IEEE binary16 bits to float, exact; subnormals, infinities and NaN included.
float halfToFloat(uint16_t bits);

/// A little-endian 16-bit number.
inline uint16_t loadU16(const uint8_t *bytes) {
  return static_cast<uint16_t>(bytes[0] | bytes[1] << 8);
}

/// The twelve scale bytes of Q4_K and Q5_K as eight six-bit scales and eight
/// six-bit minimums: j < 4: sc = s[j] & 63, m = s[j + 4] & 63; j >= 4: sc = low
/// nibble of s[j + 4] with bits 6, 7 of s[j - 4] above, m = high nibble of s[j
/// + 4] with bits 6, 7 of s[j] above.
void unpackKScales(const uint8_t *bytes, uint8_t scales[8],
                   uint8_t minimums[8]);

/// A Q6_K block's codes 0 … 63 (value d * sc * (q - 32)); scales and d stay in
/// the block, see above.
void splitQ6K(const uint8_t *block, uint8_t codes[256]);

/// A Q4_K (`hasFifthBit` false) or Q5_K block's codes, 0 … 15 or 0 … 31, in
/// element order.
void splitQ4KOrQ5K(const uint8_t *block, bool hasFifthBit, uint8_t codes[256]);

/// The scales d * (sc - 32) of an IQ4_XS block's eight groups, exact.
void splitIq4XsScales(const uint8_t *block, float scales[8]);

/// 2^(e - 128), the scale of an MXFP4 block.
float mxfp4Scale(uint8_t exponent);

/// The nibbles of a Q4_0, Q4_1, IQ4_NL or MXFP4 block's 16 bytes of codes, in
/// element order.
void splitNibbles(const uint8_t *bytes, uint8_t codes[32]);

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_ENCODING_H
