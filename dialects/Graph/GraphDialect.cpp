// SPDX-License-Identifier: Apache-2.0
//
// Registration of the graph dialect.

#include "dialects/Graph/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace llmc::graph {

/// One of `allowed`.
static ParseResult parseChoice(mlir::AsmParser &parser, StringRef name,
                               ArrayRef<StringRef> allowed,
                               std::string &choice) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeywordOrString(&choice))
    return failure();
  if (!llvm::is_contained(allowed, choice))
    return parser.emitError(loc, "expected ")
           << name << " to be " << llvm::join(allowed, " or ") << ", found '"
           << choice << "'";
  return mlir::success();
}

/// `, splits = 2, accumulators = 4, registers = 20, arithmetic = f16`, each
/// with its default when left out. (Optional groups of a declarative format
/// cannot all begin with a comma.)
static ParseResult parseLoweringChoices(mlir::AsmParser &parser,
                                        int64_t &splits, int64_t &accumulators,
                                        int64_t &registers,
                                        std::string &arithmetic,
                                        std::string &reduction,
                                        std::string &decode) {
  splits = 1;
  accumulators = registers = 0;
  arithmetic = "f32";
  reduction = "workgroup";
  decode = "convert";
  while (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    ParseResult parsed = mlir::success();
    if (name == "arithmetic")
      parsed = parseChoice(parser, name, {"f32", "f16", "i8"}, arithmetic);
    else if (name == "reduction")
      parsed = parseChoice(parser, name, {"workgroup", "subgroup"}, reduction);
    else if (name == "decode")
      parsed = parseChoice(parser, name,
                           {"convert", "bytes", "exponent", "halves"}, decode);
    else if (name == "splits")
      parsed = parser.parseInteger(splits);
    else if (name == "accumulators")
      parsed = parser.parseInteger(accumulators);
    else if (name == "registers")
      parsed = parser.parseInteger(registers);
    else
      return parser.emitError(loc, "expected splits, accumulators, registers, "
                                   "arithmetic, reduction or decode, found '")
             << name << "'";
    if (failed(parsed))
      return failure();
  }
  return mlir::success();
}

static void printLoweringChoices(mlir::AsmPrinter &printer, int64_t splits,
                                 int64_t accumulators, int64_t registers,
                                 StringRef arithmetic, StringRef reduction,
                                 StringRef decode) {
  if (splits != 1)
    printer << ", splits = " << splits;
  if (accumulators != 0)
    printer << ", accumulators = " << accumulators;
  if (registers != 0)
    printer << ", registers = " << registers;
  if (arithmetic != "f32")
    printer << ", arithmetic = " << arithmetic;
  if (reduction != "workgroup")
    printer << ", reduction = " << reduction;
  if (decode != "convert")
    printer << ", decode = " << decode;
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
