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

/// What a kernel finds in the planes of a weight. Formats that several
/// encodings share have a name of their own: bits of a code, columns of a
/// stored scale, and what is stored besides it.
enum class WeightFormat {
  F32,
  F16,
  BF16,
  Q8_0,
  /// Also symmetric 4-bit weights in groups of 32.
  Q4_0,
  Q4_K,
  Q5_K,
  Q6_K,
  I8G16Offset,
  I8G16,
  I8G32,
  I8G32Offset,
  Q4_1,
  IQ4_NL,
  IQ4_XS,
  MXFP4,
  I4G64,
  I4G128,
  I4Channel,
  I4G32Zero,
  I4G64Zero,
  I4G128Zero,
  I4ChannelZero,
  I8Channel,
  I8ChannelZero
};

/// Numbers that nibbles are indices of (dialects/Graph/Codebooks.h).
enum class Codebook { None, Iq4, Mxfp4 };

enum class PlaneKind {
  Values,
  Codes,
  Scales,
  Offsets,
  Zeros,
  Header,
  High,
  Sub,
  Super
};
inline constexpr unsigned kNumPlaneKinds = 9;

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

/// Columns for which kernels take a scale at a time, 16 or 32; 0 for formats of
/// plain numbers. More of them may share a stored scale.
int64_t scaleGroupColumns(WeightFormat format);

/// Groups of scaleGroupColumns() columns that share an element of the scales
/// plane; 0: all of a row.
int64_t groupsPerScale(WeightFormat format);

/// Whether a weight is scale * code + offset rather than scale * code, with
/// codes that are not centred.
bool hasOffsets(WeightFormat format);

/// Whether the offset is stored, or a zero point from which it follows.
bool hasStoredOffsets(WeightFormat format);

/// What codes are too large by: 8 (Q4_0), 32 (Q6_K), else 0.
int64_t codeBias(WeightFormat format);

/// What nibbles stand for when they are no numbers.
Codebook codebookOf(WeightFormat format);

/// Whether codes are four bits and numbers.
bool hasPlainNibbles(WeightFormat format);

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
