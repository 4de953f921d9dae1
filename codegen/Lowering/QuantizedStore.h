// SPDX-License-Identifier: Apache-2.0
//
// Storing activations as int8 codes with scales and sums
// (docs/architecture.md), the last thing that a producer does.

#ifndef LLMC_CODEGEN_LOWERING_QUANTIZEDSTORE_H
#define LLMC_CODEGEN_LOWERING_QUANTIZEDSTORE_H

#include "codegen/Lowering/RegionLowering.h"

namespace llmc::codegen {

/// Quads of 32 columns, which share a sum, and a scale unless rows have one.
inline constexpr int64_t kQuadsPerBlock = graph::kQuantizedBlock / 4;

/// The quantize_activations that a region ends in, and where its results go.
struct QuantizedResult {
  /// What is quantized.
  Value input;
  /// As the op has it.
  int64_t group = 0;
  View codes, scales, sums;

  int64_t numBlocks() const { return sums.columns(); }
  bool hasRowScales() const { return group == 0; }
};

/// None when the region yields no codes.
std::optional<QuantizedResult> findQuantizedResult(RegionContext &context);

/// What a group's numbers are divided by, and multiplied with to get codes;
/// zeros for a group of zeros, as which one below 1e-30 counts.
struct CodeScale {
  Value scale, inverse;
};

/// For the group's largest magnitude, a scalar or a vector of several groups'.
CodeScale codeScale(KernelBuilder &builder, Value largest);

/// The largest magnitude in a vector of four.
Value largestMagnitude(KernelBuilder &builder, Value vec4);

/// The low bytes of two to four i32 as those of one i32, the first one's
/// lowest.
Value packBytes(KernelBuilder &builder, Value numbers);

/// A quad of one row, or of four rows from a multiple of four on, that an
/// invocation holds while its neighbours hold others of the same 32 columns.
struct SharedQuad {
  /// Vectors of four columns; row i is `row` + i. Indices.
  SmallVector<Value, 4> values;
  Value row, quad;
  /// Eight slots from a multiple of eight on are the quads of 32 columns, of
  /// the same rows, in order.
  Value slot;
  /// Whether to store anything; null for always.
  Value stores;
};

/// Emits stores of one kernel's quantized result.
class QuantizedStore {
public:
  QuantizedStore(KernelUnit &unit, const QuantizedResult &result)
      : unit(unit), b(unit.builder()), result(result) {}

  /// Codes of four columns of a row; gives their sum, an i32.
  Value storeCodes(Value row, Value quad, Value vec4, Value inverse);
  /// The sum of 32 columns, and their scale unless rows have one.
  void storeBlockSum(Value row, Value block, Value scale, Value sumOfCodes);
  void storeRowScale(Value row, Value scale);
  /// 32 columns whose eight quads this invocation has, with their own scale.
  void storeBlock(Value row, Value block, ArrayRef<Value> quads);
  /// Quads with their blocks' own scales. Every invocation of the workgroup
  /// must arrive here, with as many quads of as many rows as the others, each
  /// of its own slot below `numSlots`. Takes two numbers of workgroup memory a
  /// slot and row, once for all calls; those must agree in slots and rows.
  void storeShared(ArrayRef<SharedQuad> quads, int64_t numSlots);

private:
  /// Puts the largest magnitude of each quad and row into workgroup memory,
  /// which it allocates.
  void shareMagnitudes(ArrayRef<SharedQuad> quads, int64_t numSlots);
  /// Index of a row's item in [rows / 4][width][4 rows], or of four rows' item
  /// in [rows / 4][width].
  Value placeOf(Value row, Value item, int64_t width, size_t numRows);
  /// Puts |values|, one a row, at `item` of the rows from `row` on.
  void storeRows(const View &view, ArrayRef<Value> values, Value row,
                 Value item, int64_t width);

  KernelUnit &unit;
  KernelBuilder &b;
  QuantizedResult result;
  /// Workgroup memory of storeShared.
  Value magnitudes, codeSums;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_QUANTIZEDSTORE_H
