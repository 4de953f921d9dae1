// SPDX-License-Identifier: Apache-2.0
//
// A weight as kernels for matrix units read it: eight columns of a quad at a
// time become f16. What is loaded stays as it lies in device memory until it is
// decoded, so that nothing waits for a load before the matrices of the step
// before are multiplied.

#ifndef LLMC_CODEGEN_LOWERING_MATRIXWEIGHTS_H
#define LLMC_CODEGEN_LOWERING_MATRIXWEIGHTS_H

#include "codegen/Lowering/MatrixMemory.h"
#include "codegen/Lowering/RegionLowering.h"

#include <array>
#include <vector>

namespace llmc::codegen {

/// A vector of two f16 as a word.
Value wordOfHalves(KernelBuilder &b, Value f16x2);

/// Eight f16 in four words, of eight numbers in the order of their columns.
/// `takesPairs`: what MatrixWeights::takesPairs says of the weights that they
/// meet.
Value packColumns(KernelBuilder &b, ArrayRef<Value> f32x4s, bool takesPairs);

/// Likewise of eight f16 in four words, in order, for weights that are in
/// pairs.
Value pairColumns(KernelBuilder &b, Value words);

class MatrixWeights {
public:
  /// `firstQuad`: an index; the quad whose four rows are read.
  MatrixWeights(KernelUnit &unit, const WeightView &weight, Value firstQuad);

  /// Whether columns 4n … 4n + 3 lie in workgroup memory in the order 0, 2, 1,
  /// 3: as codes come out of a word, two at a time.
  static bool takesPairs(WeightFormat format);

  /// What `count` chunks of kChunkColumns columns have in device memory, from
  /// column `column` (an index) on; all in one group of scales, if the format
  /// has any.
  SmallVector<Value> load(Value column, int64_t count);

  /// Scales of a quad's rows, f16 or f32; the others null where the format
  /// has none. A weight is (code - zero) * scale + offset.
  struct Scales {
    std::array<Value, 4> scales, offsets, zeros;
  };
  /// Those of what `load` gave for `column` and `count`.
  Scales scalesOf(ArrayRef<Value> loaded, Value column, int64_t count);
  /// Row `row` (0 … 3) of its chunk `chunk`: eight f16 in four words.
  Value decode(ArrayRef<Value> loaded, const Scales &scales, Value column,
               int64_t count, int64_t chunk, int64_t row);

private:
  struct BoundPlane {
    PlaneKind kind;
    Value memref;
    int64_t columnsPerElement;
    /// Index of the element of the quad's first column.
    Value first;
  };

  const WeightLayout &layout() const { return weight.layout; }
  void bind(const Plane &plane, Type element);
  Value bindAlso(PlaneKind kind, Type element);
  /// Index of the plane's element that has `column`.
  Value elementOf(const BoundPlane &plane, Value column);
  int64_t unitsPerChunk() const;

  Scales kScales(ArrayRef<Value> header, Value column);
  Scales q6Scales(Value sub, Value super);
  Scales plainScales(ArrayRef<Value> loaded);

  Value floatColumns(ArrayRef<Value> units, int64_t row);
  /// Codes of four columns in the bytes of a word.
  Value byteCodes(Value word, Value high, int64_t half);
  std::array<Value, 2> codePairs(ArrayRef<Value> units, Value high, int64_t row,
                                 int64_t half);
  Value scaled(Value codes, const Scales &scales, int64_t row);

  KernelUnit &unit;
  KernelBuilder &b;
  WeightView weight;
  Value firstQuad;
  /// Codes (or values) first.
  std::vector<BoundPlane> planes;
  /// Of Q4_K and Q5_K: the header as words and as pairs of them.
  Value headerWords, headerPairs;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_MATRIXWEIGHTS_H
