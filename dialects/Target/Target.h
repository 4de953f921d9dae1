// SPDX-License-Identifier: Apache-2.0
//
// The target dialect: its ops, types, attributes and enums.

#ifndef LLMC_DIALECTS_TARGET_TARGET_H
#define LLMC_DIALECTS_TARGET_TARGET_H

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

#include "dialects/Target/TargetDialect.h.inc"
#include "dialects/Target/TargetEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Target/TargetAttrs.h.inc"

#endif // LLMC_DIALECTS_TARGET_TARGET_H
