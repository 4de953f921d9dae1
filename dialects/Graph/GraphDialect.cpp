// SPDX-License-Identifier: Apache-2.0
//
// Registration of the graph dialect.

#include "dialects/Graph/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

namespace llmc::graph {

/// `, splits = 2, accumulators = 4, registers = 20`, each with its default when
/// left out. (Optional groups of a declarative format cannot all begin with a
/// comma.)
static ParseResult parseLoweringEstimates(mlir::AsmParser &parser,
                                          int64_t &splits,
                                          int64_t &accumulators,
                                          int64_t &registers) {
  splits = 1;
  accumulators = registers = 0;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    int64_t *value = llvm::StringSwitch<int64_t *>(name)
                         .Case("splits", &splits)
                         .Case("accumulators", &accumulators)
                         .Case("registers", &registers)
                         .Default(nullptr);
    if (!value)
      return parser.emitError(loc, "expected splits, accumulators or "
                                   "registers, found '")
             << name << "'";
    if (parser.parseEqual() || parser.parseInteger(*value))
      return failure();
  }
  return mlir::success();
}

static void printLoweringEstimates(mlir::AsmPrinter &printer, int64_t splits,
                                   int64_t accumulators, int64_t registers) {
  if (splits != 1)
    printer << ", splits = " << splits;
  if (accumulators != 0)
    printer << ", accumulators = " << accumulators;
  if (registers != 0)
    printer << ", registers = " << registers;
}

} // namespace llmc::graph

#include "dialects/Graph/GraphDialect.cpp.inc"
#include "dialects/Graph/GraphEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Graph/GraphTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttrs.cpp.inc"

namespace llmc::graph {

void GraphDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/GraphOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Graph/GraphTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Graph/GraphAttrs.cpp.inc"
      >();
}

} // namespace llmc::graph
