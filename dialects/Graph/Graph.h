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

#include "dialects/Graph/GraphDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Graph/GraphTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.h.inc"

#endif // LLMC_DIALECTS_GRAPH_GRAPH_H
