// SPDX-License-Identifier: Apache-2.0
//
// Parsers and printers of the graph dialect's ops, and their generated code.

#include "dialects/Graph/Graph.h"

#include "mlir/IR/Builders.h"

#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.cpp.inc"

namespace llmc::graph {

//===----------------------------------------------------------------------===//
// RegionOp: graph.region (%arg = %value : type, …) config -> (types) { … }
//===----------------------------------------------------------------------===//

ParseResult RegionOp::parse(mlir::OpAsmParser &parser,
                            mlir::OperationState &state) {
  SmallVector<mlir::OpAsmParser::Argument> arguments;
  SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
  auto parseBinding = [&]() -> ParseResult {
    auto &argument = arguments.emplace_back();
    return failure(parser.parseArgument(argument) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()) ||
                   parser.parseColonType(argument.type));
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Paren,
                                     parseBinding))
    return failure();
  for (auto [argument, operand] : llvm::zip_equal(arguments, operands))
    if (parser.resolveOperand(operand, argument.type, state.operands))
      return failure();
  SmallVector<Type> results;
  if (succeeded(parser.parseOptionalArrow()) &&
      parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Paren, [&] {
        return parser.parseType(results.emplace_back());
      }))
    return failure();
  state.addTypes(results);
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  return parser.parseRegion(*state.addRegion(), arguments);
}

void RegionOp::print(mlir::OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getInputs()),
                        printer, [&](auto pair) {
                          auto [argument, value] = pair;
                          printer << argument << " = " << value << " : "
                                  << value.getType();
                        });
  printer << ")";
  if (getNumResults() != 0) {
    printer << " -> (";
    llvm::interleaveComma(getResultTypes(), printer);
    printer << ")";
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

} // namespace llmc::graph
