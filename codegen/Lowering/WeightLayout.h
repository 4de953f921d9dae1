// SPDX-License-Identifier: Apache-2.0
//
// The planes that a weight's bytes are permuted into (docs/layouts.md), as
// plain C++: what the serializer packs and what kernels read. No MLIR here.

#ifndef LLMC_CODEGEN_LOWERING_WEIGHTLAYOUT_H
#define LLMC_CODEGEN_LOWERING_WEIGHTLAYOUT_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llmc::codegen {

/// What a kernel finds in the planes of a weight. The re-encodings have a name
/// of their own.
enum class WeightFormat {
  F32,
  F16,
  BF16,
  Q8_0,
  Q4_0,
  Q4_K,
  Q5_K,
  Q6_K,
  I8G16Offset,
  I8G16,
  I8G32
};

enum class PlaneKind {
  Values,
  Codes,
  Scales,
  Offsets,
  Header,
  High,
  Sub,
  Super
};
inline constexpr unsigned kNumPlaneKinds = 8;

/// One plane of a `tile16` weight is an array
/// [rows/16][columns/columnsPerElement][4 quads] of elements of
/// `bytesPerElement`; the plane of a `vector` weight is an array of f32.
struct Plane {
  PlaneKind kind;
  /// From the start of the weight; a multiple of kPlaneAlignment.
  int64_t offset;
  int64_t bytes;
  int64_t bytesPerElement;
  int64_t columnsPerElement;
};

inline constexpr int64_t kPlaneAlignment = 256;
inline constexpr int64_t kTileRows = 16;
inline constexpr int64_t kQuadsPerTile = 4;

struct WeightLayout {
  /// `vector` or `tile16`.
  std::string name;
  WeightFormat format;
  /// Of the weight, and with padding. A `vector` has one row.
  int64_t rows, columns;
  int64_t paddedRows, paddedColumns;
  std::vector<Plane> planes;
  /// Of all planes, a multiple of kPlaneAlignment.
  int64_t bytes;

  int64_t numQuads() const { return paddedRows / 4; }
  /// Index into `planes`; the plane must exist.
  unsigned planeIndex(PlaneKind kind) const;
  const Plane &plane(PlaneKind kind) const { return planes[planeIndex(kind)]; }
  /// Elements of the plane from one quad's column group to that quad's next
  /// tile.
  int64_t elementsPerTile(PlaneKind kind) const;
};

/// Columns that share one scale (or one block of the file): `columns` of a
/// weight must be a multiple. 1 for floats.
int64_t columnMultiple(WeightFormat format);

/// Columns that share a scale; 0 for formats of plain numbers.
int64_t scaleGroupColumns(WeightFormat format);

/// Whether a weight is scale * code + offset rather than scale * code.
bool hasOffsets(WeightFormat format);

/// Values of k in one 16-byte unit of the codes plane.
int64_t columnsPerUnit(WeightFormat format);

/// The layout of a [rows, columns] weight; nothing when `columns` is no
/// multiple of the format's block or a size is not positive or overflows.
std::optional<WeightLayout> tiledLayout(WeightFormat format, int64_t rows,
                                        int64_t columns);

/// The layout of a 1-D weight of `count` numbers: f32, padded with zeros to a
/// multiple of four.
std::optional<WeightLayout> vectorLayout(int64_t count);

/// `q8_0`, `i8g16`, …: for labels.
const char *formatName(WeightFormat format);

/// `codes`, `scales`, …: as docs/layouts.md calls the plane.
const char *planeName(PlaneKind kind);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_WEIGHTLAYOUT_H
