// SPDX-License-Identifier: Apache-2.0
//
// Decoding of weights inside kernels: from the planes of docs/layouts.md to
// vectors of f32, a quad (four rows of the weight) at a time.

#ifndef LLMC_CODEGEN_LOWERING_WEIGHTDECODE_H
#define LLMC_CODEGEN_LOWERING_WEIGHTDECODE_H

#include "codegen/Lowering/RegionLowering.h"

#include <array>

namespace llmc::codegen {

/// Reads one quad of one weight in one kernel. A weight's columns are cut into
/// groups that share scales; a group into units of 16 bytes of codes. A weight
/// is scale * code + offset; formats without scales have plain numbers as
/// codes.
///
/// Planes are bound as vectors of 32-bit words, and halves are unpacked by
/// UnpackHalf2x16: no 8- or 16-bit feature is needed.
class WeightDecoder {
public:
  /// What the codes of one group need, as vectors over the quad's rows; null
  /// where the format has none.
  struct Group {
    Value scale;
    Value offset;
    /// Words of high bits.
    Value high;
  };

  /// Binds the planes and emits the index arithmetic that depends on `quad` (an
  /// index below numQuads()) only. `groupColumns`: for formats without scales,
  /// the columns that the caller takes as a group, a multiple of the unit's;
  /// ignored for others.
  WeightDecoder(KernelUnit &unit, const WeightView &weight, Value quad,
                int64_t groupColumns);

  bool hasScale() const { return scaleColumns != 0; }
  bool hasOffset() const { return hasOffsets(layout().format); }
  int64_t columnsPerGroup() const { return groupColumns; }
  int64_t unitColumns() const { return columnsPerUnit(layout().format); }
  int64_t unitsPerGroup() const { return groupColumns / unitColumns(); }
  int64_t numGroups() const { return layout().paddedColumns / groupColumns; }

  /// Loads and unpacks the scales of group `group` (an index).
  Group loadGroup(Value group);
  /// The codes of unit `unitInGroup` (an index, best a constant) of group
  /// `group` as f32: unitColumns() vectors, one per column.
  SmallVector<Value> loadCodes(Value group, const Group &data,
                               Value unitInGroup);
  /// The same with scale and offset applied.
  SmallVector<Value> loadWeights(Value group, const Group &data,
                                 Value unitInGroup);

private:
  struct BoundPlane {
    Value memref;
    /// Index of the quad's first element.
    Value base;
  };

  const WeightLayout &layout() const { return weight.layout; }
  /// Binds `kind` as elements of which `perPosition` make one element of the
  /// plane.
  BoundPlane bindPlane(PlaneKind kind, Type element, int64_t perPosition);
  /// Element `part` of those that `position` (a number of a column group of the
  /// plane) has.
  Value loadElement(PlaneKind kind, Value position, int64_t perPosition = 1,
                    Value part = {});
  Value unpackHalf4(Value words);
  void loadKScales(Value group, Group &data);
  void loadQ6Scales(Value group, Group &data);
  SmallVector<Value> decodeFloats(Value words);
  SmallVector<Value> decodeBytes(Value words);
  SmallVector<Value> decodeNibbles(Value words, Value high);

  KernelUnit &unit;
  KernelBuilder &b;
  WeightView weight;
  Value quad;
  int64_t scaleColumns;
  int64_t groupColumns;
  std::array<BoundPlane, kNumPlaneKinds> planes;
  /// The header plane word by word, beside its binding as vectors.
  BoundPlane headerWords;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_WEIGHTDECODE_H
