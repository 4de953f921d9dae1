// SPDX-License-Identifier: Apache-2.0
//
// Clones each function for the row buckets of the device. Kernels and memory
// plans are made for an upper limit of rows; the session picks the clone that
// fits a step.

#include "compiler/Transforms/Passes.h"

#include "dialects/Graph/TextAlignment.h"
#include "dialects/Target/ModuleDevice.h"
#include "mlir/IR/SymbolTable.h"

#include <algorithm>
#include <limits>
#include <set>

#define DEBUG_TYPE "llmc-expand-row-buckets"

namespace llmc::transforms {

#define GEN_PASS_DEF_EXPANDROWBUCKETSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// The rows of a function without dynamic dimensions; none for other functions.
std::optional<int64_t> getStaticRows(mlir::func::FuncOp function) {
  int64_t rows = 1;
  for (Type argument : function.getArgumentTypes()) {
    auto type = dyn_cast<RankedTensorType>(argument);
    if (!type)
      continue;
    if (!type.hasStaticShape())
      return std::nullopt;
    if (type.getRank() >= 2)
      rows = std::max(rows, type.getDimSize(0));
  }
  return rows;
}

/// Buckets for whole texts of up to |least| rows, each with room for several
/// short ones. What a text gives must not depend on what runs beside it, and
/// kernels of other buckets add up in another order: so the session takes the
/// bucket of a text's own length, and small ones would leave no room beside it.
std::set<int64_t> chooseTextBuckets(int64_t least, target::DeviceAttr device) {
  std::set<int64_t> buckets = {least};
  for (int64_t bucket : device.getRowBuckets())
    if (bucket > graph::kTextAlignment && bucket < least)
      buckets.insert(bucket);
  return buckets;
}

/// The buckets to clone |function| for, ascending; emits an error if there is
/// none.
FailureOr<std::set<int64_t>> chooseBuckets(mlir::func::FuncOp function,
                                           target::DeviceAttr device) {
  if (std::optional<int64_t> rows = getStaticRows(function))
    return std::set<int64_t>{*rows};
  if (auto least = function->getAttrOfType<IntegerAttr>("graph.min_rows"))
    return chooseTextBuckets(least.getInt(), device);
  auto limit = function->getAttrOfType<IntegerAttr>("graph.max_rows");
  int64_t maxRows =
      limit ? limit.getInt() : std::numeric_limits<int64_t>::max();
  std::set<int64_t> buckets;
  for (int64_t bucket : device.getRowBuckets())
    if (bucket <= maxRows)
      buckets.insert(bucket);
  if (buckets.empty())
    return function.emitError("device '")
           << device.getName() << "' has no row bucket up to the " << maxRows
           << " rows of function @" << function.getSymName();
  return buckets;
}

/// Clones |function| for |rows|; emits an error if the clone's name is taken.
LogicalResult cloneForRows(mlir::func::FuncOp function, int64_t rows,
                           SymbolTable &symbols) {
  Builder builder(function.getContext());
  std::string name = (function.getSymName() + "_r" + Twine(rows)).str();
  if (symbols.lookup(name))
    return function.emitError("cannot be cloned for ")
           << rows << " rows: the name @" << name << " is taken";
  mlir::func::FuncOp clone = function.clone();
  clone.setSymName(name);
  clone->removeAttr("graph.max_rows");
  clone->removeAttr("graph.min_rows");
  clone->setAttr("graph.rows", builder.getI64IntegerAttr(rows));
  clone->setAttr("graph.function", function.getSymNameAttr());
  symbols.insert(clone, Block::iterator(function));
  return success();
}

//===----------------------------------------------------------------------===//
// llmc-expand-row-buckets
//===----------------------------------------------------------------------===//

struct ExpandRowBucketsPass final
    : impl::ExpandRowBucketsPassBase<ExpandRowBucketsPass> {
  using ExpandRowBucketsPassBase::ExpandRowBucketsPassBase;

  void runOnOperation() override {
    FailureOr<target::DeviceAttr> device =
        target::getModuleDevice(getOperation(), "to clone functions for");
    if (failed(device))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    for (auto function : llvm::make_early_inc_range(
             getOperation().getOps<mlir::func::FuncOp>())) {
      FailureOr<std::set<int64_t>> buckets = chooseBuckets(function, *device);
      if (failed(buckets))
        return signalPassFailure();
      for (int64_t rows : *buckets) {
        if (failed(cloneForRows(function, rows, symbols)))
          return signalPassFailure();
        ++numClones;
      }
      symbols.erase(function);
    }
  }
};

} // namespace
} // namespace llmc::transforms
