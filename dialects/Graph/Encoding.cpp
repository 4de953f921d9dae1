// SPDX-License-Identifier: Apache-2.0
//
// The facts and decoders of weight encodings; the formulas are in the header.

#include "dialects/Graph/Encoding.h"

#include <array>
#include <cassert>
#include <cstring>

namespace llmc::graph {

namespace {

constexpr std::array<EncodingFacts, 11> kEncodings = {{
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
}};

/// GGUF type numbers that llmc has no decoder for. Some were removed from
/// the format.
constexpr std::pair<uint32_t, const char *> kOtherGgmlTypes[] = {
    {3, "Q4_1"},
    {4, "Q4_2, removed"},
    {5, "Q4_3, removed"},
    {6, "Q5_0"},
    {7, "Q5_1"},
    {9, "Q8_1"},
    {15, "Q8_K"},
    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},
    {19, "IQ1_S"},
    {20, "IQ4_NL"},
    {21, "IQ3_S"},
    {22, "IQ2_S"},
    {23, "IQ4_XS"},
    {24, "I8"},
    {25, "I16"},
    {26, "I32"},
    {27, "I64"},
    {28, "F64"},
    {29, "IQ1_M"},
    {31, "Q4_0_4_4, removed"},
    {32, "Q4_0_4_8, removed"},
    {33, "Q4_0_8_8, removed"},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {36, "IQ4_NL_4_4, removed"},
    {37, "IQ4_NL_4_8, removed"},
    {38, "IQ4_NL_8_8, removed"},
    {39, "MXFP4"}};

/// The codebook of IQ2_XXS: magnitude k of entry e has index (kIq2XxsGrid[e] >>
/// 2k) & 3 into 8, 25, 43. The table is ggml's iq2xxs_grid (ggml-common.h) in
/// this packed form (kgrid_2bit_256 in ggml-quants.c).
constexpr uint16_t kIq2XxsGrid[256] = {
    0x0000, 0x0002, 0x0005, 0x0008, 0x000a, 0x0011, 0x0014, 0x0020, 0x0022,
    0x0028, 0x002a, 0x0041, 0x0044, 0x0050, 0x0058, 0x0061, 0x0064, 0x0080,
    0x0082, 0x008a, 0x00a2, 0x0101, 0x0104, 0x0110, 0x0115, 0x0140, 0x0184,
    0x0198, 0x0200, 0x0202, 0x0222, 0x0282, 0x0401, 0x0404, 0x0410, 0x0421,
    0x0424, 0x0440, 0x0442, 0x0448, 0x0460, 0x0481, 0x0484, 0x0490, 0x04a4,
    0x0500, 0x0502, 0x0508, 0x0520, 0x0546, 0x0569, 0x0580, 0x0591, 0x0609,
    0x0610, 0x0640, 0x0684, 0x06a4, 0x0800, 0x0805, 0x0808, 0x0814, 0x0828,
    0x0841, 0x0844, 0x0850, 0x0852, 0x0888, 0x0904, 0x0940, 0x0a02, 0x0a14,
    0x1001, 0x1004, 0x1010, 0x1021, 0x1040, 0x1060, 0x1084, 0x1090, 0x1095,
    0x1100, 0x1108, 0x1120, 0x1150, 0x115a, 0x1180, 0x1224, 0x1245, 0x1400,
    0x1408, 0x1420, 0x1425, 0x1449, 0x1480, 0x1518, 0x1562, 0x1600, 0x1616,
    0x1801, 0x1804, 0x1810, 0x1840, 0x1881, 0x1900, 0x1905, 0x19a0, 0x1a51,
    0x2000, 0x2002, 0x200a, 0x2044, 0x2061, 0x2080, 0x2082, 0x2129, 0x2148,
    0x2200, 0x2202, 0x2401, 0x2404, 0x2410, 0x2440, 0x2456, 0x2500, 0x2541,
    0x2564, 0x2690, 0x2808, 0x2820, 0x2894, 0x2a44, 0x4001, 0x4004, 0x4010,
    0x4018, 0x4021, 0x4024, 0x4040, 0x4048, 0x4056, 0x4060, 0x4081, 0x4084,
    0x4090, 0x4100, 0x4120, 0x4161, 0x4180, 0x4185, 0x4201, 0x4210, 0x4248,
    0x4256, 0x4268, 0x4400, 0x4408, 0x4420, 0x4480, 0x4499, 0x4512, 0x4524,
    0x4600, 0x4801, 0x4804, 0x4810, 0x4840, 0x4845, 0x4900, 0x4958, 0x4961,
    0x4982, 0x4a45, 0x4a90, 0x5000, 0x5008, 0x5011, 0x5019, 0x5020, 0x5080,
    0x5088, 0x5104, 0x5142, 0x51a4, 0x5291, 0x5490, 0x5492, 0x550a, 0x5601,
    0x5654, 0x5800, 0x5811, 0x5819, 0x5864, 0x5940, 0x5a08, 0x6004, 0x6010,
    0x6040, 0x6068, 0x6100, 0x6155, 0x6218, 0x6260, 0x6400, 0x6405, 0x6510,
    0x6512, 0x6584, 0x6842, 0x8000, 0x8002, 0x800a, 0x8041, 0x8082, 0x8104,
    0x8118, 0x8140, 0x8211, 0x8401, 0x8404, 0x8410, 0x8415, 0x8440, 0x8460,
    0x8500, 0x8546, 0x8594, 0x8609, 0x8640, 0x8660, 0x8802, 0x8904, 0x8a11,
    0x9004, 0x9010, 0x9024, 0x9040, 0x90a1, 0x9116, 0x9180, 0x9245, 0x9400,
    0x9422, 0x9444, 0x9551, 0x9881, 0x9920, 0xa002, 0xa050, 0xa085, 0xa109,
    0xa200, 0xa418, 0xa850, 0xa904,
};

constexpr int8_t kIq2XxsMagnitudes[3] = {8, 25, 43};

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

void dequantizeQ40(const uint8_t *block, float *result) {
  float d = loadHalf(block);
  for (int i = 0; i < 16; ++i) {
    result[i] = d * ((block[2 + i] & 15) - 8);
    result[i + 16] = d * ((block[2 + i] >> 4) - 8);
  }
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

void dequantizeQ2K(const uint8_t *block, float *result) {
  int8_t codes[256];
  float scales[16], offsets[16];
  splitQ2K(block, codes, scales, offsets);
  for (int i = 0; i < 256; ++i)
    result[i] = scales[i / 16] * codes[i] + offsets[i / 16];
}

void dequantizeQ3K(const uint8_t *block, float *result) {
  int8_t codes[256];
  float scales[16];
  splitQ3K(block, codes, scales);
  for (int i = 0; i < 256; ++i)
    result[i] = scales[i / 16] * codes[i];
}

void dequantizeIq2Xxs(const uint8_t *block, float *result) {
  int8_t codes[256];
  float scales[8];
  splitIq2Xxs(block, codes, scales);
  for (int i = 0; i < 256; ++i)
    result[i] = scales[i / 32] * codes[i];
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
    return dequantizeQ40(block, result);
  case Encoding::Q4_K:
    return dequantizeQ4KOrQ5K(block, /*hasFifthBit=*/false, result);
  case Encoding::Q5_K:
    return dequantizeQ4KOrQ5K(block, /*hasFifthBit=*/true, result);
  case Encoding::Q6_K:
    return dequantizeQ6K(block, result);
  case Encoding::Q2_K:
    return dequantizeQ2K(block, result);
  case Encoding::Q3_K:
    return dequantizeQ3K(block, result);
  case Encoding::IQ2_XXS:
    return dequantizeIq2Xxs(block, result);
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
    if (facts.ggmlType == ggmlType)
      return facts.encoding;
  return std::nullopt;
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
    names += (names.empty() ? "" : ", ") + std::string(facts.name);
  return names;
}

std::optional<int64_t> encodedSizeInBytes(Encoding encoding,
                                          int64_t numElements) {
  const EncodingFacts &facts = encodingFacts(encoding);
  if (numElements < 0 || numElements % facts.blockElements != 0)
    return std::nullopt;
  int64_t numBlocks = numElements / facts.blockElements;
  if (numBlocks > INT64_MAX / facts.blockBytes)
    return std::nullopt;
  return numBlocks * facts.blockBytes;
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

void splitQ2K(const uint8_t *block, int8_t codes[256], float scales[16],
              float offsets[16]) {
  const uint8_t *packed = block + 16;
  float d = loadHalf(block + 80), dmin = loadHalf(block + 82);
  for (int k = 0; k < 16; ++k) {
    scales[k] = d * (block[k] & 15);
    offsets[k] = -dmin * (block[k] >> 4);
  }
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, group = i % 128 / 32;
    codes[i] = packed[32 * half + i % 32] >> 2 * group & 3;
  }
}

void splitQ3K(const uint8_t *block, int8_t codes[256], float scales[16]) {
  const uint8_t *thirdBits = block, *packed = block + 32,
                *packedScales = block + 96;
  float d = loadHalf(block + 108);
  for (int k = 0; k < 16; ++k) {
    int low = packedScales[k % 8] >> 4 * (k / 8) & 15;
    int high = packedScales[8 + k % 4] >> 2 * (k / 4) & 3;
    scales[k] = d * ((low | high << 4) - 32);
  }
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, group = i % 128 / 32;
    int low = packed[32 * half + i % 32] >> 2 * group & 3;
    int third = thirdBits[i % 32] >> (4 * half + group) & 1;
    codes[i] = static_cast<int8_t>((low | third << 2) - 4);
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

void splitIq2Xxs(const uint8_t *block, int8_t codes[256], float scales[8]) {
  float d = loadHalf(block);
  for (int group = 0; group < 8; ++group) {
    const uint8_t *indices = block + 2 + 8 * group;
    uint32_t signsAndScale = loadU32(indices + 4);
    scales[group] = d * static_cast<float>(2 * (signsAndScale >> 28) + 1) / 8;
    for (int part = 0; part < 4; ++part) {
      uint32_t signs = signsAndScale >> 7 * part & 127;
      signs |= static_cast<uint32_t>(__builtin_parity(signs)) << 7;
      for (int k = 0; k < 8; ++k) {
        int8_t magnitude =
            kIq2XxsMagnitudes[kIq2XxsGrid[indices[part]] >> 2 * k & 3];
        codes[32 * group + 8 * part + k] =
            static_cast<int8_t>(signs >> k & 1 ? -magnitude : magnitude);
      }
    }
  }
}

void dequantizeRow(Encoding encoding, const uint8_t *bytes, int64_t numElements,
                   float *result) {
  const EncodingFacts &facts = encodingFacts(encoding);
  assert(numElements % facts.blockElements == 0 &&
         "a row is a whole number of blocks");
  for (int64_t i = 0; i < numElements;
       i += facts.blockElements, bytes += facts.blockBytes)
    dequantizeBlock(encoding, bytes, result + i);
}

} // namespace llmc::graph
