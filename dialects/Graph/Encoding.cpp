// SPDX-License-Identifier: Apache-2.0
//
// The facts and decoders of weight encodings; the formulas are in the header.

#include "dialects/Graph/Encoding.h"

#include "dialects/Graph/BlockCodes.h"
#include "dialects/Graph/Codebooks.h"

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

namespace llmc::graph {

namespace {

constexpr EncodingFacts kEncodings[] = {
    {Encoding::F32, "F32", 0, 1, 4},
    {Encoding::F16, "F16", 1, 1, 2},
    {Encoding::BF16, "BF16", 30, 1, 2},
    {Encoding::Q8_0, "Q8_0", 8, 32, 34},
    {Encoding::Q4_0, "Q4_0", 2, 32, 18},
    {Encoding::Q4_K, "Q4_K", 12, 256, 144},
    {Encoding::Q5_K, "Q5_K", 13, 256, 176},
    {Encoding::Q6_K, "Q6_K", 14, 256, 210},
    {Encoding::Q2_K, "Q2_K", 10, 256, 84},
    {Encoding::Q3_K, "Q3_K", 11, 256, 110},
    {Encoding::IQ2_XXS, "IQ2_XXS", 16, 256, 66},
    {Encoding::Q4_1, "Q4_1", 3, 32, 20},
    {Encoding::Q5_0, "Q5_0", 6, 32, 22},
    {Encoding::Q5_1, "Q5_1", 7, 32, 24},
    {Encoding::IQ2_XS, "IQ2_XS", 17, 256, 74},
    {Encoding::IQ2_S, "IQ2_S", 22, 256, 82},
    {Encoding::IQ3_XXS, "IQ3_XXS", 18, 256, 98},
    {Encoding::IQ3_S, "IQ3_S", 21, 256, 110},
    {Encoding::IQ1_S, "IQ1_S", 19, 256, 50},
    {Encoding::IQ1_M, "IQ1_M", 29, 256, 56},
    {Encoding::IQ4_NL, "IQ4_NL", 20, 32, 18},
    {Encoding::IQ4_XS, "IQ4_XS", 23, 256, 136},
    {Encoding::MXFP4, "MXFP4", 39, 32, 17},
    {Encoding::TQ1_0, "TQ1_0", 34, 256, 54},
    {Encoding::TQ2_0, "TQ2_0", 35, 256, 66},
    {Encoding::I4_G32, "I4_G32", kNoGgmlType, 32, 18},
    {Encoding::I4_G64, "I4_G64", kNoGgmlType, 64, 34},
    {Encoding::I4_G128, "I4_G128", kNoGgmlType, 128, 66},
    {Encoding::I4_CHANNEL, "I4_CHANNEL", kNoGgmlType, 0, 4, 4},
    {Encoding::I4_G32_ASYM, "I4_G32_ASYM", kNoGgmlType, 32, 20},
    {Encoding::I4_G64_ASYM, "I4_G64_ASYM", kNoGgmlType, 64, 36},
    {Encoding::I4_G128_ASYM, "I4_G128_ASYM", kNoGgmlType, 128, 68},
    {Encoding::I4_CHANNEL_ASYM, "I4_CHANNEL_ASYM", kNoGgmlType, 0, 8, 4},
    {Encoding::I8_CHANNEL, "I8_CHANNEL", kNoGgmlType, 0, 4, 8},
    {Encoding::I8_CHANNEL_ASYM, "I8_CHANNEL_ASYM", kNoGgmlType, 0, 8, 8},
};

/// GGUF type numbers that llmc has no decoder for. Some were removed from
/// the format.
constexpr std::pair<uint32_t, const char *> kOtherGgmlTypes[] = {
    {4, "Q4_2, removed"},
    {5, "Q4_3, removed"},
    {9, "Q8_1"},
    {15, "Q8_K"},
    {24, "I8"},
    {25, "I16"},
    {26, "I32"},
    {27, "I64"},
    {28, "F64"},
    {31, "Q4_0_4_4, removed"},
    {32, "Q4_0_4_8, removed"},
    {33, "Q4_0_8_8, removed"},
    {36, "IQ4_NL_4_4, removed"},
    {37, "IQ4_NL_4_8, removed"},
    {38, "IQ4_NL_8_8, removed"},
    {40, "NVFP4"},
    {41, "Q1_0"}};

uint32_t loadU32(const uint8_t *bytes) {
  return loadU16(bytes) | static_cast<uint32_t>(loadU16(bytes + 2)) << 16;
}

float bitsToFloat(uint32_t bits) {
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

float loadHalf(const uint8_t *bytes) { return halfToFloat(loadU16(bytes)); }

void dequantizeQ80(const uint8_t *block, float *result) {
  float d = loadHalf(block);
  for (int i = 0; i < 32; ++i)
    result[i] = d * static_cast<int8_t>(block[2 + i]);
}

/// d * (code of the nibble) + m; |codes| has a number for each nibble.
void dequantizeNibbles(const uint8_t *bytes, const int8_t *codes, float d,
                       float m, float *result) {
  uint8_t nibbles[32];
  splitNibbles(bytes, nibbles);
  for (int i = 0; i < 32; ++i)
    result[i] = d * static_cast<float>(codes[nibbles[i]]) + m;
}

constexpr int8_t kNibbles[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                 8, 9, 10, 11, 12, 13, 14, 15};
constexpr int8_t kCentredNibbles[16] = {-8, -7, -6, -5, -4, -3, -2, -1,
                                        0,  1,  2,  3,  4,  5,  6,  7};

void dequantizeIq4Xs(const uint8_t *block, float *result) {
  float scales[8];
  splitIq4XsScales(block, scales);
  for (int group = 0; group < 8; ++group)
    dequantizeNibbles(block + 8 + 16 * group, kIq4Codes, scales[group], 0,
                      result + 32 * group);
}

void dequantizeQ4KOrQ5K(const uint8_t *block, bool hasFifthBit, float *result) {
  float d = loadHalf(block), dmin = loadHalf(block + 2);
  uint8_t scales[8], minimums[8], codes[256];
  unpackKScales(block + 4, scales, minimums);
  splitQ4KOrQ5K(block, hasFifthBit, codes);
  for (int i = 0; i < 256; ++i)
    result[i] = d * scales[i / 32] * codes[i] - dmin * minimums[i / 32];
}

void dequantizeQ6K(const uint8_t *block, float *result) {
  float d = loadHalf(block + 208);
  uint8_t codes[256];
  splitQ6K(block, codes);
  for (int i = 0; i < 256; ++i)
    result[i] = d * static_cast<int8_t>(block[192 + i / 16]) * (codes[i] - 32);
}

void dequantizeBlockCodes(Encoding encoding, const uint8_t *block,
                          float *result) {
  BlockCodes codes;
  splitBlock(encoding, block, codes);
  for (int64_t i = 0; i < encodingFacts(encoding).blockElements; ++i) {
    int64_t group = i / codes.groupColumns;
    result[i] = codes.scales[group] * static_cast<float>(codes.codes[i]) +
                codes.offsets[group];
  }
}

/// A block of an own encoding, of |count| numbers: scale, zero point, codes.
void dequantizeOwn(Encoding encoding, const uint8_t *bytes, int64_t count,
                   float *result) {
  const EncodingFacts &facts = encodingFacts(encoding);
  const bool isByte = facts.rowCodeBits == 8;
  auto number = [&](int64_t place) {
    return facts.isRow() ? bitsToFloat(loadU32(bytes + 4 * place))
                         : loadHalf(bytes + 2 * place);
  };
  double d = number(0), z = isByte ? 0 : 8;
  int64_t at = facts.isRow() ? 4 : 2;
  if (isAsymmetric(encoding)) {
    z = number(1);
    at *= 2;
  }
  for (int64_t i = 0; i < count; ++i) {
    int q = isByte ? static_cast<int8_t>(bytes[at + i])
                   : bytes[at + i / 2] >> 4 * (i % 2) & 15;
    result[i] = static_cast<float>(d * (q - z));
  }
}

/// Decodes one block (one number for the plain encodings).
void dequantizeBlock(Encoding encoding, const uint8_t *block, float *result) {
  switch (encoding) {
  case Encoding::F32:
    *result = bitsToFloat(loadU32(block));
    return;
  case Encoding::F16:
    *result = loadHalf(block);
    return;
  case Encoding::BF16:
    *result = bitsToFloat(static_cast<uint32_t>(loadU16(block)) << 16);
    return;
  case Encoding::Q8_0:
    return dequantizeQ80(block, result);
  case Encoding::Q4_0:
    return dequantizeNibbles(block + 2, kCentredNibbles, loadHalf(block), 0,
                             result);
  case Encoding::Q4_1:
    return dequantizeNibbles(block + 4, kNibbles, loadHalf(block),
                             loadHalf(block + 2), result);
  case Encoding::IQ4_NL:
    return dequantizeNibbles(block + 2, kIq4Codes, loadHalf(block), 0, result);
  case Encoding::MXFP4:
    return dequantizeNibbles(block + 1, kMxfp4Codes, mxfp4Scale(block[0]), 0,
                             result);
  case Encoding::IQ4_XS:
    return dequantizeIq4Xs(block, result);
  case Encoding::Q4_K:
    return dequantizeQ4KOrQ5K(block, /*hasFifthBit=*/false, result);
  case Encoding::Q5_K:
    return dequantizeQ4KOrQ5K(block, /*hasFifthBit=*/true, result);
  case Encoding::Q6_K:
    return dequantizeQ6K(block, result);
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
    return dequantizeBlockCodes(encoding, block, result);
  case Encoding::I4_G32:
  case Encoding::I4_G64:
  case Encoding::I4_G128:
  case Encoding::I4_G32_ASYM:
  case Encoding::I4_G64_ASYM:
  case Encoding::I4_G128_ASYM:
    return dequantizeOwn(encoding, block, encodingFacts(encoding).blockElements,
                         result);
  case Encoding::I4_CHANNEL:
  case Encoding::I4_CHANNEL_ASYM:
  case Encoding::I8_CHANNEL:
  case Encoding::I8_CHANNEL_ASYM:
    return; // whole rows, see dequantizeRow
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

llvm::ArrayRef<EncodingFacts> allEncodings() { return kEncodings; }

const EncodingFacts &encodingFacts(Encoding encoding) {
  return kEncodings[static_cast<size_t>(encoding)];
}

std::optional<Encoding> encodingOfGgmlType(uint32_t ggmlType) {
  for (const EncodingFacts &facts : kEncodings)
    if (facts.ggmlType == ggmlType && ggmlType != kNoGgmlType)
      return facts.encoding;
  return std::nullopt;
}

std::optional<Encoding> encodingOfName(const std::string &name) {
  for (const EncodingFacts &facts : kEncodings)
    if (llvm::StringRef(facts.name).equals_insensitive(name))
      return facts.encoding;
  return std::nullopt;
}

bool isAsymmetric(Encoding encoding) {
  switch (encoding) {
  case Encoding::I4_G32_ASYM:
  case Encoding::I4_G64_ASYM:
  case Encoding::I4_G128_ASYM:
  case Encoding::I4_CHANNEL_ASYM:
  case Encoding::I8_CHANNEL_ASYM:
    return true;
  default:
    return false;
  }
}

std::string ggmlTypeName(uint32_t ggmlType) {
  if (std::optional<Encoding> encoding = encodingOfGgmlType(ggmlType))
    return encodingFacts(*encoding).name;
  for (auto [number, name] : kOtherGgmlTypes)
    if (number == ggmlType)
      return name;
  return "unknown";
}

std::string supportedEncodingNames() {
  std::string names;
  for (const EncodingFacts &facts : kEncodings)
    if (facts.ggmlType != kNoGgmlType)
      names += (names.empty() ? "" : ", ") + std::string(facts.name);
  return names;
}

std::optional<int64_t> encodedSizeInBytes(Encoding encoding,
                                          int64_t numElements) {
  const EncodingFacts &facts = encodingFacts(encoding);
  if (facts.isRow()) {
    if (numElements < 0 || numElements > INT64_MAX / 8 - facts.blockBytes ||
        numElements * facts.rowCodeBits % 8 != 0)
      return std::nullopt;
    return facts.blockBytes + numElements * facts.rowCodeBits / 8;
  }
  if (numElements < 0 || numElements % facts.blockElements != 0)
    return std::nullopt;
  int64_t numBlocks = numElements / facts.blockElements;
  if (numBlocks > INT64_MAX / facts.blockBytes)
    return std::nullopt;
  return numBlocks * facts.blockBytes;
}

std::optional<int64_t> encodedSizeInBytes(Encoding encoding, int64_t rows,
                                          int64_t columns) {
  std::optional<int64_t> rowBytes = encodedSizeInBytes(encoding, columns);
  if (!rowBytes || rows < 0 || (*rowBytes != 0 && rows > INT64_MAX / *rowBytes))
    return std::nullopt;
  return rows * *rowBytes;
}

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

float halfToFloat(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31)
    return bitsToFloat(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0)
    return bitsToFloat(sign | (exponent + 112) << 23 | mantissa << 13);
  float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

void unpackKScales(const uint8_t *bytes, uint8_t scales[8],
                   uint8_t minimums[8]) {
  for (int j = 0; j < 4; ++j) {
    scales[j] = bytes[j] & 63;
    minimums[j] = bytes[j + 4] & 63;
    scales[j + 4] = (bytes[j + 8] & 15) | bytes[j] >> 6 << 4;
    minimums[j + 4] = bytes[j + 8] >> 4 | bytes[j + 4] >> 6 << 4;
  }
}

void splitQ6K(const uint8_t *block, uint8_t codes[256]) {
  const uint8_t *lowBits = block, *highBits = block + 128;
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, group = i % 128 / 32, l = i % 32;
    int low = lowBits[64 * half + 32 * (group % 2) + l] >> 4 * (group / 2) & 15;
    int high = highBits[32 * half + l] >> 2 * group & 3;
    codes[i] = static_cast<uint8_t>(low | high << 4);
  }
}

void splitQ4KOrQ5K(const uint8_t *block, bool hasFifthBit, uint8_t codes[256]) {
  const uint8_t *fifthBits = block + 16,
                *packed = block + (hasFifthBit ? 48 : 16);
  for (int i = 0; i < 256; ++i) {
    int group = i / 32, l = i % 32;
    int low = packed[32 * (group / 2) + l] >> 4 * (group % 2) & 15;
    int fifth = hasFifthBit ? fifthBits[l] >> group & 1 : 0;
    codes[i] = static_cast<uint8_t>(low | fifth << 4);
  }
}

void splitIq4XsScales(const uint8_t *block, float scales[8]) {
  float d = loadHalf(block);
  uint32_t high = loadU16(block + 2);
  for (int j = 0; j < 8; ++j) {
    int scale = block[4 + j / 2] >> 4 * (j % 2) & 15;
    scale |= static_cast<int>(high >> 2 * j & 3) << 4;
    scales[j] = d * static_cast<float>(scale - 32);
  }
}

float mxfp4Scale(uint8_t exponent) { return std::ldexp(1.0f, exponent - 128); }

void splitNibbles(const uint8_t *bytes, uint8_t codes[32]) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = bytes[i] & 15;
    codes[i + 16] = bytes[i] >> 4;
  }
}

void dequantizeRow(Encoding encoding, const uint8_t *bytes, int64_t numElements,
                   float *result) {
  const EncodingFacts &facts = encodingFacts(encoding);
  if (facts.isRow())
    return dequantizeOwn(encoding, bytes, numElements, result);
  assert(numElements % facts.blockElements == 0 &&
         "a row is a whole number of blocks");
  for (int64_t i = 0; i < numElements;
       i += facts.blockElements, bytes += facts.blockBytes)
    dequantizeBlock(encoding, bytes, result + i);
}

} // namespace llmc::graph
