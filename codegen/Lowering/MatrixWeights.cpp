// SPDX-License-Identifier: Apache-2.0
//
// Decoding for matrix units. A code of at most eight bits is put under the
// exponent of 1024 in an f16, two columns of a word at a time, and 1024 (and
// what the format's codes are too large by) is subtracted: exact, and with no
// conversion. Scales that the file has as f16, times small integers at most,
// are applied in f16 too; others, which may be any f32, in f32.

#include "codegen/Lowering/MatrixWeights.h"

#include "codegen/Lowering/CodebookBytes.h"
#include "codegen/Lowering/PackedScales.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

namespace llmc::codegen {

namespace {

/// 1024 as an f16, in each half of a word: its last ten bits count units.
constexpr int64_t kExponents = 0x64006400;
constexpr double kExponent = 1024;
/// What signed bytes with their top bit turned are too large by.
constexpr int64_t kTopBits = 0x80808080;
constexpr int64_t kByteBias = 128;
constexpr int64_t kHeaderWords = 16;

bool isFloat(WeightFormat format) { return scaleGroupColumns(format) == 0; }

Value halves(KernelBuilder &b, double value) {
  return b.constant(b.f16x2(), value);
}

Value widenPair(KernelBuilder &b, Value f16x2) {
  return mlir::arith::ExtFOp::create(b, VectorType::get(2, b.getF32Type()),
                                     f16x2);
}

/// Two bytes (bits 0 … 7 and 16 … 23 of the word) as f16, `bias` less.
Value bytesToHalves(KernelBuilder &b, Value word, int64_t mask, int64_t bias) {
  Value bits = b.bitOr(b.bitAnd(word, mask), b.i32(kExponents));
  return b.sub(b.bitcastToHalf2(bits),
               halves(b, kExponent + static_cast<double>(bias)));
}

} // namespace

Value wordOfHalves(KernelBuilder &b, Value f16x2) {
  return mlir::spirv::BitcastOp::create(b, b.getI32Type(), f16x2);
}

Value packColumns(KernelBuilder &b, ArrayRef<Value> f32x4s, bool takesPairs) {
  SmallVector<Value> words;
  for (Value numbers : f32x4s)
    for (int64_t word : {0, 1}) {
      int64_t first = takesPairs ? word : 2 * word,
              second = takesPairs ? word + 2 : 2 * word + 1;
      words.push_back(
          wordOfHalves(b, b.narrow(b.vector({b.extract(numbers, first),
                                             b.extract(numbers, second)}))));
    }
  return b.vector(words);
}

Value pairColumns(KernelBuilder &b, Value words) {
  SmallVector<Value> pairs;
  for (int64_t first : {0, 2}) {
    Value low = b.extract(words, first), high = b.extract(words, first + 1);
    pairs.push_back(b.bitOr(b.bitAnd(low, 0xffff), b.shiftLeft(high, 16)));
    pairs.push_back(b.bitOr(b.shiftRight(low, 16), b.bitAnd(high, 0xffff0000)));
  }
  return b.vector(pairs);
}

//===----------------------------------------------------------------------===//
// Planes
//===----------------------------------------------------------------------===//

bool MatrixWeights::takesPairs(WeightFormat format) { return !isFloat(format); }

MatrixWeights::MatrixWeights(KernelUnit &unit, const WeightView &weight,
                             Value firstQuad)
    : unit(unit), b(unit.builder()), weight(weight), firstQuad(firstQuad) {
  for (const Plane &plane : layout().planes)
    switch (plane.kind) {
    case PlaneKind::Scales:
    case PlaneKind::Offsets:
    case PlaneKind::Zeros:
      bind(plane, packedScalesType(b, plane.bytesPerElement));
      break;
    case PlaneKind::Header:
      bind(plane, b.i32x4());
      headerPairs = bindAlso(plane.kind, b.i32x2());
      headerWords = bindAlso(plane.kind, b.getI32Type());
      break;
    case PlaneKind::Sub:
      bind(plane, b.getI32Type());
      break;
    case PlaneKind::Super:
      bind(plane, b.i32x2());
      break;
    case PlaneKind::High:
    case PlaneKind::Values:
    case PlaneKind::Codes:
      bind(plane, b.i32x4());
      break;
    }
}

Value MatrixWeights::bindAlso(PlaneKind kind, Type element) {
  return unit.bind(weight.plane(kind), element, program::Access::Read);
}

void MatrixWeights::bind(const Plane &plane, Type element) {
  int64_t perTile = layout().elementsPerTile(plane.kind);
  Value first = b.add(b.mul(b.div(firstQuad, kQuadsPerTile), perTile),
                      b.rem(firstQuad, kQuadsPerTile));
  planes.push_back({plane.kind, bindAlso(plane.kind, element),
                    plane.columnsPerElement, first});
}

Value MatrixWeights::elementOf(const BoundPlane &plane, Value column) {
  if (plane.columnsPerElement == layout().paddedColumns)
    return plane.first;
  return b.add(plane.first,
               b.mul(b.div(column, plane.columnsPerElement), kQuadsPerTile));
}

int64_t MatrixWeights::unitsPerChunk() const {
  return kChunkColumns / columnsPerUnit(layout().format);
}

SmallVector<Value> MatrixWeights::load(Value column, int64_t count) {
  SmallVector<Value> loaded;
  Value firstUnit = elementOf(planes.front(), column);
  for (int64_t i = 0; i < count * unitsPerChunk(); ++i)
    loaded.push_back(
        b.load(planes.front().memref, b.add(firstUnit, i * kQuadsPerTile)));
  for (const BoundPlane &plane : ArrayRef<BoundPlane>(planes).drop_front()) {
    Value element = elementOf(plane, column);
    if (plane.kind != PlaneKind::Header) {
      loaded.push_back(b.load(plane.memref, element));
      continue;
    }
    Value pair = b.div(b.rem(column, plane.columnsPerElement), 2 * 32);
    Value base = b.mul(element, kHeaderWords);
    loaded.push_back(b.load(plane.memref, b.div(base, 4)));
    loaded.push_back(
        b.load(headerPairs, b.add(b.div(base, 2), b.add(pair, 2))));
    loaded.push_back(b.load(headerWords, b.add(base, b.add(pair, 12))));
  }
  return loaded;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The header's words: d and dmin of each row, six-bit scales and minimums. The
/// products are one of an f16 and an integer each, rounded once; offsets are
/// negative minimums.
MatrixWeights::Scales MatrixWeights::kScales(ArrayRef<Value> header,
                                             Value column) {
  Value shift = b.toI32(b.mul(b.rem(b.div(column, 32), 2), 4));
  auto word = [&](Value stored) { return b.shiftRight(stored, shift); };
  auto [scales, minimums] =
      joinScalesAndMinimums(b,
                            {word(b.extract(header[1], 0)),
                             word(b.extract(header[1], 1)), word(header[2])},
                            0);
  Scales result;
  for (int64_t row = 0; row < 4; ++row) {
    Value minimum = row < 2 ? b.shiftLeft(minimums, 16 - 8 * row)
                            : b.shiftRight(minimums, 8 * row - 16);
    Value both = b.bitOr(b.bitAnd(b.shiftRight(scales, 8 * row), 0xff),
                         b.bitAnd(minimum, 0xff0000));
    Value factors = b.bitXor(b.extract(header[0], row), 0x80000000);
    Value product =
        b.mul(bytesToHalves(b, both, 0x00ff00ff, 0), b.bitcastToHalf2(factors));
    result.scales[row] = b.extract(product, 0);
    result.offsets[row] = b.extract(product, 1);
  }
  return result;
}

/// A signed byte and an f16 for each row.
MatrixWeights::Scales MatrixWeights::q6Scales(Value sub, Value super) {
  Value bytes = b.bitXor(sub, kTopBits);
  std::array<Value, 2> pairs = {
      bytesToHalves(b, bytes, 0x00ff00ff, kByteBias),
      bytesToHalves(b, b.shiftRight(bytes, 8), 0x00ff00ff, kByteBias)};
  Scales result;
  for (int64_t row = 0; row < 4; ++row)
    result.scales[row] =
        b.mul(b.extract(b.bitcastToHalf2(b.extract(super, row / 2)), row % 2),
              b.extract(pairs[row % 2], row / 2));
  return result;
}

MatrixWeights::Scales MatrixWeights::plainScales(ArrayRef<Value> loaded) {
  Scales result;
  for (auto [plane, element] :
       llvm::zip_equal(ArrayRef<BoundPlane>(planes).drop_front(), loaded)) {
    std::array<Value, 4> &numbers =
        plane.kind == PlaneKind::Scales  ? result.scales
        : plane.kind == PlaneKind::Zeros ? result.zeros
                                         : result.offsets;
    int64_t bytes = layout().plane(plane.kind).bytesPerElement;
    bool areHalves = bytes == 8;
    Value floats = areHalves ? Value() : unpackScales(b, element, bytes);
    for (int64_t row = 0; row < 4; ++row)
      numbers[row] =
          areHalves ? b.extract(b.bitcastToHalf2(b.extract(element, row / 2)),
                                row % 2)
                    : b.extract(floats, row);
  }
  return result;
}

MatrixWeights::Scales MatrixWeights::scalesOf(ArrayRef<Value> loaded,
                                              Value column, int64_t count) {
  ArrayRef<Value> others = loaded.drop_front(count * unitsPerChunk());
  if (isFloat(layout().format))
    return {};
  if (headerWords)
    return kScales(others, column);
  if (layout().format == WeightFormat::Q6_K)
    return q6Scales(others[1], others[2]);
  return plainScales(others);
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// A word has one column of two rows (16 bits) or of one.
Value MatrixWeights::floatColumns(ArrayRef<Value> units, int64_t row) {
  WeightFormat format = layout().format;
  SmallVector<Value> words;
  for (int64_t first = 0; first < kChunkColumns; first += 2) {
    if (format == WeightFormat::F32) {
      Value numbers = b.vector(
          {b.extract(units[first], row), b.extract(units[first + 1], row)});
      words.push_back(wordOfHalves(b, b.narrow(b.bitcastToF32(numbers))));
      continue;
    }
    Value low = b.extract(units[first / 2], row / 2),
          high = b.extract(units[first / 2], 2 + row / 2);
    if (format == WeightFormat::BF16) {
      auto toFloat = [&](Value word) {
        return row % 2 ? b.bitAnd(word, 0xffff0000) : b.shiftLeft(word, 16);
      };
      Value numbers = b.vector({toFloat(low), toFloat(high)});
      words.push_back(wordOfHalves(b, b.narrow(b.bitcastToF32(numbers))));
      continue;
    }
    words.push_back(
        row % 2 ? b.bitOr(b.shiftRight(low, 16), b.bitAnd(high, 0xffff0000))
                : b.bitOr(b.bitAnd(low, 0xffff), b.shiftLeft(high, 16)));
  }
  return b.vector(words);
}

Value MatrixWeights::byteCodes(Value word, Value high, int64_t half) {
  Value bytes = b.bitAnd(b.shiftRight(word, 4 * half), 0x0f0f0f0f);
  if (!high)
    return b.bitXor(codebookBytes(b, bytes, codebookOf(layout().format)),
                    kTopBits);
  bool isQ6 = layout().format == WeightFormat::Q6_K;
  Value top = b.bitAnd(b.shiftRight(high, (isQ6 ? 2 : 1) * half),
                       isQ6 ? 0x03030303 : 0x01010101);
  return b.bitOr(bytes, b.shiftLeft(top, 4));
}

/// Columns 0 and 2, 1 and 3.
std::array<Value, 2> MatrixWeights::codePairs(ArrayRef<Value> units, Value high,
                                              int64_t row, int64_t half) {
  WeightFormat format = layout().format;
  bool isByte = columnsPerUnit(format) == 4;
  Value word = b.extract(units[isByte ? half : 0], row);
  auto pairs = [&](Value bytes, int64_t firstBit, int64_t mask, int64_t bias) {
    auto pair = [&](int64_t shift) {
      return bytesToHalves(b, shift ? b.shiftRight(bytes, shift) : bytes, mask,
                           bias);
    };
    return std::array<Value, 2>{pair(firstBit), pair(firstBit + 8)};
  };
  if (isByte)
    return pairs(b.bitXor(word, kTopBits), 0, 0x00ff00ff, kByteBias);
  bool isCodebook = codebookOf(format) != Codebook::None;
  if (!high && !isCodebook)
    return pairs(word, 4 * half, 0x000f000f, codeBias(format));
  return pairs(byteCodes(word, high, half), 0, 0x00ff00ff,
               isCodebook ? kByteBias : codeBias(format));
}

/// Of two columns, as a word.
Value MatrixWeights::scaled(Value codes, const Scales &scales, int64_t row) {
  Value scale = scales.scales[row], offset = scales.offsets[row],
        zero = scales.zeros[row];
  bool isHalf = scale.getType().isF16();
  Value numbers = isHalf ? codes : widenPair(b, codes);
  if (zero)
    numbers = b.sub(numbers, b.splat(zero, 2));
  numbers = offset ? b.fma(numbers, b.splat(scale, 2), b.splat(offset, 2))
                   : b.mul(numbers, b.splat(scale, 2));
  return wordOfHalves(b, isHalf ? numbers : b.narrow(numbers));
}

Value MatrixWeights::decode(ArrayRef<Value> loaded, const Scales &scales,
                            Value column, int64_t count, int64_t chunk,
                            int64_t row) {
  ArrayRef<Value> units =
      loaded.slice(chunk * unitsPerChunk(), unitsPerChunk());
  if (isFloat(layout().format))
    return floatColumns(units, row);
  Value high;
  if (layout().format == WeightFormat::Q5_K ||
      layout().format == WeightFormat::Q6_K) {
    bool isQ6 = layout().format == WeightFormat::Q6_K;
    // The last of a Q5_K's planes, the first after a Q6_K's codes.
    Value words = isQ6 ? loaded[count * unitsPerChunk()] : loaded.back();
    int64_t bitsPerUnit = isQ6 ? 4 : 2,
            group = scaleGroupColumns(layout().format);
    Value number = b.div(b.rem(column, group), kChunkColumns);
    high = b.shiftRight(b.extract(words, row),
                        b.toI32(b.mul(b.add(number, chunk), bitsPerUnit)));
  }
  SmallVector<Value> words;
  for (int64_t half : {0, 1})
    for (Value pair : codePairs(units, high, row, half))
      words.push_back(scaled(pair, scales, row));
  return b.vector(words);
}

} // namespace llmc::codegen
