// SPDX-License-Identifier: Apache-2.0
//
// Decoding of weights inside kernels. Bit positions are those of
// docs/layouts.md. Codes are at most 8 bits, so that signed conversions serve
// unsigned ones too (they are the cheaper ones on CPUs).

#include "codegen/Lowering/WeightDecode.h"

namespace llmc::codegen {

//===----------------------------------------------------------------------===//
// Planes
//===----------------------------------------------------------------------===//

WeightDecoder::WeightDecoder(KernelUnit &unit, const WeightView &weight,
                             Value quad, int64_t denseGroupColumns)
    : unit(unit), b(unit.builder()), weight(weight), quad(quad),
      scaleColumns(scaleGroupColumns(weight.layout.format)),
      groupColumns(scaleColumns ? scaleColumns : denseGroupColumns) {
  for (const Plane &plane : layout().planes) {
    bool isHalves =
        plane.kind == PlaneKind::Super ||
        (plane.kind == PlaneKind::Scales && plane.bytesPerElement == 8);
    Type element = b.i32x4();
    if (isHalves)
      element = b.i32x2();
    else if (plane.kind == PlaneKind::Scales ||
             plane.kind == PlaneKind::Offsets)
      element = b.f32x4();
    else if (plane.kind == PlaneKind::Sub)
      element = b.getI32Type();
    int64_t perPosition = plane.kind == PlaneKind::Header ? 4 : 1;
    planes[static_cast<unsigned>(plane.kind)] =
        bindPlane(plane.kind, element, perPosition);
    if (plane.kind == PlaneKind::Header)
      headerWords = bindPlane(plane.kind, b.getI32Type(), 16);
  }
}

WeightDecoder::BoundPlane WeightDecoder::bindPlane(PlaneKind kind, Type element,
                                                   int64_t perPosition) {
  Value memref = unit.bind(weight.plane(kind), element, program::Access::Read);
  Value tile = b.div(quad, kQuadsPerTile), inTile = b.rem(quad, kQuadsPerTile);
  Value position = b.add(b.mul(tile, layout().elementsPerTile(kind)), inTile);
  return {memref, b.mul(position, perPosition)};
}

Value WeightDecoder::loadElement(PlaneKind kind, Value position,
                                 int64_t perPosition, Value part) {
  const BoundPlane &plane = planes[static_cast<unsigned>(kind)];
  Value index = b.add(plane.base, b.mul(position, kQuadsPerTile * perPosition));
  return b.load(plane.memref, part ? b.add(index, part) : index);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

Value WeightDecoder::unpackHalf4(Value words) {
  Value low = b.unpackHalf2(b.extract(words, 0)),
        high = b.unpackHalf2(b.extract(words, 1));
  return b.vector({b.extract(low, 0), b.extract(low, 1), b.extract(high, 0),
                   b.extract(high, 1)});
}

/// Q4_K and Q5_K: the six-bit scale and minimum of each row from the header's
/// nibbles and pairs of bits.
void WeightDecoder::loadKScales(Value group, Group &data) {
  Value super = b.div(group, 8), j = b.rem(group, 8);
  Value superWords = b.add(headerWords.base, b.mul(super, kQuadsPerTile * 16));
  Value low = b.load(headerWords.memref, b.add(b.add(superWords, j), 4));
  Value highPair =
      b.load(headerWords.memref, b.add(b.add(superWords, b.div(j, 2)), 12));
  Value high = b.shiftRight(highPair, b.toI32(b.mul(b.rem(j, 2), 16)));

  auto sixBits = [&](ArrayRef<int32_t> lowShifts,
                     ArrayRef<int32_t> highShifts) {
    Value lowBits =
        b.bitAnd(b.shiftRight(b.splat(low), b.i32x4(lowShifts)), 15);
    Value highBits =
        b.bitAnd(b.shiftRight(b.splat(high), b.i32x4(highShifts)), 3);
    return b.signedToF32(b.bitOr(lowBits, b.shiftLeft(highBits, 4)));
  };
  Value scales = sixBits({0, 4, 8, 12}, {0, 2, 4, 6});
  Value minimums = sixBits({16, 20, 24, 28}, {8, 10, 12, 14});

  Value halves = loadElement(PlaneKind::Header, super, 4);
  SmallVector<Value> d, dmin;
  for (int64_t row = 0; row < 4; ++row) {
    Value pair = b.unpackHalf2(b.extract(halves, row));
    d.push_back(b.extract(pair, 0));
    dmin.push_back(b.extract(pair, 1));
  }
  data.scale = b.mul(b.vector(d), scales);
  data.offset = b.neg(b.mul(b.vector(dmin), minimums));
}

void WeightDecoder::loadQ6Scales(Value group, Group &data) {
  Value word = b.splat(loadElement(PlaneKind::Sub, group));
  Value bytesOnTop = b.shiftLeft(word, b.i32x4({24, 16, 8, 0}));
  Value scales = b.signedToF32(b.shiftRightSigned(bytesOnTop, 24));
  data.scale = b.mul(
      unpackHalf4(loadElement(PlaneKind::Super, b.div(group, 16))), scales);
  data.offset = b.mul(data.scale, b.constant(b.f32x4(), -32.0));
}

WeightDecoder::Group WeightDecoder::loadGroup(Value group) {
  Group data;
  switch (layout().format) {
  case WeightFormat::F32:
  case WeightFormat::F16:
  case WeightFormat::BF16:
    break;
  case WeightFormat::Q8_0:
  case WeightFormat::Q4_0:
    data.scale = unpackHalf4(loadElement(PlaneKind::Scales, group));
    if (hasOffset())
      data.offset = b.mul(data.scale, b.constant(b.f32x4(), -8.0));
    break;
  case WeightFormat::Q4_K:
  case WeightFormat::Q5_K:
    loadKScales(group, data);
    break;
  case WeightFormat::Q6_K:
    loadQ6Scales(group, data);
    break;
  case WeightFormat::I8G16Offset:
    data.offset = loadElement(PlaneKind::Offsets, group);
    data.scale = loadElement(PlaneKind::Scales, group);
    break;
  case WeightFormat::I8G16:
  case WeightFormat::I8G32:
    data.scale = loadElement(PlaneKind::Scales, group);
    break;
  }
  if (layout().format == WeightFormat::Q5_K ||
      layout().format == WeightFormat::Q6_K)
    data.high = loadElement(PlaneKind::High, group);
  return data;
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

SmallVector<Value> WeightDecoder::decodeFloats(Value words) {
  if (layout().format == WeightFormat::F32)
    return {b.bitcastToF32(words)};
  // Two columns; each has rows 0 and 1 in one word, rows 2 and 3 in the next.
  SmallVector<Value> columns;
  for (int64_t column = 0; column < 2; ++column) {
    SmallVector<Value> rows;
    for (int64_t pair = 0; pair < 2; ++pair) {
      Value word = b.extract(words, 2 * column + pair);
      if (layout().format == WeightFormat::F16) {
        Value both = b.unpackHalf2(word);
        rows.append({b.extract(both, 0), b.extract(both, 1)});
      } else {
        rows.append({b.bitcastToF32(b.shiftLeft(word, 16)),
                     b.bitcastToF32(b.bitAnd(word, 0xffff0000))});
      }
    }
    columns.push_back(b.vector(rows));
  }
  return columns;
}

SmallVector<Value> WeightDecoder::decodeBytes(Value words) {
  SmallVector<Value> columns;
  for (int64_t byte = 0; byte < 4; ++byte)
    columns.push_back(b.signedToF32(
        b.shiftRightSigned(b.shiftLeft(words, 24 - 8 * byte), 24)));
  return columns;
}

/// `high`: words whose bits for this unit are at the bottom of each byte, first
/// those of the low nibbles; null for four-bit codes.
SmallVector<Value> WeightDecoder::decodeNibbles(Value words, Value high) {
  int64_t highBits = layout().format == WeightFormat::Q6_K ? 2 : 1;
  SmallVector<Value> columns;
  for (int64_t half = 0; half < 2; ++half) {
    Value bytes = b.bitAnd(b.shiftRight(words, 4 * half), 0x0f0f0f0f);
    if (high) {
      Value moved = b.shiftLeft(high, 4 - half * highBits);
      bytes = b.bitOr(bytes,
                      b.bitAnd(moved, highBits == 2 ? 0x30303030 : 0x10101010));
    }
    for (int64_t byte = 0; byte < 4; ++byte) {
      Value shifted = b.shiftRight(bytes, 8 * byte);
      columns.push_back(
          b.signedToF32(byte == 3 ? shifted : b.bitAnd(shifted, 255)));
    }
  }
  return columns;
}

SmallVector<Value> WeightDecoder::loadCodes(Value group, const Group &data,
                                            Value unitInGroup) {
  const BoundPlane &codes = planes[static_cast<unsigned>(PlaneKind::Codes)];
  Value first =
      b.add(codes.base, b.mul(group, unitsPerGroup() * kQuadsPerTile));
  Value words =
      b.load(codes.memref, b.add(first, b.mul(unitInGroup, kQuadsPerTile)));
  switch (unitColumns()) {
  case 1:
  case 2:
    return decodeFloats(words);
  case 4:
    return decodeBytes(words);
  default:
    break;
  }
  Value high;
  if (data.high) {
    int64_t bitsPerUnit = layout().format == WeightFormat::Q6_K ? 4 : 2;
    high = b.shiftRight(data.high,
                        b.splat(b.toI32(b.mul(unitInGroup, bitsPerUnit))));
  }
  return decodeNibbles(words, high);
}

SmallVector<Value> WeightDecoder::loadWeights(Value group, const Group &data,
                                              Value unitInGroup) {
  SmallVector<Value> columns = loadCodes(group, data, unitInGroup);
  if (!hasScale())
    return columns;
  for (Value &column : columns)
    column = hasOffset() ? b.fma(column, data.scale, data.offset)
                         : b.mul(column, data.scale);
  return columns;
}

} // namespace llmc::codegen
