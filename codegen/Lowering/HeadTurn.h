// SPDX-License-Identifier: Apache-2.0
//
// A head as kernels compute it: each of its invocations has two vectors of it,
// which are normed and turned.

#ifndef LLMC_CODEGEN_LOWERING_HEADTURN_H
#define LLMC_CODEGEN_LOWERING_HEADTURN_H

#include "codegen/Lowering/HeadChain.h"
#include "codegen/Lowering/RegionLowering.h"
#include "codegen/Lowering/RotaryAngles.h"

namespace llmc::codegen {

/// Two vectors of a head (scalars where vectors have one element).
using VectorPair = std::pair<Value, Value>;

/// How a head is dealt to invocations: elements of a vector, vectors of a head.
struct HeadVectors {
  int64_t width, vectors;
  /// Invocations of a head.
  int64_t lanes() const { return (vectors + 1) / 2; }
};

/// Which two vectors an invocation has: the halves of its rotation pairs, or
/// two neighbours that nothing turns.
struct HeadLane {
  Value lane;
  /// Numbers of the vectors in the head; the second is 0 when it does not
  /// exist.
  Value first, second;
  /// Whether the second vector exists; null: always.
  Value hasSecond;
};

/// Emits the numbers of invocation `lane` of a head of `chain`.
HeadLane emitHeadLane(KernelBuilder &builder, HeadChain &chain,
                      HeadVectors vectors, Value lane);

/// Emits 1 / sqrt(mean of squares + epsilon) of the head, as a scalar. `x` is
/// what the invocation has of it, `sumOfHead` adds up a scalar of each of the
/// head's invocations.
Value emitInverseNorm(KernelBuilder &builder, graph::RmsNormOp norm,
                      HeadVectors vectors, const HeadLane &at, VectorPair x,
                      llvm::function_ref<Value(Value ofLane)> sumOfHead);

/// The same through workgroup memory: `firstLane` is the first of the head's
/// invocations; `squares` holds an f32 for each of the workgroup, from
/// `firstSquare` on. There is a barrier.
Value emitInverseNorm(KernelBuilder &builder, graph::RmsNormOp norm,
                      HeadVectors vectors, const HeadLane &at, VectorPair x,
                      Value squares, int64_t firstSquare, Value firstLane);

/// The rotation of a head in row `row` of the step (an index). With `table`, a
/// memref of such vectors, angles are read there: the sines of all pairs, then
/// the cosines.
class HeadTurn {
public:
  HeadTurn(KernelUnit &unit, graph::RotaryOp rotary, HeadVectors vectors,
           const HeadLane &at, Value row, Value table = {})
      : unit(unit), b(unit.builder()), rotary(rotary), vectors(vectors), at(at),
        row(row), table(table) {}

  /// Sines and cosines of the lane's pairs.
  FailureOr<VectorPair> angles();
  /// Lanes that turn something.
  int64_t turnedLanes() {
    return static_cast<int64_t>(rotary.getRotaryDim()) / (2 * vectors.width);
  }
  /// `x` turned, as far as it is in the range that is.
  FailureOr<VectorPair> turn(VectorPair x);

private:
  FailureOr<Value> emitPosition();
  FailureOr<FrequencyValues> emitFrequency();
  VectorPair deinterleave(VectorPair x);
  VectorPair interleave(VectorPair x);

  KernelUnit &unit;
  KernelBuilder &b;
  graph::RotaryOp rotary;
  HeadVectors vectors;
  HeadLane at;
  Value row, table;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_HEADTURN_H
