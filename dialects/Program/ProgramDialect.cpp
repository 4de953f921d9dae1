// SPDX-License-Identifier: Apache-2.0
//
// Registration of the program dialect.

#include "dialects/Program/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Program/ProgramDialect.cpp.inc"
#include "dialects/Program/ProgramEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Program/ProgramTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Program/ProgramAttrs.cpp.inc"

namespace llmc::program {

void ProgramDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Program/ProgramOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Program/ProgramTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Program/ProgramAttrs.cpp.inc"
      >();
}

} // namespace llmc::program
