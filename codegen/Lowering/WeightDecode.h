// SPDX-License-Identifier: Apache-2.0
//
// Decoding of weights inside kernels: from the planes of docs/layouts.md to
// vectors of f32, a quad (four rows of the weight) at a time.

#ifndef LLMC_CODEGEN_LOWERING_WEIGHTDECODE_H
#define LLMC_CODEGEN_LOWERING_WEIGHTDECODE_H

#include "codegen/Lowering/PackedScales.h"
#include "codegen/Lowering/RegionLowering.h"

#include <array>

namespace llmc::codegen {

/// How codes of at most eight bits become f32; the `decode` of a lowering
/// config.
enum class CodeDecode {
  /// Shift, mask, convert.
  Convert,
  /// Mask four at once, convert a byte of a word: one instruction on devices
  /// that convert bytes. Needs i8_arithmetic.
  Bytes,
  /// A nibble is put into the mantissa of a float whose exponent makes it 16 or
  /// 256 more, which saves the conversion; other codes are made unsigned before
  /// they are converted, which saves the sign's extension.
  Exponent,
  /// Two nibbles of a word are put into the mantissas of two f16, which then
  /// are
  /// 1024 more; that is subtracted and the code widened, both exact. Other
  /// codes
  /// are converted. Needs f16_arithmetic.
  Halves
};

/// Reads one quad of one weight in one kernel. A weight's columns are cut into
/// groups that share scales; a group into units of 16 bytes of codes. A weight
/// is scale * (code - bias) + minimum, where the bias is the format's and the
/// decoding's; formats without scales have plain numbers as codes.
///
/// Planes are bound as vectors of 32-bit words, and halves are unpacked by
/// UnpackHalf2x16: no 8- or 16-bit feature is needed but for Bytes.
class WeightDecoder {
public:
  /// What the codes of one group need, as vectors over the quad's rows; null
  /// where the format has none.
  struct Group {
    Value scale;
    Value minimum;
    /// Words of high bits.
    Value high;
  };
  /// Where a group's elements lie in the planes: indices that a loop may carry,
  /// so that nothing is multiplied in it. Devices that take bytes have few
  /// registers; there, what takes a few shifts is left out.
  using Place = SmallVector<Value>;

  /// Binds the planes and emits the index arithmetic that depends on `quad` (an
  /// index below numQuads()) only. `groupColumns`: for formats without scales,
  /// the columns that the caller takes as a group, a multiple of the unit's;
  /// ignored for others. With a `rowPair` (an index below 2) the lane has two
  /// of the quad's rows, loads no more than theirs and takes units as words:
  /// vectors are over these rows, and what decodes codes, or takes bytes, is
  /// not for it.
  WeightDecoder(KernelUnit &unit, const WeightView &weight, Value quad,
                int64_t groupColumns, CodeDecode decode = CodeDecode::Convert,
                Value rowPair = Value());

  bool hasScale() const { return scaleColumns != 0; }
  bool hasMinimum() const;
  bool hasHighPlane() const {
    return layout().format == WeightFormat::Q5_K ||
           layout().format == WeightFormat::Q6_K;
  }
  /// Whether scales are those of 256 columns times those of a group.
  bool isKQuant() const { return hasHeader() || hasHighPlane(); }
  int64_t columnsPerGroup() const { return groupColumns; }
  int64_t unitColumns() const { return columnsPerUnit(layout().format); }
  int64_t unitsPerGroup() const { return groupColumns / unitColumns(); }
  int64_t numGroups() const { return layout().paddedColumns / groupColumns; }

  /// Where group `group` (an index) lies.
  Place placeOf(Value group);
  /// Where `next` lies, `groups` behind the group at `place`.
  Place advance(const Place &place, Value next, int64_t groups);
  /// The group after the one at `place`, whose number is even.
  Place neighbour(const Place &place);

  /// Loads the high bits of a group; the rest of the Group is null.
  Group loadHigh(const Place &place);
  /// Loads and unpacks its scales.
  void loadScales(const Place &place, Group &data);

  /// Whether scales of two neighbours can be had together (loadScalePair).
  bool pairsScales() const {
    return hasHeader() && decode == CodeDecode::Bytes;
  }
  /// Scales and minimums of two groups, bytes of the quad's rows, and what they
  /// are multiplied by: of each row d and dmin, two f16 in a word.
  struct ScalePair {
    std::array<Value, 2> scales, minimums;
    Value halves;
  };
  /// Of the group at `place`, whose number is even, and its neighbour.
  ScalePair loadScalePair(const Place &place);
  /// The codes of unit `unitInGroup` (an index), a word for each row, and its
  /// high bits, null where the format has none: at the bottom of each byte when
  /// they are shifted right by `highShift`.
  struct Unit {
    Value words, high;
    int64_t highShift = 0;
  };
  Unit loadUnit(const Place &place, const Group &data, Value unitInGroup);
  /// Unit number `unitInGroup`, whose words were loaded.
  Unit unitOf(Value words, const Group &data, int64_t unitInGroup) const;

  /// Whether codes are best taken row by row (rowCodes), else column by column
  /// (columnCodes).
  bool takesRows() const;
  /// Columns 4 * half … + 3 of row `row` of the quad as vector<4xf32>; with
  /// `inPlace` codeFactor(half) times too large, which saves a shift.
  Value rowCodes(const Unit &unit, int64_t half, int64_t row, bool inPlace);
  /// The same, in place, as two vector<2xf16>, exact. For formats with scales
  /// and without a codebook.
  std::array<Value, 2> rowHalves(const Unit &unit, int64_t half, int64_t row);
  /// What codes of that half are too large by when they are taken in place.
  double codeFactor(int64_t half) const;
  /// The largest absolute value of a code, with the bias in it.
  int64_t largestCode() const;
  /// The same columns of all four rows: a vector over the rows for each. Of
  /// formats with less than four columns in a unit, `units` are those of four
  /// columns, and half is 0.
  SmallVector<Value> columnCodes(ArrayRef<Unit> units, int64_t half);
  /// What the codes of that half are larger than they should be.
  double bias(int64_t half) const;
  /// What scale * code is added to for a weight of that half; null for nothing.
  Value offset(const Group &data, int64_t half);

  /// All columns of unit `unitInGroup` (an index) of group `group`, with scale
  /// and offset applied: unitColumns() vectors over the rows.
  SmallVector<Value> loadWeights(Value group, const Group &data,
                                 Value unitInGroup);
  Group loadGroup(Value group) {
    Place place = placeOf(group);
    Group data = loadHigh(place);
    loadScales(place, data);
    return data;
  }

private:
  struct BoundPlane {
    Value memref;
    /// Number of the quad's first element.
    Value base;
  };
  /// What a Place may hold, in this order: the unit; the element of planes with
  /// one for each group; that of the header or super plane; of header words,
  /// the first and the last that hold the group's bits, and how far to shift
  /// them.
  enum class Part { Unit, Element, Super, Low, High, PairShift };

  const WeightLayout &layout() const { return weight.layout; }
  bool hasHeader() const {
    return layout().format == WeightFormat::Q4_K ||
           layout().format == WeightFormat::Q5_K;
  }
  /// Groups that share an element of the header or super plane.
  int64_t groupsPerSuper() const { return 256 / groupColumns; }
  bool hasNibbles() const { return unitColumns() == 8; }
  bool hasCodebook() const {
    return codebookOf(layout().format) != Codebook::None;
  }
  /// Of a row's word of high bits.
  int64_t highBitsPerUnit() const {
    return layout().format == WeightFormat::Q6_K ? 4 : 2;
  }
  BoundPlane bindPlane(PlaneKind kind, Type element);
  /// The element of planes that are bound by rows in element `element`.
  Value elementOfRows(Value element);
  Value loadRows(PlaneKind kind, Value element);
  Value bytesOfRows(Value word);
  /// From a unit to the quad's next, in elements of the binding.
  int64_t unitStride() const {
    return rowPair ? 2 * kQuadsPerTile : kQuadsPerTile;
  }
  Value elementOf(Value group);
  /// The parts that places of this format hold.
  SmallVector<Part> parts() const;
  Value part(const Place &place, Part part) const;
  /// A part that the place does not hold, from one that it does.
  Value derive(const Place &place, Part part) const;
  Value partOfHeader(Value group, Part part) const;
  const BoundPlane &plane(PlaneKind kind) const {
    return planes[static_cast<unsigned>(kind)];
  }
  Value bytesToF32(Value word, bool isSigned);
  /// The words of a header that hold the group's bits.
  PackedKScales loadKWords(const Place &place);
  Value loadHalves(const Place &place);
  void loadKScales(const Place &place, Group &data);
  void loadQ6Scales(const Place &place, Group &data);
  void loadPlainScales(const Place &place, Group &data);
  SmallVector<Value> decodeFloats(Value words);
  SmallVector<Value> exponentNibbles(Value words, int64_t half);
  SmallVector<Value> halvesOfNibbles(Value words, int64_t half);
  SmallVector<Value> exponentBytes(Value words);
  /// Codes of nibbles and high bits or a codebook, one in each byte.
  Value nibbleBytes(const Unit &unit, int64_t half);
  /// The codes of one row's columns in the bytes of an i32.
  Value rowBytes(const Unit &unit, int64_t half, int64_t row, bool inPlace);

  KernelUnit &unit;
  KernelBuilder &b;
  WeightView weight;
  Value quad, rowPair;
  /// Of a quad, that vectors are over.
  int64_t numRows;
  int64_t scaleColumns;
  int64_t groupColumns;
  CodeDecode decode;
  std::array<BoundPlane, kNumPlaneKinds> planes;
  /// The header plane word by word, beside its binding as vectors.
  Value headerWords;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_WEIGHTDECODE_H
