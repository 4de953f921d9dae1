// SPDX-License-Identifier: Apache-2.0
//
// The program dialect: its ops, types, attributes and enums.

#ifndef LLMC_DIALECTS_PROGRAM_PROGRAM_H
#define LLMC_DIALECTS_PROGRAM_PROGRAM_H

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

#include "dialects/Program/ProgramDialect.h.inc"
#include "dialects/Program/ProgramEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Program/ProgramTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Program/ProgramAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Program/ProgramOps.h.inc"

#endif // LLMC_DIALECTS_PROGRAM_PROGRAM_H
