// SPDX-License-Identifier: Apache-2.0
//
// A weight as the f32 GEMM kernel reads it: adjacent quads of one linear, four
// columns of one row at a time, so that few decoded weights are alive at once.

#ifndef LLMC_CODEGEN_LOWERING_GEMMWEIGHTS_H
#define LLMC_CODEGEN_LOWERING_GEMMWEIGHTS_H

#include "codegen/Lowering/RegionLowering.h"

#include <array>

namespace llmc::codegen {

/// How a GEMM kernel takes codes apart.
enum class CodeForm {
  /// Shifted out one by one, unsigned but for 8 bits.
  Shifted,
  /// Four at a time as the signed bytes of a word.
  Packed
};

/// Whether weights of the format have offsets when their codes are packed.
inline bool packedHasOffsets(WeightFormat format) {
  return hasStoredOffsets(format);
}

/// Scales of one group of columns, for each quad of an invocation; a vector's
/// lanes are the quad's rows. weight = scale * code + offset, with the codes of
/// the CodeForm. Empty where the format has none.
struct GemmGroup {
  SmallVector<Value> scales, offsets;
};

/// The planes of a weight are bound as words; docs/layouts.md has the bits.
class GemmWeights {
public:
  /// `firstQuad` (an index) is the first of `numQuads` adjacent quads, all in
  /// one tile.
  GemmWeights(KernelUnit &unit, const WeightView &weight, Value firstQuad,
              int64_t numQuads, CodeForm form);

  /// Where the first quad's first group lies, an index; the next group's place
  /// is `kQuadsPerTile` more. It is the one place that a loop carries: what a
  /// group has in each plane follows from it by a few shifts, where registers
  /// for each plane would be alive all along the loop. For formats with scales.
  Value firstGroup();
  /// Index of the first unit of the group at `place`; the unit `units` further
  /// on is `units * kQuadsPerTile` more.
  Value unitsOf(Value place) { return elementOf(codes, place); }
  /// Index of the first quad's first unit.
  Value firstUnit();
  /// Scales and offsets of the group at `place`.
  GemmGroup loadScales(Value place);
  /// Sums over all groups, divided by the power of two that packed codes are
  /// too large by: once, instead of in the scales of each group.
  SmallVector<Value> withoutCodeFactor(ArrayRef<Value> sums);
  /// Its high bits; empty for formats without.
  SmallVector<Value> loadHigh(Value place);
  /// The 16 bytes of each quad at `place`, an index that firstUnit counts from.
  SmallVector<Value> loadUnits(Value place);
  /// The high bits of the unit at `place` (its number in the group where that
  /// is known when the kernel is built), moved to the bottom of each byte; what
  /// decode takes. Empty for formats without.
  SmallVector<Value> highOfUnit(ArrayRef<Value> highOfGroup, Value place,
                                std::optional<int64_t> unitInGroup);
  /// Weights of row `row` of quad `quad`, columns 4 * half … 4 * half + 3 of
  /// the units (two of 16 bits, four of 32, else one).
  std::array<Value, 4> decode(ArrayRef<SmallVector<Value>> units,
                              const GemmGroup &group, ArrayRef<Value> high,
                              int64_t quad, int64_t row, int64_t half);
  /// Form Packed: the same as four codes in the signed bytes of an i32. Not for
  /// floats.
  Value packedCodes(ArrayRef<Value> unit, ArrayRef<Value> high, int64_t quad,
                    int64_t row, int64_t half);

private:
  struct BoundPlane {
    Value memref;
    PlaneKind kind;
    /// Elements of the binding that make one element of the plane.
    int64_t perPosition;
  };

  const WeightLayout &layout() const { return weight.layout; }
  BoundPlane bind(PlaneKind kind, Type element, int64_t perPosition = 1);
  /// Index of the plane's first element for the first quad, where one has
  /// `columnsPerElement` columns.
  Value firstOf(int64_t columnsPerElement);
  /// Number of the plane's element, for the first quad, that has the group at
  /// `place`.
  Value elementOf(const BoundPlane &plane, Value place);
  /// That element for `quad`, the part `part` of it (0 when null).
  Value load(const BoundPlane &plane, Value place, int64_t quad,
             Value part = {});
  std::array<Value, 4> bytesToF32(Value word, bool isSigned);
  void loadPlainScales(Value place, GemmGroup &data);
  void loadKScales(Value place, GemmGroup &data);
  void loadQ6Scales(Value place, GemmGroup &data);
  std::array<Value, 4> decodeFloats(ArrayRef<SmallVector<Value>> units,
                                    int64_t quad, int64_t row);
  Value packedNibbles(Value word, Value high, int64_t half);
  Value packedSixBits(Value word, Value high, int64_t half);
  std::array<Value, 4> shiftedCodes(Value word, Value high, int64_t half);

  KernelUnit &unit;
  KernelBuilder &b;
  WeightView weight;
  Value firstQuad;
  int64_t numQuads;
  CodeForm form;
  /// Whether bytes convert as parts of a vector.
  bool hasBytes;
  BoundPlane codes, scales, offsets, header, headerWords, highBits, sub, super;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMMWEIGHTS_H
