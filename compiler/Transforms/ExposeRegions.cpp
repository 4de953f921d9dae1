// SPDX-License-Identifier: Apache-2.0
//
// Returns what each region computes, so that a program's every dispatch can be
// looked at. Leaves alone what is returned already, what lies in a state, and
// quantized activations, which no host reads.

#include "compiler/Transforms/Passes.h"

#include "dialects/Graph/RegionResults.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "llmc-expose-regions"

namespace llmc::transforms {

#define GEN_PASS_DEF_EXPOSEREGIONSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// llmc-expose-regions
//===----------------------------------------------------------------------===//

struct ExposeRegionsPass final
    : impl::ExposeRegionsPassBase<ExposeRegionsPass> {
  using ExposeRegionsPassBase::ExposeRegionsPassBase;

  void runOnOperation() override {
    mlir::func::FuncOp function = getOperation();
    auto rows = function->getAttrOfType<IntegerAttr>("graph.rows");
    if (!rowsOption.empty() &&
        (!rows || !llvm::is_contained(rowsOption, rows.getInt())))
      return;
    Operation *terminator = function.front().getTerminator();
    llvm::SmallDenseSet<Value> returned;
    for (Value operand : terminator->getOperands())
      returned.insert(graph::throughReshapes(operand));
    SmallVector<Value> results(terminator->getOperands());
    int64_t number = 0;
    for (auto region : function.getOps<graph::RegionOp>()) {
      for (OpResult result : region->getResults())
        if (graph::isReadableResult(result) && !returned.contains(result)) {
          addResult(function, results,
                    "region." + Twine(number) + "." +
                        Twine(result.getResultNumber()),
                    result);
          ++numExposed;
        }
      ++number;
    }
    terminator->setOperands(results);
  }

private:
  static void addResult(mlir::func::FuncOp function,
                        SmallVectorImpl<Value> &results, const Twine &name,
                        Value value) {
    Builder builder(function.getContext());
    auto attributes = builder.getDictionaryAttr(
        builder.getNamedAttr("graph.name", builder.getStringAttr(name)));
    if (failed(
            function.insertResult(results.size(), value.getType(), attributes)))
      llvm_unreachable("a function with a body takes further results");
    results.push_back(value);
  }
};

} // namespace
} // namespace llmc::transforms
