// SPDX-License-Identifier: Apache-2.0
//
// How a GEMM for matrix units brings a step's activations and weights to
// workgroup memory, as f16.

#ifndef LLMC_CODEGEN_LOWERING_MATRIXSTAGE_H
#define LLMC_CODEGEN_LOWERING_MATRIXSTAGE_H

#include "codegen/Lowering/LinearRegion.h"
#include "codegen/Lowering/MatrixWeights.h"

#include <optional>
#include <vector>

namespace llmc::codegen {

/// The sizes of a kernel of kind gemm_matrix, from its config.
struct MatrixShape {
  WeightFormat format;
  /// Of a workgroup, columns of each linear; of a subgroup.
  int64_t rows, columns, kStep, subgroupRows, subgroupColumns;
  /// Steps that workgroup memory has room for; workgroups that share k.
  int64_t buffers, splits;
  int64_t invocations, linears;
  /// Of all of k.
  int64_t numSteps;

  int64_t chunksPerLine() const { return kStep / kChunkColumns; }
  int64_t lineVectors() const { return chunksPerLine() + kLinePadding; }
  int64_t inputVectors() const { return rows * lineVectors(); }
  int64_t weightVectors() const { return linears * columns * lineVectors(); }
  /// Of the sums of 16 rows and columns of each linear.
  int64_t sumVectors() const { return linears * kMatrixSize * kSumStride; }
  int64_t rowBlocks() const { return subgroupRows / kMatrixSize; }
  int64_t columnBlocks() const {
    return linears * subgroupColumns / kMatrixSize;
  }
  int64_t subgroups() const {
    return rows / subgroupRows * (columns / subgroupColumns);
  }
  int64_t stepsPerSplit() const { return (numSteps + splits - 1) / splits; }
  /// Of an invocation: vectors of activations and of weights in a step, and of
  /// the latter those with one scale.
  int64_t inputsPerStep() const { return rows * chunksPerLine() / invocations; }
  int64_t chunks() const { return linears * columns / 4 * chunksPerLine(); }
  int64_t chunksPerStep() const {
    return (chunks() + invocations - 1) / invocations;
  }
  int64_t chunksPerRun() const;
};

/// That of the context's region; an error there when the config is none for it.
FailureOr<MatrixShape> matrixShape(RegionContext &context, LinearRegion &parts);

class MatrixStage {
public:
  /// What an invocation loads for a step: for each vector of workgroup memory
  /// two of four f32, or eight f16 as four words; and of each run of chunks
  /// what it has in device memory, of both linears where invocations differ.
  struct Loaded {
    SmallVector<Value> inputs;
    SmallVector<SmallVector<Value>> runs;

    SmallVector<Value> values() const;
    void fill(ValueRange values);
  };

  MatrixStage(KernelUnit &unit, LinearRegion &parts, const MatrixShape &shape);

  /// For the workgroup's first row, of the step's `numRows`, and its first tile
  /// of the layout (indices). Rows beyond the last are read as that one.
  LogicalResult place(Value firstRow, Value numRows, Value firstTile);

  Loaded load(Value step);
  /// The activations alone.
  SmallVector<Value> loadInputs(Value step);
  /// Whether activations lie in memory as f16, so that none is beyond it.
  bool hasHalves() const { return parts.input.isHalf; }
  /// To buffer `buffer` (an index; null for the first). `scales`: of each of
  /// the invocation's vectors of activations; empty for 1.
  void store(const Loaded &loaded, ArrayRef<Value> scales, Value buffer,
             Value step);

  /// Of each vector of activations: its place in the first buffer, its row.
  ArrayRef<Value> places() const { return inputPlaces; }
  ArrayRef<Value> rows() const { return inputRows; }

  /// Vectors of 16 bytes: eight f16 or, in that of the activations after the
  /// last step, four sums.
  Value inputs, weights;

private:
  /// Where an invocation's run of chunks is: neighbours with one scale.
  struct RunPlace {
    /// Of each linear, at the run's quad; where invocations differ, at the
    /// first one for those that have the other linear.
    std::vector<MatrixWeights> weights;
    int64_t linear;
    /// Whether the run is of the first linear; null where all invocations have
    /// `linear`.
    Value isFirst;
    /// Whether the invocation has a run at all; null where all have.
    Value isPresent;
    /// Its first column in a step; the vector in workgroup memory of its first
    /// row and chunk.
    Value column, vector;
  };

  LogicalResult placeInputs(Value firstRow, Value numRows);
  void placeRuns(Value firstTile);
  Value ofLinear(const RunPlace &at, int64_t linear, Value index);
  SmallVector<Value> loadRun(const RunPlace &at, Value step);
  Value packed(ArrayRef<Value> loaded, size_t number, ArrayRef<Value> scales);
  void storeRun(const RunPlace &at, ArrayRef<Value> loaded, Value step,
                Value buffer);

  KernelUnit &unit;
  KernelBuilder &b;
  LinearRegion &parts;
  MatrixShape shape;
  /// The invocation's number in its workgroup.
  Value local;
  std::optional<ActivationRows> source;
  /// Eight f16 of a row at once; null where rows are not so aligned.
  Value halves;
  SmallVector<Value> inputStarts, inputPlaces, inputRows;
  std::vector<RunPlace> runPlaces;
};

/// The index of a buffer's vector; `buffer` null for the first.
Value inBuffer(KernelBuilder &b, Value vector, Value buffer, int64_t vectors);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_MATRIXSTAGE_H
