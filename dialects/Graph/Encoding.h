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
// IQ2_XXS, 256 in 66: half d; eight pairs of u32, one a 32-group. The first
//   word's bytes are four indices into a grid of eight magnitudes each; the
//   second holds four sign words of 7 bits and, from bit 28, a scale s. The
//   eighth sign of a word is the parity of the other seven.
//   value d * (2 * s + 1) / 8 * (+- magnitude)

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
  /// The type number in a GGUF file.
  uint32_t ggmlType;
  /// Numbers in a block; a row is a multiple of it.
  int64_t blockElements;
  int64_t blockBytes;
};

/// All encodings, in the order of the enum.
llvm::ArrayRef<EncodingFacts> allEncodings();

const EncodingFacts &encodingFacts(Encoding encoding);

/// The encoding with a GGUF type number; none when llmc has no decoder for it.
std::optional<Encoding> encodingOfGgmlType(uint32_t ggmlType);

/// The usual name of a GGUF type number, of supported types and others
/// ("MXFP4"); "unknown" beyond the known ones.
std::string ggmlTypeName(uint32_t ggmlType);

/// "F32, F16, …": the supported encodings' usual names, for error messages.
std::string supportedEncodingNames();

/// Bytes of `numElements` numbers; none when they are negative, no whole number
/// of blocks, or beyond 2^63 - 1 bytes.
std::optional<int64_t> encodedSizeInBytes(Encoding encoding,
                                          int64_t numElements);

/// Decodes `numElements` numbers (a whole number of blocks) from `bytes` into
/// `result`. Every value is the exact formula above rounded once to float.
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

/// A Q2_K block as codes 0 … 3 and, per 16 of them, s = d * sc and o = -dmin *
/// m (both exact): value s * q + o.
void splitQ2K(const uint8_t *block, int8_t codes[256], float scales[16],
              float offsets[16]);

/// A Q3_K block as codes -4 … 3 and, per 16 of them, s = d * (sc - 32) (exact):
/// value s * q.
void splitQ3K(const uint8_t *block, int8_t codes[256], float scales[16]);

/// A Q6_K block's codes 0 … 63 (value d * sc * (q - 32)); scales and d stay in
/// the block, see above.
void splitQ6K(const uint8_t *block, uint8_t codes[256]);

/// A Q4_K (`hasFifthBit` false) or Q5_K block's codes, 0 … 15 or 0 … 31, in
/// element order.
void splitQ4KOrQ5K(const uint8_t *block, bool hasFifthBit, uint8_t codes[256]);

/// An IQ2_XXS block as signed codes (magnitudes 8, 25, 43) and, per 32 of them,
/// s = d * (2 * s4 + 1) / 8 (exact).
void splitIq2Xxs(const uint8_t *block, int8_t codes[256], float scales[8]);

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_ENCODING_H
