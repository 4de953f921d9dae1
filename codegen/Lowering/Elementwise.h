// SPDX-License-Identifier: Apache-2.0
//
// Element-wise graph ops on vectors of four columns: the epilogue of every
// root.

#ifndef LLMC_CODEGEN_LOWERING_ELEMENTWISE_H
#define LLMC_CODEGEN_LOWERING_ELEMENTWISE_H

#include "codegen/Lowering/RegionLowering.h"

#include "llvm/ADT/SetVector.h"

namespace llmc::codegen {

/// An op for which graph::isElementwise holds, on operands that are vectors of
/// f32 (or scalars) of one type.
Value emitElementwise(KernelBuilder &builder, Operation *op,
                      ValueRange operands);

/// Zero in the lanes of `vec4` that are beyond `columns` when it stands for
/// columns 4 * quad … 4 * quad + 3: what padding of a row must hold.
Value zeroPadding(KernelBuilder &builder, Value vec4, Value quad,
                  int64_t columns);

/// Values of a region's body at one place: row `row`, columns 4 * quad … 4 *
/// quad + 3 of the row flattened. Operands in memory are loaded there; 1-D
/// weights and constants are broadcast over rows.
class ElementwiseEmitter {
public:
  /// `row` and `quad` are indices; `quad` counts from the first column that the
  /// part of the weight computes (RegionContext::firstColumn).
  ElementwiseEmitter(KernelUnit &unit, Value row, Value quad)
      : unit(unit), row(row),
        quad(unit.builder().add(quad, unit.getContext().firstColumn() / 4)) {}

  /// States that `inBody`, which is not element-wise, is `vec4` here.
  void map(Value inBody, Value vec4) { known[inBody] = vec4; }
  /// Loads what the results need besides those of `pending`, which are mapped
  /// later: their memory's latency then passes meanwhile.
  LogicalResult preload(ArrayRef<Operation *> pending);
  /// The value here; an error at its op when it is neither known, element-wise,
  /// a weighted_sum, a constant nor in memory, or broadcasts in a way that is
  /// not supported.
  FailureOr<Value> evaluate(Value inBody);
  /// Evaluates result `number` of the region, sets its padding to zero and
  /// stores it.
  LogicalResult storeResult(unsigned number);
  /// All results of the region but those of a quantize_activations.
  LogicalResult storeResults();

private:
  FailureOr<Value> compute(Value inBody);
  FailureOr<Value> weightedSum(graph::WeightedSumOp sum);
  FailureOr<Value> broadcastOperand(Operation *op, Value operand);
  FailureOr<Value> loadVector(Value encoded, Value quadOfVector);

  KernelUnit &unit;
  Value row, quad;
  DenseMap<Value, Value> known;
  /// Of the known ones, those that were loaded.
  llvm::SetVector<Value> loaded;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_ELEMENTWISE_H
