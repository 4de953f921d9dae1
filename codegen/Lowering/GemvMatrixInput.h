// SPDX-License-Identifier: Apache-2.0
//
// The row of x that a linear in matrix units multiplies, as fragments of a
// matrix of eight columns: of each of four groups of scales, one column is x
// with the eleven bits of f16 and the next what that left, so that 22 bits of
// each number count. A column is zero outside of its group, so that the sums of
// groups stay apart.

#ifndef LLMC_CODEGEN_LOWERING_GEMVMATRIXINPUT_H
#define LLMC_CODEGEN_LOWERING_GEMVMATRIXINPUT_H

#include "codegen/Lowering/LinearRegion.h"
#include "codegen/Lowering/MatrixFragments.h"

namespace llmc::codegen {

/// Groups of scales that one sum holds apart: a chunk.
inline constexpr int64_t kChunkGroups = 4;
/// Columns of the weight that four lanes have in a unit of eight each: a block.
inline constexpr int64_t kBlockColumns = 32;

/// What a lane has of one chunk of x.
struct ChunkInput {
  /// Of even and odd columns of the lane's unit, words of the right matrix: for
  /// columns 0 … 3, and for 4 … 7 divided by 16.
  std::array<std::array<Value, 2>, 2> words;
  /// Of group t of the chunk: the sum of x, and what sums of products of words
  /// with whole numbers are multiplied by.
  Value sum, factor;
  /// With a norm, squares of the lane's numbers; each number is in
  /// `squareCopies()` lanes.
  Value squares;
};

class GemvMatrixInput {
public:
  /// Groups of `groupColumns` columns, 16 or 32. `lane` is the lane's number in
  /// the subgroup.
  GemvMatrixInput(KernelBuilder &builder, LinearInput &input,
                  int64_t groupColumns, int64_t subgroupSize, Value lane);

  int64_t groupsPerBlock() const { return kBlockColumns / groupColumns; }
  int64_t blocksPerChunk() const { return kChunkGroups / groupsPerBlock(); }
  int64_t chunkColumns() const { return kChunkGroups * groupColumns; }
  int64_t squareCopies() const { return kFragmentGroups / blocksPerChunk(); }

  /// Of chunk `chunk` (an index) of the row at `base`.
  ChunkInput load(Value base, Value chunk);
  /// Workgroup memory for all chunks; what a subgroup keeps there others have
  /// behind a barrier, but for the squares.
  void makeRoom(int64_t numChunks);
  void keep(const ChunkInput &chunk, Value number);
  ChunkInput kept(Value number);
  /// The words of block `block` of the chunk: nothing but zeros in lanes of
  /// other blocks.
  std::array<Value, 2> ofBlock(const ChunkInput &chunk, int64_t odd,
                               int64_t block);

private:
  std::array<Value, 2> scaleOf(Value magnitude);
  Value wordOf(Value first, Value second);

  KernelBuilder &b;
  LinearInput &input;
  int64_t groupColumns, subgroupSize;
  Value lane;
  /// Workgroup memory: [chunk][lane], and [chunk][group] twice.
  Value words, sums, factors;
  /// The lane's unit of a block, the block of its columns, the lane that has
  /// what is wanted of the unit's group; whether the unit is in the group of
  /// the lane's columns, and whether these are what the first left.
  Value unit, block, laneOfGroup, isInGroup, isRest;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMVMATRIXINPUT_H
