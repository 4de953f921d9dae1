// SPDX-License-Identifier: Apache-2.0
//
// Packing by the tables of docs/layouts.md, one bit field after another.

#include "test/e2e/support/TestWeight.h"

#include <cmath>
#include <cstring>

namespace llmc::test {

namespace {

int padded(int count, int multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

/// A plane [rows/16][columns/columnsPerElement][4 quads] of elements of some
/// 32-bit words.
class PlaneWriter {
public:
  PlaneWriter(int rows, int columns, int columnsPerElement, int elementBytes)
      : columnGroups(padded(columns, 4) / columnsPerElement),
        columnsPerElement(columnsPerElement), elementBytes(elementBytes),
        bytes(size_t(padded(rows, 16)) / 4 * columnGroups * elementBytes, 0) {}

  /// ORs `bits` in at bit `position` of word `word` of the element for (row's
  /// quad, column's group).
  void put(int row, int column, int word, int position, uint32_t bits) {
    size_t element =
        (size_t(row / 16) * columnGroups + column / columnsPerElement) * 4 +
        row % 16 / 4;
    uint8_t *at = &bytes[element * elementBytes + size_t(word) * 4];
    uint32_t old;
    std::memcpy(&old, at, 4);
    old |= bits << position;
    std::memcpy(at, &old, 4);
  }
  void putFloat(int row, int column, float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    put(row, column, row % 4, 0, bits);
  }
  /// Four halves in two words, that of row r at 16 * r.
  void putHalf(int row, int column, uint16_t half) {
    put(row, column, row % 4 / 2, row % 2 * 16, half);
  }
  std::vector<uint8_t> take() { return std::move(bytes); }

private:
  int columnGroups, columnsPerElement, elementBytes;
  std::vector<uint8_t> bytes;
};

/// Scales that f16 holds: (1 + m/16) * 2^e.
struct Half {
  uint16_t bits;
  float value;
};
Half makeHalf(uint32_t random) {
  int mantissa = static_cast<int>(random >> 8 & 15),
      exponent = -8 - static_cast<int>(random >> 16 & 3);
  float value =
      std::ldexp(1.0F + static_cast<float>(mantissa) / 16.0F, exponent);
  bool negative = random >> 31;
  auto bits = static_cast<uint16_t>((negative ? 0x8000 : 0) |
                                    (exponent + 15) << 10 | mantissa << 6);
  return {bits, negative ? -value : value};
}

class Random {
public:
  explicit Random(uint32_t seed) : state(seed * 747796405U + 2891336453U) {}
  uint32_t next() {
    state = state * 1664525U + 1013904223U;
    return state ^ state >> 16;
  }
  int below(int end) {
    return static_cast<int>((next() >> 4) % static_cast<uint32_t>(end));
  }

private:
  uint32_t state;
};

void putByteCode(PlaneWriter &codes, int row, int k, int code) {
  codes.put(row, k, row % 4, k % 4 * 8, static_cast<uint32_t>(code) & 255);
}

void putNibble(PlaneWriter &codes, int row, int k, int code) {
  int inUnit = k % 8, byte = inUnit % 4, half = inUnit / 4;
  codes.put(row, k, row % 4, 8 * byte + 4 * half, static_cast<uint32_t>(code));
}

TestWeight emptyWeight(const std::string &encoding, int rows, int columns) {
  return {
      encoding, rows, columns, {}, std::vector<double>(size_t(rows) * columns)};
}

TestWeight makeRandomDense(const std::string &encoding, int rows, int columns,
                           Random &random) {
  // Eight bits of mantissa: exact in bf16 too.
  return makeDenseWeight(encoding, rows, columns, [&](int, int) {
    return static_cast<float>(random.below(255) - 127) / 64.0F;
  });
}

/// Codes with a scale, and perhaps an offset or a zero point, for some columns.
struct GroupedFormat {
  const char *encoding;
  int bits;
  int group;  // columns that share a scale; 0: a row
  char scale; // 'h' f16, 'f' f32, 'e' 2^(byte - 128)
  char extra; // 'o' offset, 'z' zero point, '-' none; as wide as the scale
  double bias;
  const int *codebook;
};

constexpr int kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                          1,    13,   25,  38,  53,  69,  89,  113};
constexpr int kTwiceE2M1[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                0, -1, -2, -3, -4, -6, -8, -12};

constexpr GroupedFormat kGroupedFormats[] = {
    {"q8_0", 8, 32, 'h', '-', 0, nullptr},
    {"q4_0", 4, 32, 'h', '-', 8, nullptr},
    {"q4_1", 4, 32, 'h', 'o', 0, nullptr},
    {"q5_0", 8, 32, 'f', '-', 0, nullptr},
    {"q5_1", 8, 32, 'f', 'o', 0, nullptr},
    {"q2_k", 8, 16, 'f', 'o', 0, nullptr},
    {"q3_k", 8, 16, 'f', '-', 0, nullptr},
    {"iq2_xxs", 8, 32, 'f', '-', 0, nullptr},
    {"iq4_nl", 4, 32, 'h', '-', 0, kIq4},
    {"iq4_xs", 4, 32, 'f', '-', 0, kIq4},
    {"mxfp4", 4, 32, 'e', '-', 0, kTwiceE2M1},
    {"i4_g32", 4, 32, 'h', '-', 8, nullptr},
    {"i4_g64", 4, 64, 'h', '-', 8, nullptr},
    {"i4_g128", 4, 128, 'h', '-', 8, nullptr},
    {"i4_channel", 4, 0, 'f', '-', 8, nullptr},
    {"i4_g32_asym", 4, 32, 'h', 'z', 0, nullptr},
    {"i4_g64_asym", 4, 64, 'h', 'z', 0, nullptr},
    {"i4_g128_asym", 4, 128, 'h', 'z', 0, nullptr},
    {"i4_channel_asym", 4, 0, 'f', 'z', 0, nullptr},
    {"i8_channel", 8, 0, 'f', '-', 0, nullptr},
    {"i8_channel_asym", 8, 0, 'f', 'z', 0, nullptr},
};

/// Puts a pseudo-random scale or offset into its plane and gives its value.
double putRandomNumber(PlaneWriter &plane, int row, int column, char kind,
                       Random &random) {
  if (kind == 'h') {
    Half half = makeHalf(random.next());
    plane.putHalf(row, column, half.bits);
    return half.value;
  }
  if (kind == 'e') {
    int exponent = 118 + random.below(6);
    plane.put(row, column, 0, 8 * (row % 4), static_cast<uint32_t>(exponent));
    return std::ldexp(1.0, exponent - 128);
  }
  float value = static_cast<float>(random.below(1000) - 500) / 4096.0F;
  plane.putFloat(row, column, value);
  return value;
}

/// Whole numbers 0 … 15, of which f16 has the bits.
double putZeroPoint(PlaneWriter &plane, int row, int column, char kind,
                    Random &random) {
  int zero = 1 + random.below(15), exponent = 0;
  while (zero >> (exponent + 1) != 0)
    ++exponent;
  if (kind == 'h')
    plane.putHalf(row, column,
                  static_cast<uint16_t>((exponent + 15) << 10 |
                                        (zero << (10 - exponent) & 1023)));
  else
    plane.putFloat(row, column, static_cast<float>(zero));
  return zero;
}

int elementBytesOf(char kind) { return kind == 'h' ? 8 : kind == 'f' ? 16 : 4; }

TestWeight makeRandomGrouped(const GroupedFormat &format, int rows, int columns,
                             Random &random) {
  TestWeight weight = emptyWeight(format.encoding, rows, columns);
  bool isNibbles = format.bits == 4;
  int group = format.group != 0 ? format.group : columns,
      elementBytes = elementBytesOf(format.scale);
  PlaneWriter codes(rows, columns, isNibbles ? 8 : 4, 16),
      scales(rows, columns, group, elementBytes),
      extras(rows, columns, group, elementBytes);
  for (int row = 0; row < rows; ++row)
    for (int first = 0; first < columns; first += group) {
      double scale = putRandomNumber(scales, row, first, format.scale, random),
             offset = 0, zero = format.bias;
      if (format.extra == 'o')
        offset = putRandomNumber(extras, row, first, format.scale, random);
      if (format.extra == 'z')
        zero = putZeroPoint(extras, row, first, format.scale, random);
      for (int k = first; k < first + group; ++k) {
        int code = isNibbles ? random.below(16) : random.below(256) - 128;
        isNibbles ? putNibble(codes, row, k, code)
                  : putByteCode(codes, row, k, code);
        int number = format.codebook ? format.codebook[code] : code;
        weight.values[size_t(row) * columns + k] =
            scale * (number - zero) + offset;
      }
    }
  weight.planes = {codes.take(), scales.take()};
  if (format.extra != '-')
    weight.planes.push_back(extras.take());
  return weight;
}

/// q4_k and q5_k: d, dmin for 256 columns, six-bit scale and minimum for 32.
TestWeight makeRandomK45(const std::string &encoding, int rows, int columns,
                         Random &random) {
  bool hasFifth = encoding == "q5_k";
  TestWeight weight = emptyWeight(encoding, rows, columns);
  PlaneWriter codes(rows, columns, 8, 16), header(rows, columns, 256, 64),
      high(rows, columns, 32, 16);
  for (int row = 0; row < rows; ++row)
    for (int super = 0; super < columns / 256; ++super) {
      Half d = makeHalf(random.next()), dmin = makeHalf(random.next());
      int r = row % 4, first = super * 256;
      header.put(row, first, r, 0, d.bits);
      header.put(row, first, r, 16, dmin.bits);
      for (int j = 0; j < 8; ++j) {
        int scale = random.below(64), minimum = random.below(64);
        int pair = j / 2, bit = 8 * r + 4 * (j % 2);
        header.put(row, first, 4 + 2 * pair, bit, scale & 15);
        header.put(row, first, 5 + 2 * pair, bit, minimum & 15);
        header.put(row, first, 12 + pair, bit, scale >> 4 | minimum >> 4 << 2);
        for (int i = 0; i < 32; ++i) {
          int k = first + 32 * j + i, code = random.below(hasFifth ? 32 : 16);
          putNibble(codes, row, k, code & 15);
          int o = i / 8, h = i % 8 / 4, b = i % 4;
          high.put(row, k, r, 8 * b + 2 * o + h, code >> 4);
          weight.values[size_t(row) * columns + k] =
              double(d.value) * scale * code - double(dmin.value) * minimum;
        }
      }
    }
  weight.planes = {codes.take(), header.take()};
  if (hasFifth)
    weight.planes.push_back(high.take());
  return weight;
}

TestWeight makeRandomQ6K(int rows, int columns, Random &random) {
  TestWeight weight = emptyWeight("q6_k", rows, columns);
  PlaneWriter codes(rows, columns, 8, 16), high(rows, columns, 16, 16),
      sub(rows, columns, 16, 4), super(rows, columns, 256, 8);
  for (int row = 0; row < rows; ++row) {
    Half d{};
    for (int group = 0; group < columns / 16; ++group) {
      if (group % 16 == 0) {
        d = makeHalf(random.next());
        super.putHalf(row, group * 16, d.bits);
      }
      int scale = random.below(256) - 128, r = row % 4;
      sub.put(row, group * 16, 0, 8 * r, static_cast<uint32_t>(scale) & 255);
      for (int i = 0; i < 16; ++i) {
        int k = group * 16 + i, code = random.below(64);
        putNibble(codes, row, k, code & 15);
        int o = i / 8, h = i % 8 / 4, b = i % 4;
        high.put(row, k, r, 8 * b + 2 * (2 * o + h), code >> 4);
        weight.values[size_t(row) * columns + k] =
            double(d.value) * scale * (code - 32);
      }
    }
  }
  weight.planes = {codes.take(), high.take(), sub.take(), super.take()};
  return weight;
}

} // namespace

TestWeight makeDenseWeight(const std::string &encoding, int rows, int columns,
                           const std::function<float(int, int)> &number) {
  TestWeight weight = emptyWeight(encoding, rows, columns);
  bool isFloat = encoding == "f32";
  PlaneWriter codes(rows, columns, isFloat ? 1 : 2, 16);
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < columns; ++k) {
      float value = number(row, k);
      weight.values[size_t(row) * columns + k] = value;
      if (isFloat) {
        codes.putFloat(row, k, value);
        continue;
      }
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      uint32_t half = bits >> 16;
      if (encoding == "f16")
        half = value == 0 ? 0
                          : (bits >> 16 & 0x8000) |
                                (((bits >> 23 & 255) - 112) << 10) |
                                (bits >> 13 & 1023);
      int r = row % 4;
      codes.put(row, k, k % 2 * 2 + r / 2, r % 2 * 16, half);
    }
  weight.planes = {codes.take()};
  return weight;
}

TestWeight makeWholeQ8Weight(int rows, int columns,
                             const std::function<int(int, int)> &number) {
  TestWeight weight = emptyWeight("q8_0", rows, columns);
  PlaneWriter codes(rows, columns, 4, 16), scales(rows, columns, 32, 8);
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < columns; ++k) {
      weight.values[size_t(row) * columns + k] = number(row, k);
      putByteCode(codes, row, k, number(row, k));
      if (k % 32 == 0)
        scales.putHalf(row, k, 0x3c00);
    }
  weight.planes = {codes.take(), scales.take()};
  return weight;
}

TestWeight makeRandomWeight(const std::string &encoding, int rows, int columns,
                            uint32_t seed) {
  Random random(seed);
  if (encoding == "f32" || encoding == "f16" || encoding == "bf16")
    return makeRandomDense(encoding, rows, columns, random);
  for (const GroupedFormat &format : kGroupedFormats)
    if (encoding == format.encoding)
      return makeRandomGrouped(format, rows, columns, random);
  if (encoding == "q6_k")
    return makeRandomQ6K(rows, columns, random);
  return makeRandomK45(encoding, rows, columns, random);
}

} // namespace llmc::test
