// SPDX-License-Identifier: Apache-2.0
//
// A row of the GEMV kernel's input in workgroup memory, some thousand columns
// at a time: the loop reads it with fewer instructions and registers than from
// a buffer, and what is done to every number is done once for the workgroup's
// 16 rows of the weight.

#ifndef LLMC_CODEGEN_LOWERING_GEMVSTAGE_H
#define LLMC_CODEGEN_LOWERING_GEMVSTAGE_H

#include "codegen/Lowering/LinearRegion.h"

namespace llmc::codegen {

/// Numbers are staged times the norm's gain, times a factor of the caller's,
/// and divided by what the codes that they will meet are too large
/// (WeightDecoder::codeFactor): as f32, or as f16 in pairs of columns.
class GemvStage {
public:
  /// For `columns` columns (a multiple of four, of eight for formats with eight
  /// columns a unit) and a workgroup of `lanes` invocations.
  GemvStage(KernelBuilder &builder, LinearInput &input,
            const WeightDecoder &decoder, int64_t columns, int64_t lanes,
            bool isHalf);

  /// Columns of an element of the stage: what is read at once, 16 bytes.
  int64_t columnsPerElement() const { return isHalf ? 8 : 4; }

  /// Stages `numQuads` vectors of four columns from number `firstQuad` on, of
  /// the row that begins at `rowBase`; both are indices, `lane` the
  /// invocation's number, `factor` an f32 or null. The caller puts barriers
  /// before and after.
  void fill(Value rowBase, Value firstQuad, Value numQuads, Value lane,
            Value factor);

  /// The four columns of element number `element` (an index), in f32.
  Value loadQuad(Value element) { return b.load(memory, element); }
  /// The eight columns of an element as four vector<2xf16>.
  std::array<Value, 4> loadPairs(Value element);

private:
  KernelBuilder &b;
  LinearInput &input;
  int64_t lanes, quadsAtOnce;
  bool isHalf;
  /// What the columns of a unit's first and second vector are divided by.
  std::array<double, 2> codeFactors;
  Value memory;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMVSTAGE_H
