// SPDX-License-Identifier: Apache-2.0
//
// The row of x that a linear in matrix units multiplies, as fragments of a
// matrix of eight columns: of each of four groups of scales, one column is x
// with the eleven bits of f16 and the next what that left, so that 22 bits of
// each number count. A column is zero outside of its group, so that the sums of
// groups stay apart. A workgroup makes them once, in its memory.

#ifndef LLMC_CODEGEN_LOWERING_GEMVMATRIXINPUT_H
#define LLMC_CODEGEN_LOWERING_GEMVMATRIXINPUT_H

#include "codegen/Lowering/GemvMatrixSizes.h"
#include "codegen/Lowering/LinearRegion.h"
#include "codegen/Lowering/MatrixFragments.h"

namespace llmc::codegen {

/// What a lane has of one chunk of x.
struct ChunkInput {
  /// Of even and odd columns of each step's units, words of the right matrix:
  /// for columns 0 … 3, and for 4 … 7 divided by 16.
  using Words = std::array<std::array<Value, 2>, 2>;
  SmallVector<Words> steps;
  /// Of group t of the chunk: the sum of x, and what sums of products of words
  /// with codes are multiplied by.
  Value sum, factor;
};

/// Codes are subnormal f16, whole numbers divided by this: the inverse of the
/// smallest f16 above zero.
inline constexpr double kCodeDivisor = 0x1p24;

/// A chunk is multiplied in steps, of one unit of each of its groups, so that a
/// lane's units are of the group it scales. Subgroups store segments of x as
/// the lanes read them, eight columns a lane.
class GemvMatrixInput {
public:
  /// Groups of `groupColumns` columns, 16 or 32. `lane` is the lane's number in
  /// the subgroup.
  GemvMatrixInput(KernelBuilder &builder, LinearInput &input,
                  int64_t groupColumns, int64_t subgroupSize, Value lane);

  int64_t numSteps() const { return groupColumns / kUnitColumns; }
  int64_t chunkColumns() const { return kChunkGroups * groupColumns; }
  int64_t segmentColumns() const { return subgroupSize * kUnitColumns; }

  /// Workgroup memory for `columns` of x.
  void makeRoom(int64_t columns);
  /// Stores segment `number` (an index) of the row at `base`; others have it
  /// behind a barrier. With a norm, adds the squares of the lane's numbers to
  /// `squares`.
  void keep(Value base, Value number, Value &squares);
  /// Likewise what stands for columns of other groups. `thread` is the
  /// invocation's number.
  void keepZeros(Value thread);
  /// Chunk `number` + `after`; `number` is an index.
  ChunkInput kept(Value number, int64_t after = 0);
  /// The memory of the words of all chunks, vectors of four i32, for what comes
  /// after the last chunk is read.
  Value memory() const { return words; }

private:
  static constexpr int64_t kUnitColumns = kGemvMatrixUnitColumns;

  /// The columns of a unit, times the norm's gain.
  struct Unit {
    Value lower, upper, magnitude, sum;
  };
  int64_t wordsPerChunk() const { return numSteps() * kFragmentGroups; }
  Unit loadUnit(Value base, Value number, Value &squares);
  std::array<Value, 2> scaleOf(Value magnitude);
  Value wordOf(Value first, Value second, bool isRest);
  Value wordsOf(const Unit &unit, Value scale, bool isRest);

  KernelBuilder &b;
  LinearInput &input;
  int64_t groupColumns, subgroupSize;
  Value lane;
  /// Workgroup memory: [chunk][step][column], and as many zeros as a chunk has
  /// words, from `zeros` on; of each group its sum; of each block its factor.
  Value words, sums, factors;
  int64_t zeros = 0;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMVMATRIXINPUT_H
