// SPDX-License-Identifier: Apache-2.0
//
// Decoding for the GEMM kernels. Packed codes are signed bytes, centred on zero
// where the format allows, some times a power of two that sums are divided by;
// shifted ones are unsigned.

#include "codegen/Lowering/GemmWeights.h"

#include "codegen/Lowering/CodebookBytes.h"
#include "codegen/Lowering/PackedScales.h"

namespace llmc::codegen {

//===----------------------------------------------------------------------===//
// Planes
//===----------------------------------------------------------------------===//

GemmWeights::GemmWeights(KernelUnit &unit, const WeightView &weight,
                         Value firstQuad, int64_t numQuads, CodeForm form)
    : unit(unit), b(unit.builder()), weight(weight), firstQuad(firstQuad),
      numQuads(numQuads), form(form),
      hasBytes(unit.getContext().getConfig().getDecode() == "bytes") {
  codes = bind(PlaneKind::Codes, b.i32x4());
  for (const Plane &plane : layout().planes)
    switch (plane.kind) {
    case PlaneKind::Scales:
      scales = bind(plane.kind, packedScalesType(b, plane.bytesPerElement));
      break;
    case PlaneKind::Offsets:
    case PlaneKind::Zeros:
      offsets = bind(plane.kind, packedScalesType(b, plane.bytesPerElement));
      break;
    case PlaneKind::Header:
      header = bind(plane.kind, b.i32x4(), 4);
      headerWords = bind(plane.kind, b.getI32Type(), 16);
      break;
    case PlaneKind::High:
      highBits = bind(plane.kind, b.i32x4());
      break;
    case PlaneKind::Sub:
      sub = bind(plane.kind, b.getI32Type());
      break;
    case PlaneKind::Super:
      super = bind(plane.kind, b.i32x2());
      break;
    case PlaneKind::Values:
    case PlaneKind::Codes:
      break;
    }
}

GemmWeights::BoundPlane GemmWeights::bind(PlaneKind kind, Type element,
                                          int64_t perPosition) {
  return {unit.bind(weight.plane(kind), element, program::Access::Read), kind,
          perPosition};
}

Value GemmWeights::firstOf(int64_t columnsPerElement) {
  int64_t perTile = layout().paddedColumns / columnsPerElement * kQuadsPerTile;
  return b.add(b.mul(b.div(firstQuad, kQuadsPerTile), perTile),
               b.rem(firstQuad, kQuadsPerTile));
}

Value GemmWeights::firstGroup() {
  return firstOf(scaleGroupColumns(layout().format));
}

Value GemmWeights::firstUnit() {
  return firstOf(columnsPerUnit(layout().format));
}

/// Planes with an element for more or fewer columns than a group count tiles
/// and columns in other steps; the quad in its tile comes last in all.
Value GemmWeights::elementOf(const BoundPlane &plane, Value place) {
  int64_t group = scaleGroupColumns(layout().format),
          columns = layout().plane(plane.kind).columnsPerElement;
  if (columns == group)
    return place;
  bool isOfRow =
      plane.kind != PlaneKind::Codes && groupsPerScale(layout().format) == 0;
  if (isOfRow)
    return firstQuad;
  Value number = b.div(place, kQuadsPerTile);
  number = columns < group ? b.mul(number, group / columns)
                           : b.div(number, columns / group);
  return b.add(b.mul(number, kQuadsPerTile), b.rem(place, kQuadsPerTile));
}

Value GemmWeights::load(const BoundPlane &plane, Value place, int64_t quad,
                        Value part) {
  Value index = b.mul(elementOf(plane, place), plane.perPosition);
  if (part)
    index = b.add(index, part);
  return b.load(plane.memref, b.add(index, quad * plane.perPosition));
}

SmallVector<Value> GemmWeights::loadUnits(Value place) {
  SmallVector<Value> units;
  for (int64_t quad = 0; quad < numQuads; ++quad)
    units.push_back(b.load(codes.memref, b.add(place, quad)));
  return units;
}

//===----------------------------------------------------------------------===//
// Scales and high bits
//===----------------------------------------------------------------------===//

std::array<Value, 4> GemmWeights::bytesToF32(Value word, bool isSigned) {
  std::array<Value, 4> numbers;
  if (hasBytes) {
    Value all =
        isSigned ? b.signedBytesToF32(word) : b.unsignedBytesToF32(word);
    for (int64_t byte = 0; byte < 4; ++byte)
      numbers[byte] = b.extract(all, byte);
    return numbers;
  }
  llvm::copy(b.shiftedBytesToF32(word, isSigned), numbers.begin());
  return numbers;
}

/// Packed codes are sixteen times too large where they are nibbles with a bias
/// (packedNibbles), four times where they have six bits (packedSixBits).
SmallVector<Value> GemmWeights::withoutCodeFactor(ArrayRef<Value> sums) {
  SmallVector<Value> results(sums);
  if (form != CodeForm::Packed || codeBias(layout().format) == 0)
    return results;
  double factor = layout().format == WeightFormat::Q6_K ? 4 : 16;
  for (Value &sum : results)
    sum = b.mul(sum, b.constant(sum.getType(), 1 / factor));
  return results;
}

/// Formats whose scales are stored as they are. Shifted codes of a format with
/// a bias are 8 too large.
void GemmWeights::loadPlainScales(Value place, GemmGroup &data) {
  auto unpack = [&](const BoundPlane &plane, int64_t quad) {
    return unpackScales(b, load(plane, place, quad),
                        layout().plane(plane.kind).bytesPerElement);
  };
  bool isBiased = codeBias(layout().format) != 0;
  for (int64_t quad = 0; quad < numQuads; ++quad) {
    Value scale = unpack(scales, quad);
    if (isBiased && form == CodeForm::Shifted)
      data.offsets.push_back(b.mul(scale, b.constant(b.f32x4(), -8.0)));
    data.scales.push_back(scale);
    if (!offsets.memref)
      continue;
    Value stored = unpack(offsets, quad);
    data.offsets.push_back(offsets.kind == PlaneKind::Zeros
                               ? b.neg(b.mul(scale, stored))
                               : stored);
  }
}

/// Q4_K and Q5_K: the six-bit scale and minimum of each row.
void GemmWeights::loadKScales(Value place, GemmGroup &data) {
  Value j = b.rem(b.div(place, kQuadsPerTile), 8), pair = b.div(j, 2);
  Value shift = b.toI32(b.mul(b.rem(j, 2), 4));
  for (int64_t quad = 0; quad < numQuads; ++quad) {
    auto word = [&](Value number) {
      return b.shiftRight(load(headerWords, place, quad, number), shift);
    };
    Value low = b.add(b.mul(pair, 2), 4);
    auto [scales, minimums] = joinScalesAndMinimums(
        b, {word(low), word(b.add(low, 1)), word(b.add(pair, 12))}, 0);
    Value scale = b.vector(ValueRange(bytesToF32(scales, false))),
          minimum = b.vector(ValueRange(bytesToF32(minimums, false)));
    Value halves = load(header, place, quad);
    SmallVector<Value> d, dmin;
    for (int64_t row = 0; row < 4; ++row) {
      Value pair = b.unpackHalf2(b.extract(halves, row));
      d.push_back(b.extract(pair, 0));
      dmin.push_back(b.neg(b.extract(pair, 1)));
    }
    data.scales.push_back(b.mul(b.vector(d), scale));
    data.offsets.push_back(b.mul(b.vector(dmin), minimum));
  }
}

/// Packed codes are centred; shifted ones are 32 too large.
void GemmWeights::loadQ6Scales(Value place, GemmGroup &data) {
  for (int64_t quad = 0; quad < numQuads; ++quad) {
    std::array<Value, 4> rows = bytesToF32(load(sub, place, quad), true);
    Value d = unpackRowHalves(b, load(super, place, quad));
    Value scale = b.mul(d, b.vector(ValueRange(rows)));
    data.scales.push_back(scale);
    if (form == CodeForm::Shifted)
      data.offsets.push_back(b.mul(scale, b.constant(b.f32x4(), -32.0)));
  }
}

GemmGroup GemmWeights::loadScales(Value place) {
  GemmGroup data;
  if (header.memref)
    loadKScales(place, data);
  else if (sub.memref)
    loadQ6Scales(place, data);
  else if (scales.memref)
    loadPlainScales(place, data);
  return data;
}

SmallVector<Value> GemmWeights::loadHigh(Value place) {
  SmallVector<Value> high;
  bool turnsTopBits =
      layout().format == WeightFormat::Q6_K && form == CodeForm::Packed;
  for (int64_t quad = 0; highBits.memref && quad < numQuads; ++quad) {
    Value words = load(highBits, place, quad);
    high.push_back(turnsTopBits ? b.bitXor(words, 0xaaaaaaaa) : words);
  }
  return high;
}

SmallVector<Value> GemmWeights::highOfUnit(ArrayRef<Value> highOfGroup,
                                           Value place,
                                           std::optional<int64_t> unitInGroup) {
  SmallVector<Value> high;
  int64_t bitsPerUnit = layout().format == WeightFormat::Q6_K ? 4 : 2;
  for (Value words : highOfGroup) {
    if (unitInGroup) {
      high.push_back(b.shiftRight(words, bitsPerUnit * *unitInGroup));
      continue;
    }
    // A tile's units are a multiple of 16, so that the unit's number in the
    // group stands in bits 2 and 3 of `place`.
    int64_t unitsPerGroup =
        scaleGroupColumns(layout().format) / columnsPerUnit(layout().format);
    Value number = b.rem(b.div(place, kQuadsPerTile), unitsPerGroup);
    high.push_back(
        b.shiftRight(words, b.splat(b.toI32(b.mul(number, bitsPerUnit)))));
  }
  return high;
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

std::array<Value, 4>
GemmWeights::decodeFloats(ArrayRef<SmallVector<Value>> units, int64_t quad,
                          int64_t row) {
  std::array<Value, 4> columns;
  for (int64_t column = 0; column < 4; ++column) {
    if (layout().format == WeightFormat::F32) {
      columns[column] = b.bitcastToF32(b.extract(units[column][quad], row));
      continue;
    }
    // Two columns; each has rows 0 and 1 in one word, rows 2 and 3 in the next.
    Value word = b.extract(units[column / 2][quad], 2 * (column % 2) + row / 2);
    if (layout().format == WeightFormat::F16)
      columns[column] = b.extract(b.unpackHalf2(word), row % 2);
    else
      columns[column] = b.bitcastToF32(row % 2 ? b.bitAnd(word, 0xffff0000)
                                               : b.shiftLeft(word, 16));
  }
  return columns;
}

Value GemmWeights::packedNibbles(Value word, Value high, int64_t half) {
  if (codeBias(layout().format) != 0) {
    // The upper half of a byte, with its top bit turned, is 16 * (code - 8).
    Value turned = b.bitXor(word, 0x88888888);
    return b.bitAnd(b.shiftLeft(turned, half ? 0 : 4), 0xf0f0f0f0);
  }
  Value bytes = b.bitAnd(b.shiftRight(word, 4 * half), 0x0f0f0f0f);
  if (codebookOf(layout().format) != Codebook::None)
    return codebookBytes(b, bytes, codebookOf(layout().format));
  // A minimum is an offset anyway, so that the codes may stay unsigned.
  if (!high)
    return bytes;
  return b.bitOr(bytes, b.bitAnd(b.shiftLeft(high, 4 - half), 0x10101010));
}

/// In the upper six bits of a byte, with its top bit turned (by loadHigh):
/// 4 * (code - 32).
Value GemmWeights::packedSixBits(Value word, Value high, int64_t half) {
  Value low = half ? b.shiftRight(word, 2) : b.shiftLeft(word, 2);
  return b.bitOr(b.bitAnd(low, 0x3c3c3c3c),
                 b.bitAnd(b.shiftLeft(high, 6 - 2 * half), 0xc0c0c0c0));
}

Value GemmWeights::packedCodes(ArrayRef<Value> unit, ArrayRef<Value> high,
                               int64_t quad, int64_t row, int64_t half) {
  Value word = b.extract(unit[quad], row);
  Value highWord = high.empty() ? Value() : b.extract(high[quad], row);
  if (columnsPerUnit(layout().format) == 4)
    return word;
  if (layout().format == WeightFormat::Q6_K)
    return packedSixBits(word, highWord, half);
  return packedNibbles(word, highWord, half);
}

std::array<Value, 4> GemmWeights::shiftedCodes(Value word, Value high,
                                               int64_t half) {
  if (columnsPerUnit(layout().format) == 4)
    return bytesToF32(word, true);
  if (codebookOf(layout().format) != Codebook::None)
    return bytesToF32(packedNibbles(word, high, half), true);
  if (high) {
    int64_t bits = layout().format == WeightFormat::Q6_K ? 2 : 1;
    Value top = b.bitAnd(b.shiftLeft(high, 4 - half * bits),
                         bits == 2 ? 0x30303030 : 0x10101010);
    return bytesToF32(
        b.bitOr(b.bitAnd(b.shiftRight(word, 4 * half), 0x0f0f0f0f), top),
        false);
  }
  std::array<Value, 4> codes;
  for (int64_t byte = 0; byte < 4; ++byte) {
    Value shifted = b.shiftRight(word, 8 * byte + 4 * half);
    codes[byte] =
        b.signedToF32(byte == 3 && half ? shifted : b.bitAnd(shifted, 15));
  }
  return codes;
}

std::array<Value, 4> GemmWeights::decode(ArrayRef<SmallVector<Value>> units,
                                         const GemmGroup &group,
                                         ArrayRef<Value> high, int64_t quad,
                                         int64_t row, int64_t half) {
  if (group.scales.empty())
    return decodeFloats(units, quad, row);
  std::array<Value, 4> columns;
  if (form == CodeForm::Packed)
    columns =
        bytesToF32(packedCodes(units.front(), high, quad, row, half), true);
  else
    columns =
        shiftedCodes(b.extract(units.front()[quad], row),
                     high.empty() ? Value() : b.extract(high[quad], row), half);
  Value scale = b.extract(group.scales[quad], row);
  for (Value &column : columns)
    column = group.offsets.empty()
                 ? b.mul(column, scale)
                 : b.fma(column, scale, b.extract(group.offsets[quad], row));
  return columns;
}

} // namespace llmc::codegen
