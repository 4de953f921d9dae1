// SPDX-License-Identifier: Apache-2.0
//
// Cuts regions out of functions, so that each kind of kernel can be run alone.

#include "compiler/Transforms/Passes.h"

#include "dialects/Graph/RegionResults.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#define DEBUG_TYPE "llmc-add-self-tests"

namespace llmc::transforms {

#define GEN_PASS_DEF_ADDSELFTESTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using mlir::func::FuncOp;

constexpr StringRef kNameAttr = "graph.name";

/// Whether the host can read a region's result, and write it in its place.
bool isPlain(OpResult result) {
  return graph::isReadableResult(result) &&
         cast<RankedTensorType>(result.getType()).getElementType().isF32();
}

/// What a test of one region takes from its function.
struct Cut {
  llvm::SetVector<Operation *> ops; // that come along
  llvm::SetVector<Value> arguments; // that are given
};

/// Operands before what reads them.
void collect(Operation *op, Cut &cut) {
  if (cut.ops.contains(op))
    return;
  for (Value operand : op->getOperands()) {
    auto result = dyn_cast<OpResult>(operand);
    bool isGiven =
        !result || (isa<graph::RegionOp>(result.getOwner()) && isPlain(result));
    if (isGiven)
      cut.arguments.insert(operand);
    else
      collect(result.getOwner(), cut);
  }
  cut.ops.insert(op);
}

/// Arguments of the function keep their names; what regions computed is
/// numbered.
std::string nameOf(Value argument, FuncOp function, unsigned &number) {
  auto block = dyn_cast<mlir::BlockArgument>(argument);
  auto type = cast<RankedTensorType>(argument.getType());
  if (block && !type.getElementType().isF32())
    if (auto name = function.getArgAttrOfType<StringAttr>(block.getArgNumber(),
                                                          kNameAttr))
      return name.getValue().str();
  return "in" + std::to_string(number++);
}

/// Builds the function of |cut|, which ends in |region|, behind all others.
FuncOp buildFunction(graph::RegionOp region, const Cut &cut, FuncOp function) {
  OpBuilder builder(function->getParentOfType<ModuleOp>().getBody(),
                    function->getBlock()->end());
  SmallVector<Type> argumentTypes, resultTypes;
  for (Value argument : cut.arguments)
    argumentTypes.push_back(argument.getType());
  SmallVector<unsigned> results;
  for (OpResult result : region->getResults())
    if (isPlain(result)) {
      results.push_back(result.getResultNumber());
      resultTypes.push_back(result.getType());
    }
  auto test =
      FuncOp::create(builder, region.getLoc(), "selftest",
                     builder.getFunctionType(argumentTypes, resultTypes));
  Block *body = test.addEntryBlock();
  mlir::IRMapping mapping;
  unsigned number = 0;
  for (auto [index, argument] : llvm::enumerate(cut.arguments)) {
    mapping.map(argument, body->getArgument(index));
    test.setArgAttr(index, kNameAttr,
                    builder.getStringAttr(nameOf(argument, function, number)));
  }
  builder.setInsertionPointToStart(body);
  Operation *clone = nullptr;
  for (Operation *op : cut.ops)
    clone = builder.clone(*op, mapping);
  SmallVector<Value> values;
  for (auto [index, result] : llvm::enumerate(results)) {
    values.push_back(clone->getResult(result));
    test.setResultAttr(index, kNameAttr,
                       builder.getStringAttr("out" + Twine(index)));
  }
  mlir::func::ReturnOp::create(builder, region.getLoc(), values);
  test->setAttr("graph.rows", function->getAttr("graph.rows"));
  return test;
}

/// The text of a function in which weights and states have numbers for names:
/// equal for functions of the same kernels.
std::string keyOf(FuncOp test) {
  OwningOpRef<FuncOp> copy(test.clone());
  llvm::MapVector<Attribute, Attribute> numbers;
  mlir::AttrTypeReplacer replacer;
  replacer.addReplacement([&](mlir::FlatSymbolRefAttr symbol) -> Attribute {
    auto known = numbers.find(symbol);
    if (known == numbers.end()) {
      auto number = mlir::FlatSymbolRefAttr::get(
          symbol.getContext(), "_" + std::to_string(numbers.size()));
      known = numbers.insert({symbol, number}).first;
    }
    return known->second;
  });
  replacer.recursivelyReplaceElementsIn(copy.get(), /*replaceAttrs=*/true);
  std::string text;
  llvm::raw_string_ostream(text) << *copy;
  return text;
}

//===----------------------------------------------------------------------===//
// llmc-add-self-tests
//===----------------------------------------------------------------------===//

struct AddSelfTestsPass final : impl::AddSelfTestsPassBase<AddSelfTestsPass> {
  using AddSelfTestsPassBase::AddSelfTestsPassBase;

  void runOnOperation() override {
    known.clear();
    SmallVector<FuncOp> functions(getOperation().getOps<FuncOp>());
    for (FuncOp function : functions)
      if (function->hasAttr("graph.rows"))
        for (auto region : function.getOps<graph::RegionOp>())
          addTest(region, function);
  }

private:
  void addTest(graph::RegionOp region, FuncOp function) {
    if (llvm::none_of(region->getResults(), isPlain))
      return;
    Cut cut;
    collect(region, cut);
    FuncOp test = buildFunction(region, cut, function);
    if (!known.insert(keyOf(test)).second) {
      test.erase();
      return;
    }
    std::string number = std::to_string(known.size() - 1);
    ++numTests;
    test.setSymName("selftest_" + number);
    test->setAttr("graph.function",
                  StringAttr::get(test.getContext(), "selftest." + number));
  }

  llvm::StringSet<> known;
};

} // namespace
} // namespace llmc::transforms
