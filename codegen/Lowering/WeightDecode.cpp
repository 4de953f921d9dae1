// SPDX-License-Identifier: Apache-2.0
//
// Decoding of weights inside kernels. Bit positions are those of
// docs/layouts.md. Codes are at most 8 bits, so that signed conversions serve
// unsigned ones too (they are the cheaper ones on CPUs).

#include "codegen/Lowering/WeightDecode.h"

#include "codegen/Lowering/CodebookBytes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace llmc::codegen {

//===----------------------------------------------------------------------===//
// Planes
//===----------------------------------------------------------------------===//

WeightDecoder::WeightDecoder(KernelUnit &unit, const WeightView &weight,
                             Value quad, int64_t denseGroupColumns,
                             CodeDecode decode, Value rowPair)
    : unit(unit), b(unit.builder()), weight(weight), quad(quad),
      rowPair(rowPair), numRows(rowPair ? 2 : 4),
      scaleColumns(scaleGroupColumns(weight.layout.format)),
      groupColumns(scaleColumns ? scaleColumns : denseGroupColumns),
      decode(decode) {
  for (const Plane &plane : layout().planes) {
    Type element = rowPair ? b.i32x2() : b.i32x4();
    if (plane.kind == PlaneKind::Super)
      element = packedScalesType(b, plane.bytesPerElement, numRows);
    else if (plane.kind == PlaneKind::Scales ||
             plane.kind == PlaneKind::Offsets || plane.kind == PlaneKind::Zeros)
      element = packedScalesType(b, plane.bytesPerElement, numRows);
    else if (plane.kind == PlaneKind::Sub)
      element = b.getI32Type();
    planes[static_cast<unsigned>(plane.kind)] = bindPlane(plane.kind, element);
    if (plane.kind == PlaneKind::Header)
      headerWords = bindPlane(plane.kind, b.getI32Type()).memref;
  }
  Value &units = planes[static_cast<unsigned>(PlaneKind::Codes)].base;
  units = elementOfRows(units);
}

WeightDecoder::BoundPlane WeightDecoder::bindPlane(PlaneKind kind,
                                                   Type element) {
  Value memref = unit.bind(weight.plane(kind), element, program::Access::Read);
  Value tile = b.div(quad, kQuadsPerTile), inTile = b.rem(quad, kQuadsPerTile);
  return {memref, b.add(b.mul(tile, layout().elementsPerTile(kind)), inTile)};
}

Value WeightDecoder::elementOfRows(Value element) {
  return rowPair ? b.add(b.mul(element, 2), rowPair) : element;
}

Value WeightDecoder::loadRows(PlaneKind kind, Value element) {
  return b.load(plane(kind).memref, elementOfRows(element));
}

bool WeightDecoder::hasMinimum() const {
  return hasStoredOffsets(layout().format);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The plane whose elements are numbered as all those with one for each group.
static PlaneKind elementPlane(WeightFormat format) {
  return format == WeightFormat::Q5_K || format == WeightFormat::Q6_K
             ? PlaneKind::High
             : PlaneKind::Scales;
}

SmallVector<WeightDecoder::Part> WeightDecoder::parts() const {
  if (decode == CodeDecode::Bytes && isKQuant())
    return {hasHighPlane() ? Part::Element : Part::Unit};
  SmallVector<Part> parts = {Part::Unit};
  if (hasScale() && layout().format != WeightFormat::Q4_K)
    parts.push_back(Part::Element);
  if (hasHeader() || layout().format == WeightFormat::Q6_K)
    parts.push_back(Part::Super);
  if (hasHeader())
    parts.append({Part::Low, Part::High, Part::PairShift});
  return parts;
}

Value WeightDecoder::part(const Place &place, Part part) const {
  SmallVector<Part> all = parts();
  const auto *found = llvm::find(all, part);
  return found == all.end() ? derive(place, part) : place[found - all.begin()];
}

/// The only part that the place holds is the number of the group among all
/// groups of all tiles, times the group's units or elements and four, and the
/// quad in the tile.
Value WeightDecoder::derive(const Place &place, Part part) const {
  Value inTile = b.rem(place.front(), kQuadsPerTile),
        group = b.div(place.front(), hasHighPlane()
                                         ? kQuadsPerTile
                                         : unitsPerGroup() * kQuadsPerTile);
  switch (part) {
  case Part::Unit:
    return b.add(b.mul(group, unitsPerGroup() * kQuadsPerTile), inTile);
  case Part::Super:
    return b.add(b.mul(b.div(group, groupsPerSuper()), kQuadsPerTile), inTile);
  default:
    return partOfHeader(group, part);
  }
}

/// Where in its header the bits of a group are.
Value WeightDecoder::partOfHeader(Value group, Part part) const {
  Value pair = b.div(b.rem(group, 8), 2);
  if (part == Part::Low)
    return b.add(b.mul(pair, 2), 4);
  return part == Part::High ? b.add(pair, 12)
                            : b.toI32(b.mul(b.rem(group, 2), 4));
}

/// The number of the element that holds a group's scales.
Value WeightDecoder::elementOf(Value group) {
  int64_t shared = groupsPerScale(layout().format);
  if (shared == 0)
    return b.index(0);
  return shared == 1 ? group : b.div(group, shared);
}

WeightDecoder::Place WeightDecoder::placeOf(Value group) {
  Place place;
  for (Part part : parts())
    switch (part) {
    case Part::Unit:
      place.push_back(b.add(plane(PlaneKind::Codes).base,
                            b.mul(group, unitsPerGroup() * unitStride())));
      break;
    case Part::Element:
      place.push_back(b.add(plane(elementPlane(layout().format)).base,
                            b.mul(elementOf(group), kQuadsPerTile)));
      break;
    case Part::Super:
      place.push_back(
          b.add(plane(hasHeader() ? PlaneKind::Header : PlaneKind::Super).base,
                b.mul(b.div(group, groupsPerSuper()), kQuadsPerTile)));
      break;
    case Part::Low:
    case Part::High:
    case Part::PairShift:
      place.push_back(partOfHeader(group, part));
      break;
    }
  return place;
}

WeightDecoder::Place WeightDecoder::advance(const Place &place, Value next,
                                            int64_t groups) {
  Place fresh = placeOf(next), advanced;
  bool wholeSupers = groups % groupsPerSuper() == 0;
  int64_t shared = groupsPerScale(layout().format);
  for (auto [number, part] : llvm::enumerate(parts())) {
    Value now = place[number];
    if (part == Part::Unit)
      now = b.add(now, groups * unitsPerGroup() * unitStride());
    else if (part == Part::Element)
      now = shared == 0            ? now // a row has one
            : groups % shared == 0 ? b.add(now, groups / shared * kQuadsPerTile)
                                   : fresh[number];
    else if (!wholeSupers)
      now = fresh[number];
    else if (part == Part::Super)
      now = b.add(now, groups / groupsPerSuper() * kQuadsPerTile);
    advanced.push_back(now);
  }
  return advanced;
}

WeightDecoder::Place WeightDecoder::neighbour(const Place &place) {
  Place next = place;
  for (auto [number, part] : llvm::enumerate(parts())) {
    if (part == Part::Unit)
      next[number] = b.add(place[number], unitsPerGroup() * unitStride());
    else if (part == Part::Element && groupsPerScale(layout().format) == 1)
      next[number] = b.add(place[number], kQuadsPerTile);
    else if (part == Part::PairShift)
      next[number] = b.i32(4);
  }
  return next;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The bytes of a word, lowest first, one for each row.
Value WeightDecoder::bytesToF32(Value word, bool isSigned) {
  if (decode == CodeDecode::Bytes)
    return isSigned ? b.signedBytesToF32(word) : b.unsignedBytesToF32(word);
  constexpr int32_t kDown[] = {0, 8, 16, 24}, kUp[] = {24, 16, 8, 0};
  Value words = b.splat(word, numRows);
  auto ofRows = [&](ArrayRef<int32_t> shifts) {
    return b.i32s(shifts.take_front(numRows));
  };
  if (isSigned)
    return b.signedToF32(
        b.shiftRightSigned(b.shiftLeft(words, ofRows(kUp)), 24));
  return b.signedToF32(b.bitAnd(b.shiftRight(words, ofRows(kDown)), 255));
}

/// A word with the bytes of the lane's rows at its bottom.
Value WeightDecoder::bytesOfRows(Value word) {
  return rowPair ? b.shiftRight(word, b.toI32(b.mul(rowPair, 16))) : word;
}

PackedKScales WeightDecoder::loadKWords(const Place &place) {
  Value words = b.mul(part(place, Part::Super), 16),
        low = b.add(words, part(place, Part::Low));
  return {b.load(headerWords, low), b.load(headerWords, b.add(low, 1)),
          b.load(headerWords, b.add(words, part(place, Part::High)))};
}

Value WeightDecoder::loadHalves(const Place &place) {
  return loadRows(PlaneKind::Header, b.mul(part(place, Part::Super), 4));
}

/// Q4_K and Q5_K: the six-bit scale and minimum of each row.
void WeightDecoder::loadKScales(const Place &place, Group &data) {
  PackedKScales words = loadKWords(place);
  Value shift = part(place, Part::PairShift);
  if (rowPair)
    shift = b.add(shift, b.toI32(b.mul(rowPair, 16)));
  for (Value *word : {&words.scales, &words.minimums, &words.high})
    *word = b.shiftRight(*word, shift);
  Value halves = loadHalves(place);
  auto [scales, minimums] = joinScalesAndMinimums(b, words, 0);
  SmallVector<Value> d, dmin;
  for (int64_t row = 0; row < numRows; ++row) {
    Value pair = b.unpackHalf2(b.extract(halves, row));
    d.push_back(b.extract(pair, 0));
    dmin.push_back(b.neg(b.extract(pair, 1)));
  }
  data.scale = b.mul(b.vector(d), bytesToF32(scales, false));
  data.minimum = b.mul(b.vector(dmin), bytesToF32(minimums, false));
}

WeightDecoder::ScalePair WeightDecoder::loadScalePair(const Place &place) {
  PackedKScales words = loadKWords(place);
  ScalePair pair;
  for (int64_t group = 0; group < 2; ++group) {
    auto [scales, minimums] = joinScalesAndMinimums(b, words, group);
    pair.scales[group] = scales;
    pair.minimums[group] = minimums;
  }
  pair.halves = loadHalves(place);
  return pair;
}

void WeightDecoder::loadQ6Scales(const Place &place, Group &data) {
  Value scales = bytesToF32(bytesOfRows(b.load(plane(PlaneKind::Sub).memref,
                                               part(place, Part::Element))),
                            true);
  Value d =
      unpackRowHalves(b, loadRows(PlaneKind::Super, part(place, Part::Super)));
  data.scale = b.mul(d, scales);
}

WeightDecoder::Group WeightDecoder::loadHigh(const Place &place) {
  Group data;
  if (hasHighPlane())
    data.high = loadRows(PlaneKind::High, part(place, Part::Element));
  return data;
}

/// Formats whose scales are stored as they are.
void WeightDecoder::loadPlainScales(const Place &place, Group &data) {
  auto load = [&](PlaneKind kind) {
    return unpackScales(b, loadRows(kind, part(place, Part::Element)),
                        layout().plane(kind).bytesPerElement);
  };
  data.scale = load(PlaneKind::Scales);
  if (plane(PlaneKind::Offsets).memref)
    data.minimum = load(PlaneKind::Offsets);
  else if (plane(PlaneKind::Zeros).memref)
    data.minimum = b.neg(b.mul(data.scale, load(PlaneKind::Zeros)));
}

void WeightDecoder::loadScales(const Place &place, Group &data) {
  if (!hasScale())
    return;
  if (hasHeader())
    loadKScales(place, data);
  else if (layout().format == WeightFormat::Q6_K)
    loadQ6Scales(place, data);
  else
    loadPlainScales(place, data);
}

double WeightDecoder::bias(int64_t half) const {
  auto formats = static_cast<double>(codeBias(layout().format));
  if (decode != CodeDecode::Exponent || !hasScale())
    return formats;
  if (!hasNibbles())
    return 128;
  if (hasPlainNibbles(layout().format))
    return formats + (half == 0 ? 256 : 16);
  return hasCodebook() ? formats : formats + 128;
}

Value WeightDecoder::offset(const Group &data, int64_t half) {
  if (bias(half) == 0)
    return data.minimum;
  Value factor = b.constant(data.scale.getType(), -bias(half));
  return data.minimum ? b.fma(data.scale, factor, data.minimum)
                      : b.mul(data.scale, factor);
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

WeightDecoder::Unit WeightDecoder::loadUnit(const Place &place,
                                            const Group &data,
                                            Value unitInGroup) {
  Value index =
      b.add(part(place, Part::Unit), b.mul(unitInGroup, unitStride()));
  Value words = b.load(plane(PlaneKind::Codes).memref, index);
  if (std::optional<int64_t> number = mlir::getConstantIntValue(unitInGroup))
    return unitOf(words, data, *number);
  Unit loaded{words, data.high};
  if (data.high)
    loaded.high = b.shiftRight(
        data.high,
        b.splat(b.toI32(b.mul(unitInGroup, highBitsPerUnit())), numRows));
  return loaded;
}

WeightDecoder::Unit WeightDecoder::unitOf(Value words, const Group &data,
                                          int64_t unitInGroup) const {
  return {words, data.high, data.high ? unitInGroup * highBitsPerUnit() : 0};
}

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

/// One shift brings a byte's low nibble to bits 15 … 18, worth 1 … 8 under an
/// exponent of 256, and its high nibble to bits 19 … 22, under an exponent of
/// 16.
SmallVector<Value> WeightDecoder::exponentNibbles(Value words, int64_t half) {
  SmallVector<Value> columns;
  for (int64_t byte = 0; byte < 4; ++byte) {
    int64_t left = 15 - 8 * byte;
    Value moved =
        left > 0 ? b.shiftLeft(words, left) : b.shiftRight(words, -left);
    Value code = b.bitAnd(moved, half == 0 ? 0x78000 : 0x780000);
    Value exponent =
        b.constant(words.getType(), half == 0 ? 0x43800000 : 0x41800000);
    columns.push_back(b.bitcastToF32(b.bitOr(code, exponent)));
  }
  return columns;
}

/// Nibbles 16 bits apart, of columns 0 and 2 or 1 and 3, are the mantissas of
/// one word's f16.
SmallVector<Value> WeightDecoder::halvesOfNibbles(Value words, int64_t half) {
  std::array<SmallVector<Value>, 4> rowsOfColumn;
  for (int64_t odd = 0; odd < 2; ++odd) {
    Value codes = b.bitAnd(b.shiftRight(words, 8 * odd + 4 * half), 0x000f000f),
          biased = b.bitOr(codes, b.constant(words.getType(), 0x64006400));
    for (int64_t row = 0; row < 4; ++row) {
      Value pair = b.sub(b.bitcastToHalf2(b.extract(biased, row)),
                         b.constant(b.f16x2(), 1024.0));
      for (int64_t place = 0; place < 2; ++place)
        rowsOfColumn[2 * place + odd].push_back(
            b.widen(b.extract(pair, place)));
    }
  }
  SmallVector<Value> columns;
  for (ArrayRef<Value> rows : rowsOfColumn)
    columns.push_back(b.vector(rows));
  return columns;
}

/// Codes of 5 or 6 bits in the bytes of words. The third byte is in place: bits
/// 16 … 21 are worth 1 … 32 under an exponent of 128.
SmallVector<Value> WeightDecoder::exponentBytes(Value words) {
  SmallVector<Value> columns;
  for (int64_t byte = 0; byte < 4; ++byte) {
    int64_t left = 16 - 8 * byte;
    Value moved = left > 0   ? b.shiftLeft(words, left)
                  : left < 0 ? b.shiftRight(words, -left)
                             : words;
    Value exponent = b.constant(words.getType(), 0x43000000);
    columns.push_back(
        b.bitcastToF32(b.bitOr(b.bitAnd(moved, 0x3f0000), exponent)));
  }
  return columns;
}

/// Of all four words, or of one; signed where there is a codebook.
Value WeightDecoder::nibbleBytes(const Unit &unit, int64_t half) {
  Value bytes = b.bitAnd(b.shiftRight(unit.words, 4 * half), 0x0f0f0f0f);
  if (hasCodebook())
    return codebookBytes(b, bytes, codebookOf(layout().format));
  if (!unit.high)
    return bytes;
  int64_t highBits = layout().format == WeightFormat::Q6_K ? 2 : 1;
  int64_t left = 4 - half * highBits - unit.highShift;
  Value moved =
      left >= 0 ? b.shiftLeft(unit.high, left) : b.shiftRight(unit.high, -left);
  return b.bitOr(bytes,
                 b.bitAnd(moved, highBits == 2 ? 0x30303030 : 0x10101010));
}

bool WeightDecoder::takesRows() const {
  return decode == CodeDecode::Bytes && unitColumns() >= 4 && hasScale();
}

Value WeightDecoder::rowBytes(const Unit &unit, int64_t half, int64_t row,
                              bool inPlace) {
  Unit ofRow = {b.extract(unit.words, row),
                unit.high ? b.extract(unit.high, row) : Value(),
                unit.highShift};
  if (!hasNibbles())
    return ofRow.words;
  return inPlace && codeFactor(half) != 1 ? b.bitAnd(ofRow.words, 0xf0f0f0f0)
                                          : nibbleBytes(ofRow, half);
}

Value WeightDecoder::rowCodes(const Unit &unit, int64_t half, int64_t row,
                              bool inPlace) {
  return bytesToF32(rowBytes(unit, half, row, inPlace),
                    !hasNibbles() || hasCodebook());
}

// Upper nibbles without high bits stay in place, which saves a shift.
double WeightDecoder::codeFactor(int64_t half) const {
  return decode == CodeDecode::Bytes && hasPlainNibbles(layout().format) &&
                 half == 1
             ? 16
             : 1;
}

int64_t WeightDecoder::largestCode() const {
  if (hasPlainNibbles(layout().format))
    return 15;
  switch (layout().format) {
  case WeightFormat::Q5_K:
    return 31;
  case WeightFormat::Q6_K:
    return 63;
  default:
    return 128;
  }
}

std::array<Value, 2> WeightDecoder::rowHalves(const Unit &unit, int64_t half,
                                              int64_t row) {
  Value bytes = rowBytes(unit, half, row, /*inPlace=*/true);
  Value codes =
      hasNibbles() ? b.unsignedBytesToF16(bytes) : b.signedBytesToF16(bytes);
  return {b.pair(codes, 0), b.pair(codes, 2)};
}

SmallVector<Value> WeightDecoder::columnCodes(ArrayRef<Unit> units,
                                              int64_t half) {
  if (!hasScale()) {
    SmallVector<Value> columns;
    for (const Unit &floats : units)
      columns.append(decodeFloats(floats.words));
    return columns;
  }
  const Unit &codes = units.front();
  bool isExponent = decode == CodeDecode::Exponent;
  if (!hasNibbles())
    return isExponent
               ? b.shiftedBytesToF32(b.bitXor(codes.words, 0x80808080), false)
               : b.shiftedBytesToF32(codes.words, true);
  if (isExponent && hasPlainNibbles(layout().format))
    return exponentNibbles(codes.words, half);
  if (decode == CodeDecode::Halves && hasPlainNibbles(layout().format))
    return halvesOfNibbles(codes.words, half);
  if (isExponent && !hasCodebook())
    return exponentBytes(nibbleBytes(codes, half));
  return b.shiftedBytesToF32(nibbleBytes(codes, half), hasCodebook());
}

SmallVector<Value> WeightDecoder::loadWeights(Value group, const Group &data,
                                              Value unitInGroup) {
  Unit codes = loadUnit(placeOf(group), data, unitInGroup);
  SmallVector<Value> columns;
  for (int64_t half = 0; half < std::max<int64_t>(unitColumns() / 4, 1);
       ++half) {
    Value added = offset(data, half);
    for (Value code : columnCodes(codes, half))
      columns.push_back(!hasScale() ? code
                        : added     ? b.fma(code, data.scale, added)
                                    : b.mul(code, data.scale));
  }
  return columns;
}

} // namespace llmc::codegen
