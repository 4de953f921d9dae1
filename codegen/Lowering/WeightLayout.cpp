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
  int64_t columnsPerElement;
};

struct FormatShape {
  int64_t bitsPerCode;
  int64_t columnMultiple;
  std::vector<PlaneShape> planesAfterCodes;
};

constexpr int64_t kUnitBytes = 16;
// Larger weights than this are refused, so that no size below can overflow.
constexpr int64_t kMaxElements = int64_t{1} << 40;

const FormatShape &shapeOf(WeightFormat format) {
  static const FormatShape f32{32, 1, {}};
  static const FormatShape f16{16, 1, {}};
  static const FormatShape q8_0{8, 32, {{PlaneKind::Scales, 8, 32}}};
  static const FormatShape q4_0{4, 32, {{PlaneKind::Scales, 8, 32}}};
  static const FormatShape q4K{4, 256, {{PlaneKind::Header, 64, 256}}};
  static const FormatShape q5K{
      4, 256, {{PlaneKind::Header, 64, 256}, {PlaneKind::High, 16, 32}}};
  static const FormatShape q6K{4,
                               256,
                               {{PlaneKind::High, 16, 16},
                                {PlaneKind::Sub, 4, 16},
                                {PlaneKind::Super, 8, 256}}};
  static const FormatShape i8g16Offset{
      8, 256, {{PlaneKind::Scales, 16, 16}, {PlaneKind::Offsets, 16, 16}}};
  static const FormatShape i8g16{8, 256, {{PlaneKind::Scales, 16, 16}}};
  static const FormatShape i8g32{8, 256, {{PlaneKind::Scales, 16, 32}}};
  switch (format) {
  case WeightFormat::F32:
    return f32;
  case WeightFormat::F16:
  case WeightFormat::BF16:
    return f16;
  case WeightFormat::Q8_0:
    return q8_0;
  case WeightFormat::Q4_0:
    return q4_0;
  case WeightFormat::Q4_K:
    return q4K;
  case WeightFormat::Q5_K:
    return q5K;
  case WeightFormat::Q6_K:
    return q6K;
  case WeightFormat::I8G16Offset:
    return i8g16Offset;
  case WeightFormat::I8G16:
    return i8g16;
  case WeightFormat::I8G32:
    return i8g32;
  }
  return f32;
}

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
} // namespace

int64_t columnMultiple(WeightFormat format) {
  return shapeOf(format).columnMultiple;
}

int64_t scaleGroupColumns(WeightFormat format) {
  switch (format) {
  case WeightFormat::F32:
  case WeightFormat::F16:
  case WeightFormat::BF16:
    return 0;
  case WeightFormat::Q6_K:
  case WeightFormat::I8G16:
  case WeightFormat::I8G16Offset:
    return 16;
  default:
    return 32;
  }
}

bool hasOffsets(WeightFormat format) {
  switch (format) {
  case WeightFormat::Q4_0:
  case WeightFormat::Q4_K:
  case WeightFormat::Q5_K:
  case WeightFormat::Q6_K:
  case WeightFormat::I8G16Offset:
    return true;
  default:
    return false;
  }
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

const char *formatName(WeightFormat format) {
  switch (format) {
  case WeightFormat::F32:
    return "f32";
  case WeightFormat::F16:
    return "f16";
  case WeightFormat::BF16:
    return "bf16";
  case WeightFormat::Q8_0:
    return "q8_0";
  case WeightFormat::Q4_0:
    return "q4_0";
  case WeightFormat::Q4_K:
    return "q4_k";
  case WeightFormat::Q5_K:
    return "q5_k";
  case WeightFormat::Q6_K:
    return "q6_k";
  case WeightFormat::I8G16Offset:
    return "i8g16_offset";
  case WeightFormat::I8G16:
    return "i8g16";
  case WeightFormat::I8G32:
    return "i8g32";
  }
  return "";
}

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
