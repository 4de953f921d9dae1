// SPDX-License-Identifier: Apache-2.0
//
// The graph dialect: its ops, types, attributes and enums.

#ifndef LLMC_DIALECTS_GRAPH_GRAPH_H
#define LLMC_DIALECTS_GRAPH_GRAPH_H

#include "dialects/Graph/GraphEnums.h"
#include "dialects/Support/LLVM.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace llmc::graph {

/// Each element of the op's result depends on one element of each operand only,
/// so that the op can join the one before or after it.
template <typename ConcreteOp>
class WorksByElement
    : public mlir::OpTrait::TraitBase<ConcreteOp, WorksByElement> {};

} // namespace llmc::graph

#include "dialects/Graph/GraphDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Graph/GraphTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.h.inc"

namespace llmc::graph {

inline bool isElementwise(Operation *op) {
  return op->hasTrait<WorksByElement>();
}

/// Columns that share a sum of quantized activations, and a scale where they
/// have one of their own.
inline constexpr int64_t kQuantizedBlock = 32;

/// The result types of a quantize_activations.
struct QuantizedTypes {
  RankedTensorType codes, scales, sums;
};

/// Those for an input [rows, k], k a multiple of 32; `group` is the op's.
QuantizedTypes quantizedTypesOf(RankedTensorType input, int64_t group);

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_GRAPH_H
