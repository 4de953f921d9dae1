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

/// q8_0 and q4_0: a half for 32 columns.
TestWeight makeRandomLegacy(const std::string &encoding, int rows, int columns,
                            Random &random) {
  bool isNibbles = encoding == "q4_0";
  TestWeight weight = emptyWeight(encoding, rows, columns);
  PlaneWriter codes(rows, columns, isNibbles ? 8 : 4, 16),
      scales(rows, columns, 32, 8);
  for (int row = 0; row < rows; ++row)
    for (int group = 0; group < columns / 32; ++group) {
      Half d = makeHalf(random.next());
      scales.putHalf(row, group * 32, d.bits);
      for (int k = group * 32; k < group * 32 + 32; ++k) {
        int code = isNibbles ? random.below(16) : random.below(256) - 128;
        isNibbles ? putNibble(codes, row, k, code)
                  : putByteCode(codes, row, k, code);
        weight.values[size_t(row) * columns + k] =
            double(d.value) * (isNibbles ? code - 8 : code);
      }
    }
  weight.planes = {codes.take(), scales.take()};
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
        header.put(row, first, 4 + j, 4 * r, scale & 15);
        header.put(row, first, 4 + j, 16 + 4 * r, minimum & 15);
        int pairShift = j % 2 * 16;
        header.put(row, first, 12 + j / 2, pairShift + 2 * r, scale >> 4);
        header.put(row, first, 12 + j / 2, pairShift + 8 + 2 * r, minimum >> 4);
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

/// The re-encodings: bytes with an f32 scale (and offset) for `groupColumns`.
TestWeight makeRandomBytes(const std::string &encoding, int rows, int columns,
                           int groupColumns, bool hasOffset, Random &random) {
  TestWeight weight = emptyWeight(encoding, rows, columns);
  PlaneWriter codes(rows, columns, 4, 16),
      scales(rows, columns, groupColumns, 16),
      offsets(rows, columns, groupColumns, 16);
  for (int row = 0; row < rows; ++row)
    for (int first = 0; first < columns; first += groupColumns) {
      float scale = static_cast<float>(random.below(1000) - 500) / 4096.0F;
      float offset = hasOffset
                         ? static_cast<float>(random.below(1000) - 500) / 512.0F
                         : 0.0F;
      scales.putFloat(row, first, scale);
      offsets.putFloat(row, first, offset);
      for (int k = first; k < first + groupColumns; ++k) {
        int code = random.below(100) - 50;
        putByteCode(codes, row, k, code);
        weight.values[size_t(row) * columns + k] =
            double(scale) * code + offset;
      }
    }
  weight.planes = {codes.take(), scales.take()};
  if (hasOffset)
    weight.planes.push_back(offsets.take());
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
  if (encoding == "q8_0" || encoding == "q4_0")
    return makeRandomLegacy(encoding, rows, columns, random);
  if (encoding == "q6_k")
    return makeRandomQ6K(rows, columns, random);
  if (encoding == "q2_k")
    return makeRandomBytes(encoding, rows, columns, 16, /*hasOffset=*/true,
                           random);
  if (encoding == "q3_k")
    return makeRandomBytes(encoding, rows, columns, 16, /*hasOffset=*/false,
                           random);
  if (encoding == "iq2_xxs")
    return makeRandomBytes(encoding, rows, columns, 32, /*hasOffset=*/false,
                           random);
  return makeRandomK45(encoding, rows, columns, random);
}

} // namespace llmc::test
