// SPDX-License-Identifier: Apache-2.0
//
// Parsers and printers of the graph dialect's ops, and their generated code.

#include "dialects/Graph/Graph.h"

#include "mlir/IR/Builders.h"

#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.cpp.inc"

namespace llmc::graph {

//===----------------------------------------------------------------------===//
// QuantizeActivationsOp
//===----------------------------------------------------------------------===//

QuantizedTypes quantizedTypesOf(RankedTensorType input, int64_t group) {
  int64_t rows = input.getDimSize(0), columns = input.getDimSize(1);
  Builder builder(input.getContext());
  Type f32 = builder.getF32Type();
  auto sums = RankedTensorType::get({rows, columns / kQuantizedBlock}, f32);
  return {RankedTensorType::get({rows, columns}, builder.getI8Type()),
          group == 0 ? RankedTensorType::get({rows}, f32) : sums, sums};
}

void QuantizeActivationsOp::build(OpBuilder &builder,
                                  mlir::OperationState &state, Value input,
                                  int64_t group) {
  QuantizedTypes types =
      quantizedTypesOf(cast<RankedTensorType>(input.getType()), group);
  build(builder, state, types.codes, types.scales, types.sums, input,
        static_cast<uint64_t>(group));
}

//===----------------------------------------------------------------------===//
// ShortConvOp
//===----------------------------------------------------------------------===//

void ShortConvOp::getEffects(
    SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &effects) {
  if (!getState())
    return;
  effects.emplace_back(mlir::MemoryEffects::Read::get());
  effects.emplace_back(mlir::MemoryEffects::Write::get());
}

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
