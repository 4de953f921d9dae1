// SPDX-License-Identifier: Apache-2.0
//
// Sizes and places of the planes of docs/layouts.md.

#include "codegen/Lowering/WeightLayout.h"

namespace llmc::codegen {

namespace {
/// A plane as the table of docs/layouts.md gives it.
struct PlaneShape {
  PlaneKind kind;
  int64_t bytesPerElement;
  /// 0: all of a row.
  int64_t columnsPerElement;
};

struct FormatShape {
  const char *name;
  int64_t bitsPerCode;
  int64_t columnMultiple;
  std::vector<PlaneShape> planesAfterCodes;
  int64_t groupColumns = 0;
  int64_t bias = 0;
  Codebook codebook = Codebook::None;
  bool hasHighBits = false;
};

constexpr int64_t kUnitBytes = 16;
// Larger weights than this are refused, so that no size below can overflow.
constexpr int64_t kMaxElements = int64_t{1} << 40;

/// Scales of four rows: halves, floats, bytes of exponents.
constexpr int64_t kHalves = 8, kFloats = 16, kBytes = 4;

FormatShape plain(const char *name, int64_t bits) {
  return {name, bits, 1, {}};
}

/// Codes with a scale for |columns| of them (0: for a row); with |extra|, as
/// many other numbers of the same size.
FormatShape grouped(const char *name, int64_t bits, int64_t columns,
                    int64_t scaleBytes,
                    std::optional<PlaneKind> extra = std::nullopt) {
  FormatShape shape{name,
                    bits,
                    columns != 0 ? columns : 32,
                    {{PlaneKind::Scales, scaleBytes, columns}},
                    32};
  if (extra)
    shape.planesAfterCodes.push_back({*extra, scaleBytes, columns});
  else if (bits == 4)
    shape.bias = 8;
  return shape;
}

/// Bytes of K-quants and others in blocks of 256.
FormatShape bytesOf16(const char *name, bool hasOffsets) {
  FormatShape shape{name, 8, 256, {{PlaneKind::Scales, kFloats, 16}}, 16};
  if (hasOffsets)
    shape.planesAfterCodes.push_back({PlaneKind::Offsets, kFloats, 16});
  return shape;
}

FormatShape withCodebook(FormatShape shape, Codebook codebook) {
  shape.codebook = codebook;
  shape.bias = 0;
  return shape;
}

/// In the order of the enum.
std::vector<FormatShape> makeShapes() {
  const PlaneShape header{PlaneKind::Header, 64, 256};
  const PlaneShape high32{PlaneKind::High, 16, 32};
  const std::vector<PlaneShape> q6Planes = {{PlaneKind::High, 16, 16},
                                            {PlaneKind::Sub, 4, 16},
                                            {PlaneKind::Super, 8, 256}};
  return {
      plain("f32", 32),
      plain("f16", 16),
      plain("bf16", 16),
      grouped("q8_0", 8, 32, kHalves),
      grouped("q4_0", 4, 32, kHalves),
      {"q4_k", 4, 256, {header}, 32},
      {"q5_k", 4, 256, {header, high32}, 32, 0, Codebook::None, true},
      {"q6_k", 4, 256, q6Planes, 16, 32, Codebook::None, true},
      bytesOf16("i8g16_offset", true),
      bytesOf16("i8g16", false),
      grouped("i8g32", 8, 32, kFloats),
      grouped("i8g32_offset", 8, 32, kFloats, PlaneKind::Offsets),
      grouped("q4_1", 4, 32, kHalves, PlaneKind::Offsets),
      withCodebook(grouped("iq4_nl", 4, 32, kHalves), Codebook::Iq4),
      withCodebook(grouped("iq4_xs", 4, 32, kFloats), Codebook::Iq4),
      withCodebook(grouped("mxfp4", 4, 32, kBytes), Codebook::Mxfp4),
      grouped("i4g64", 4, 64, kHalves),
      grouped("i4g128", 4, 128, kHalves),
      grouped("i4channel", 4, 0, kFloats),
      grouped("i4g32_zero", 4, 32, kHalves, PlaneKind::Zeros),
      grouped("i4g64_zero", 4, 64, kHalves, PlaneKind::Zeros),
      grouped("i4g128_zero", 4, 128, kHalves, PlaneKind::Zeros),
      grouped("i4channel_zero", 4, 0, kFloats, PlaneKind::Zeros),
      grouped("i8channel", 8, 0, kFloats),
      grouped("i8channel_zero", 8, 0, kFloats, PlaneKind::Zeros),
  };
}

const FormatShape &shapeOf(WeightFormat format) {
  static const std::vector<FormatShape> shapes = makeShapes();
  return shapes[static_cast<size_t>(format)];
}

/// The scales plane of a format that is scaled by one; null for others.
const PlaneShape *scalesOf(WeightFormat format) {
  for (const PlaneShape &plane : shapeOf(format).planesAfterCodes)
    if (plane.kind == PlaneKind::Scales)
      return &plane;
  return nullptr;
}

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
} // namespace

int64_t columnMultiple(WeightFormat format) {
  return shapeOf(format).columnMultiple;
}

int64_t scaleGroupColumns(WeightFormat format) {
  return shapeOf(format).groupColumns;
}

int64_t groupsPerScale(WeightFormat format) {
  const PlaneShape *scales = scalesOf(format);
  return scales ? scales->columnsPerElement / shapeOf(format).groupColumns : 1;
}

bool hasStoredOffsets(WeightFormat format) {
  for (const PlaneShape &plane : shapeOf(format).planesAfterCodes)
    if (plane.kind == PlaneKind::Offsets || plane.kind == PlaneKind::Zeros ||
        plane.kind == PlaneKind::Header)
      return true;
  return false;
}

bool hasOffsets(WeightFormat format) {
  return hasStoredOffsets(format) || shapeOf(format).bias != 0;
}

int64_t codeBias(WeightFormat format) { return shapeOf(format).bias; }

Codebook codebookOf(WeightFormat format) { return shapeOf(format).codebook; }

bool hasPlainNibbles(WeightFormat format) {
  const FormatShape &shape = shapeOf(format);
  return shape.bitsPerCode == 4 && !shape.hasHighBits &&
         shape.codebook == Codebook::None;
}

int64_t columnsPerUnit(WeightFormat format) {
  return kUnitBytes * 8 / 4 / shapeOf(format).bitsPerCode;
}

unsigned WeightLayout::planeIndex(PlaneKind kind) const {
  unsigned index = 0;
  while (index + 1 < planes.size() && planes[index].kind != kind)
    ++index;
  return index;
}

int64_t WeightLayout::elementsPerTile(PlaneKind kind) const {
  return paddedColumns / plane(kind).columnsPerElement * kQuadsPerTile;
}

std::optional<WeightLayout> tiledLayout(WeightFormat format, int64_t rows,
                                        int64_t columns) {
  const FormatShape &shape = shapeOf(format);
  if (rows <= 0 || columns <= 0 || columns % shape.columnMultiple != 0 ||
      rows > kMaxElements / columns)
    return std::nullopt;
  WeightLayout layout{"tile16",
                      format,
                      rows,
                      columns,
                      roundUp(rows, kTileRows),
                      roundUp(columns, 4),
                      {},
                      0};
  auto addPlane = [&](PlaneShape plane) {
    if (plane.columnsPerElement == 0)
      plane.columnsPerElement = layout.paddedColumns;
    int64_t elements =
        layout.numQuads() * (layout.paddedColumns / plane.columnsPerElement);
    int64_t bytes = elements * plane.bytesPerElement;
    layout.planes.push_back({plane.kind, layout.bytes, bytes,
                             plane.bytesPerElement, plane.columnsPerElement});
    layout.bytes += roundUp(bytes, kPlaneAlignment);
  };
  addPlane({PlaneKind::Codes, kUnitBytes, columnsPerUnit(format)});
  for (const PlaneShape &plane : shape.planesAfterCodes)
    addPlane(plane);
  return layout;
}

std::optional<WeightLayout> vectorLayout(int64_t count) {
  if (count <= 0 || count > kMaxElements)
    return std::nullopt;
  int64_t padded = roundUp(count, 4), bytes = padded * 4;
  Plane values{PlaneKind::Values, 0, bytes, 4, 1};
  return WeightLayout{"vector", WeightFormat::F32,
                      1,        count,
                      1,        padded,
                      {values}, roundUp(bytes, kPlaneAlignment)};
}

const char *formatName(WeightFormat format) { return shapeOf(format).name; }

const char *planeName(PlaneKind kind) {
  switch (kind) {
  case PlaneKind::Values:
    return "values";
  case PlaneKind::Codes:
    return "codes";
  case PlaneKind::Scales:
    return "scales";
  case PlaneKind::Offsets:
    return "offsets";
  case PlaneKind::Zeros:
    return "zeros";
  case PlaneKind::Header:
    return "header";
  case PlaneKind::High:
    return "high";
  case PlaneKind::Sub:
    return "sub";
  case PlaneKind::Super:
    return "super";
  }
  return "";
}

} // namespace llmc::codegen
