// SPDX-License-Identifier: Apache-2.0
//
// The row of x that a linear in matrix units multiplies, as fragments of a
// matrix of eight columns: of each of four groups of scales, one column is x
// with the eleven bits of f16 and the next what that left, so that 22 bits of
// each number count. A column is zero outside of its group, so that the sums of
// groups stay apart.

#ifndef LLMC_CODEGEN_LOWERING_GEMVMATRIXINPUT_H
#define LLMC_CODEGEN_LOWERING_GEMVMATRIXINPUT_H

#include "codegen/Lowering/GemvMatrixSizes.h"
#include "codegen/Lowering/LinearRegion.h"
#include "codegen/Lowering/MatrixFragments.h"

namespace llmc::codegen {

/// Columns of the weight that four lanes have in a unit of eight each: a block.
inline constexpr int64_t kBlockColumns = 32;

/// What a lane has of one chunk of x.
struct ChunkInput {
  /// Of even and odd columns of each step's units, words of the right matrix:
  /// for columns 0 … 3, and for 4 … 7 divided by 16.
  using Words = std::array<std::array<Value, 2>, 2>;
  SmallVector<Words> steps;
  /// Of group t of the chunk: the sum of x, and what sums of products of words
  /// with whole numbers are multiplied by.
  Value sum, factor;
};

/// A chunk is multiplied in steps, of a unit in each lane: where a subgroup has
/// a chunk for itself (`load`), of the four units of a block; where chunks wait
/// in workgroup memory for all subgroups (`keep`, `kept`), of one unit of each
/// group, so that a lane's units are of the group it scales.
class GemvMatrixInput {
public:
  /// Groups of `groupColumns` columns, 16 or 32. `lane` is the lane's number in
  /// the subgroup.
  GemvMatrixInput(KernelBuilder &builder, LinearInput &input,
                  int64_t groupColumns, int64_t subgroupSize, Value lane);

  int64_t groupsPerBlock() const { return kBlockColumns / groupColumns; }
  int64_t numSteps() const { return kChunkGroups / groupsPerBlock(); }
  int64_t chunkColumns() const { return kChunkGroups * groupColumns; }
  /// Lanes that add the square of a number.
  int64_t squareCopies() const {
    return words ? kFragmentGroups : kFragmentGroups / numSteps();
  }

  /// Of chunk `number` (an index) of the row at `base`. With a norm, adds the
  /// squares of the lane's numbers to `squares`.
  ChunkInput load(Value base, Value number, Value &squares);
  /// Workgroup memory for all chunks; what a subgroup keeps there others have
  /// behind a barrier.
  void makeRoom(int64_t numChunks);
  void keep(Value base, Value number, Value &squares);
  ChunkInput kept(Value number);

private:
  /// Some columns of x, times the norm's gain.
  struct Columns {
    SmallVector<Value> quads;
    Value magnitude, sum;
  };
  Columns loadColumns(Value base, Value first, int64_t numQuads,
                      Value &squares);
  std::array<Value, 2> scaleOf(Value magnitude);
  Value wordOf(Value first, Value second);
  ChunkInput::Words wordsOf(Value lower, Value upper, Value scale);

  KernelBuilder &b;
  LinearInput &input;
  int64_t groupColumns, subgroupSize;
  Value lane;
  /// Workgroup memory: [chunk][step][column], and [chunk][group] twice.
  Value words, sums, factors;
  /// The lane's column of the matrix and the group of that; t; whether the
  /// column is the rest.
  Value column, group, unit, isRest;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMVMATRIXINPUT_H
