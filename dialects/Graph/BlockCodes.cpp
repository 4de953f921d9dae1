// SPDX-License-Identifier: Apache-2.0
//
// One function for each format; bit positions are those of ggml-common.h.

#include "dialects/Graph/BlockCodes.h"

#include "dialects/Graph/Codebooks.h"
#include "dialects/Graph/Encoding.h"

#include <algorithm>
#include <cassert>

namespace llmc::graph {

namespace {

uint32_t loadU32(const uint8_t *bytes) {
  return loadU16(bytes) | static_cast<uint32_t>(loadU16(bytes + 2)) << 16;
}

float loadHalf(const uint8_t *bytes) { return halfToFloat(loadU16(bytes)); }

//===----------------------------------------------------------------------===//
// Two to five bits a code
//===----------------------------------------------------------------------===//

void splitQ2K(const uint8_t *block, BlockCodes &result) {
  const uint8_t *packed = block + 16;
  float d = loadHalf(block + 80), dmin = loadHalf(block + 82);
  for (int k = 0; k < 16; ++k) {
    result.scales[k] = d * static_cast<float>(block[k] & 15);
    result.offsets[k] = -dmin * static_cast<float>(block[k] >> 4);
  }
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, group = i % 128 / 32;
    result.codes[i] = packed[32 * half + i % 32] >> 2 * group & 3;
  }
}

void splitQ3K(const uint8_t *block, BlockCodes &result) {
  const uint8_t *thirdBits = block, *packed = block + 32,
                *packedScales = block + 96;
  float d = loadHalf(block + 108);
  for (int k = 0; k < 16; ++k) {
    int low = packedScales[k % 8] >> 4 * (k / 8) & 15;
    int high = packedScales[8 + k % 4] >> 2 * (k / 4) & 3;
    result.scales[k] = d * static_cast<float>((low | high << 4) - 32);
  }
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, group = i % 128 / 32;
    int low = packed[32 * half + i % 32] >> 2 * group & 3;
    int third = thirdBits[i % 32] >> (4 * half + group) & 1;
    result.codes[i] = static_cast<int8_t>((low | third << 2) - 4);
  }
}

/// Q5_0 and Q5_1: |bytes| are 4 of fifth bits and 16 of nibbles.
void splitFiveBits(const uint8_t *bytes, int bias, BlockCodes &result) {
  uint32_t fifthBits = loadU32(bytes);
  for (int i = 0; i < 32; ++i) {
    int low = bytes[4 + i % 16] >> 4 * (i / 16) & 15;
    int fifth = static_cast<int>(fifthBits >> i & 1);
    result.codes[i] = static_cast<int8_t>((low | fifth << 4) - bias);
  }
}

void splitQ50(const uint8_t *block, BlockCodes &result) {
  result.scales[0] = loadHalf(block);
  splitFiveBits(block + 2, 16, result);
}

void splitQ51(const uint8_t *block, BlockCodes &result) {
  result.scales[0] = loadHalf(block);
  result.offsets[0] = loadHalf(block + 2);
  splitFiveBits(block + 4, 0, result);
}

//===----------------------------------------------------------------------===//
// Ternary
//===----------------------------------------------------------------------===//

/// Digit |place| of the five (the first one is 0) of a byte, which is a number
/// of base 3 as a fraction of 256.
int8_t ternaryDigit(uint8_t byte, int place) {
  constexpr uint8_t kPowers[5] = {1, 3, 9, 27, 81};
  auto shifted = static_cast<uint8_t>(byte * kPowers[place]);
  return static_cast<int8_t>((shifted * 3 >> 8) - 1);
}

void splitTq10(const uint8_t *block, BlockCodes &result) {
  std::fill_n(result.scales, 8, loadHalf(block + 52));
  int8_t *to = result.codes;
  auto takeBytes = [&](int first, int count, int numDigits) {
    for (int place = 0; place < numDigits; ++place)
      for (int i = 0; i < count; ++i)
        *to++ = ternaryDigit(block[first + i], place);
  };
  takeBytes(0, 32, 5);
  takeBytes(32, 16, 5);
  takeBytes(48, 4, 4);
}

void splitTq20(const uint8_t *block, BlockCodes &result) {
  std::fill_n(result.scales, 8, loadHalf(block + 64));
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, group = i % 128 / 32;
    int digit = block[32 * half + i % 32] >> 2 * group & 3;
    result.codes[i] = static_cast<int8_t>(digit - 1);
  }
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

/// Eight signs in seven bits: the eighth is the parity of the others.
uint32_t withParity(uint32_t signs) {
  signs &= 127;
  return signs | static_cast<uint32_t>(__builtin_parity(signs)) << 7;
}

int8_t signedCode(int8_t magnitude, bool isNegative) {
  return static_cast<int8_t>(isNegative ? -magnitude : magnitude);
}

/// Eight numbers of a grid of two bits each.
void storeIq2(uint16_t entry, uint32_t signs, int8_t *to) {
  for (int k = 0; k < 8; ++k)
    to[k] = signedCode(kIq2Magnitudes[entry >> 2 * k & 3], signs >> k & 1);
}

/// Four numbers of a grid of three bits each.
void storeIq3(uint16_t entry, const int8_t *magnitudes, uint32_t signs,
              int8_t *to) {
  for (int k = 0; k < 4; ++k)
    to[k] = signedCode(magnitudes[entry >> 3 * k & 7], signs >> k & 1);
}

void splitIq2Xxs(const uint8_t *block, BlockCodes &result) {
  float d = loadHalf(block);
  for (int group = 0; group < 8; ++group) {
    const uint8_t *indices = block + 2 + 8 * group;
    uint32_t word = loadU32(indices + 4);
    result.scales[group] = d * static_cast<float>(2 * (word >> 28) + 1) / 8;
    for (int part = 0; part < 4; ++part)
      storeIq2(kIq2XxsGrid[indices[part]], withParity(word >> 7 * part),
               result.codes + 32 * group + 8 * part);
  }
}

/// IQ2_XS and IQ2_S: scale k of 16 is a nibble.
void splitIq2Scales(const uint8_t *nibbles, float d, BlockCodes &result) {
  for (int k = 0; k < 16; ++k) {
    int nibble = nibbles[k / 2] >> 4 * (k % 2) & 15;
    result.scales[k] = d * static_cast<float>(2 * nibble + 1) / 8;
  }
}

void splitIq2Xs(const uint8_t *block, BlockCodes &result) {
  splitIq2Scales(block + 66, loadHalf(block), result);
  for (int part = 0; part < 32; ++part) {
    uint16_t word = loadU16(block + 2 + 2 * part);
    storeIq2(kIq2XsGrid[word & 511], withParity(word >> 9),
             result.codes + 8 * part);
  }
}

void splitIq2S(const uint8_t *block, BlockCodes &result) {
  const uint8_t *low = block + 2, *signs = block + 34, *high = block + 66;
  splitIq2Scales(block + 74, loadHalf(block), result);
  for (int part = 0; part < 32; ++part) {
    int index = low[part] | (high[part / 4] >> 2 * (part % 4) & 3) << 8;
    storeIq2(kIq2SGrid[index], signs[part], result.codes + 8 * part);
  }
}

void splitIq3Xxs(const uint8_t *block, BlockCodes &result) {
  float d = loadHalf(block);
  for (int group = 0; group < 8; ++group) {
    const uint8_t *indices = block + 2 + 8 * group;
    uint32_t word = loadU32(block + 66 + 4 * group);
    result.scales[group] = d * static_cast<float>(2 * (word >> 28) + 1) / 4;
    for (int part = 0; part < 8; ++part)
      storeIq3(kIq3XxsGrid[indices[part]], kIq3XxsMagnitudes,
               withParity(word >> 7 * (part / 2)) >> 4 * (part % 2),
               result.codes + 32 * group + 4 * part);
  }
}

void splitIq3S(const uint8_t *block, BlockCodes &result) {
  const uint8_t *low = block + 2, *high = block + 66, *signs = block + 74,
                *scales = block + 106;
  float d = loadHalf(block);
  for (int group = 0; group < 8; ++group) {
    int nibble = scales[group / 2] >> 4 * (group % 2) & 15;
    result.scales[group] = d * static_cast<float>(2 * nibble + 1);
  }
  for (int part = 0; part < 64; ++part) {
    int index = low[part] | (high[part / 8] >> part % 8 & 1) << 8;
    storeIq3(kIq3SGrid[index], kIq3SMagnitudes,
             signs[part / 2] >> 4 * (part % 2), result.codes + 4 * part);
  }
}

/// Eight numbers of -1, 0, 1, each an eighth more or less: in eighths.
void storeIq1(int index, bool isLess, int8_t *to) {
  for (int k = 0; k < 8; ++k) {
    int number = (kIq1Grid[index] >> 2 * k & 3) - 1;
    to[k] = static_cast<int8_t>(8 * number + (isLess ? -1 : 1));
  }
}

void splitIq1S(const uint8_t *block, BlockCodes &result) {
  const uint8_t *low = block + 2, *high = block + 34;
  float d = loadHalf(block);
  for (int group = 0; group < 8; ++group) {
    uint16_t word = loadU16(high + 2 * group);
    result.scales[group] = d * static_cast<float>(2 * (word >> 12 & 7) + 1) / 8;
    for (int part = 0; part < 4; ++part) {
      int index = low[4 * group + part] | (word >> 3 * part & 7) << 8;
      storeIq1(index, word >> 15, result.codes + 32 * group + 8 * part);
    }
  }
}

void splitIq1M(const uint8_t *block, BlockCodes &result) {
  const uint8_t *low = block, *high = block + 32, *scales = block + 48;
  uint32_t bits = 0; // of d: the top nibbles of the four words of scales
  for (int word = 0; word < 4; ++word)
    bits |= static_cast<uint32_t>(loadU16(scales + 2 * word) >> 12) << 4 * word;
  float d = halfToFloat(static_cast<uint16_t>(bits));
  for (int k = 0; k < 16; ++k) {
    int scale = loadU16(scales + 2 * (k / 4)) >> 3 * (k % 4) & 7;
    result.scales[k] = d * static_cast<float>(2 * scale + 1) / 8;
  }
  for (int part = 0; part < 32; ++part) {
    int nibble = high[part / 2] >> 4 * (part % 2) & 15;
    storeIq1(low[part] | (nibble & 7) << 8, nibble >> 3,
             result.codes + 8 * part);
  }
}

} // namespace

std::optional<int64_t> blockCodesGroup(Encoding encoding) {
  switch (encoding) {
  case Encoding::Q2_K:
  case Encoding::Q3_K:
  case Encoding::IQ2_XS:
  case Encoding::IQ2_S:
  case Encoding::IQ1_M:
    return 16;
  case Encoding::Q5_0:
  case Encoding::Q5_1:
  case Encoding::IQ2_XXS:
  case Encoding::IQ3_XXS:
  case Encoding::IQ3_S:
  case Encoding::IQ1_S:
  case Encoding::TQ1_0:
  case Encoding::TQ2_0:
    return 32;
  default:
    return std::nullopt;
  }
}

void splitBlock(Encoding encoding, const uint8_t *block, BlockCodes &result) {
  assert(blockCodesGroup(encoding) && "the encoding has no BlockCodes");
  result.groupColumns = *blockCodesGroup(encoding);
  std::fill_n(result.offsets, 16, 0.0f);
  switch (encoding) {
  case Encoding::Q2_K:
    return splitQ2K(block, result);
  case Encoding::Q3_K:
    return splitQ3K(block, result);
  case Encoding::Q5_0:
    return splitQ50(block, result);
  case Encoding::Q5_1:
    return splitQ51(block, result);
  case Encoding::IQ2_XXS:
    return splitIq2Xxs(block, result);
  case Encoding::IQ2_XS:
    return splitIq2Xs(block, result);
  case Encoding::IQ2_S:
    return splitIq2S(block, result);
  case Encoding::IQ3_XXS:
    return splitIq3Xxs(block, result);
  case Encoding::IQ3_S:
    return splitIq3S(block, result);
  case Encoding::IQ1_S:
    return splitIq1S(block, result);
  case Encoding::IQ1_M:
    return splitIq1M(block, result);
  case Encoding::TQ1_0:
    return splitTq10(block, result);
  case Encoding::TQ2_0:
    return splitTq20(block, result);
  default:
    return;
  }
}

} // namespace llmc::graph
