// SPDX-License-Identifier: Apache-2.0
//
// Translates a function for the region planner and its plan back into
// graph.region ops. What belongs together is decided in RegionPlanner.cpp.

#include "compiler/Fusion/Passes.h"
#include "compiler/Fusion/RegionPlanner.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <map>

#define DEBUG_TYPE "llmc-form-regions"

namespace llmc::fusion {

#define GEN_PASS_DEF_FORMREGIONSPASS
#include "compiler/Fusion/Passes.h.inc"

namespace {

/// The ops of a block as the planner sees them; node i is ops[i].
struct PlannerInput {
  SmallVector<Operation *> ops;
  std::vector<PlanNode> nodes;
};

//===----------------------------------------------------------------------===//
// IR to planner
//===----------------------------------------------------------------------===//

/// Whether |op| quantizes attention whose heads are no whole blocks, so that
/// one workgroup doesn't have all of a block.
bool isSpreadOverHeads(graph::QuantizeActivationsOp op) {
  Value value = op.getInput();
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape.getInput();
  auto sdpa = value.getDefiningOp<graph::SdpaOp>();
  auto type = cast<RankedTensorType>(value.getType());
  return sdpa && type.getShape().back() % graph::kQuantizedBlock != 0;
}

NodeKind getKind(Operation *op) {
  if (graph::isElementwise(op))
    return NodeKind::Elementwise;
  return llvm::TypeSwitch<Operation *, NodeKind>(op)
      .Case<graph::ConstantOp, graph::DequantizeOp>(
          [](Operation *) { return NodeKind::Leaf; })
      .Case<graph::SliceOp>([](Operation *) { return NodeKind::Slice; })
      .Case<graph::ReshapeOp>([](Operation *) { return NodeKind::Reshape; })
      .Case<graph::SelectRowsOp>(
          [](Operation *) { return NodeKind::SelectRows; })
      .Case<graph::RmsNormOp>([](graph::RmsNormOp norm) {
        auto type = cast<RankedTensorType>(norm.getInput().getType());
        return type.getRank() > 2 ? NodeKind::HeadNorm : NodeKind::Norm;
      })
      .Case<graph::LayerNormOp, graph::L2NormalizeOp>(
          [](Operation *) { return NodeKind::RowNorm; })
      .Case<graph::PoolOp>([](Operation *) { return NodeKind::Pool; })
      .Case<graph::ShortConvOp>([](Operation *) { return NodeKind::Conv; })
      .Case<graph::RotaryOp, graph::KvAppendOp>(
          [](Operation *) { return NodeKind::Head; })
      .Case<graph::QuantizedLinearOp, graph::ExpertLinearOp>(
          [](Operation *) { return NodeKind::Linear; })
      .Case<graph::WeightedSumOp>([](Operation *) { return NodeKind::Sum; })
      .Case<graph::QuantizedEmbeddingOp>(
          [](Operation *) { return NodeKind::Embedding; })
      .Case<graph::SdpaOp>([](Operation *) { return NodeKind::Sdpa; })
      .Case<graph::QuantizeActivationsOp>([](graph::QuantizeActivationsOp op) {
        return isSpreadOverHeads(op) ? NodeKind::Other : NodeKind::Quantize;
      })
      .Default([](Operation *) { return NodeKind::Other; });
}

void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (mlir::isOpTriviallyDead(&op))
      op.erase();
}

/// Describes the ops of |block|; emits an error for one that no region can
/// hold.
FailureOr<PlannerInput> describe(Block &block) {
  PlannerInput input;
  DenseMap<Operation *, int> ids;
  std::map<const void *, int> types;
  // By input, type of the weight, and experts.
  std::map<std::array<const void *, 3>, int> linearClasses;
  llvm::StringSet<llvm::MallocAllocator> states;
  auto number = [](auto &numbers, auto key) {
    return numbers.try_emplace(key, static_cast<int>(numbers.size()))
        .first->second;
  };
  for (Operation &op : block.without_terminator()) {
    if (isa<graph::LoadWeightOp>(op))
      continue;
    if (!isa<graph::GraphDialect>(op.getDialect()) || op.getNumResults() == 0 ||
        op.getNumRegions() != 0)
      return op.emitOpError("cannot be put into a region");
    auto append = dyn_cast<graph::KvAppendOp>(op);
    auto state = op.getAttrOfType<FlatSymbolRefAttr>("state");
    if (state && !states.insert(state.getValue()).second)
      return op.emitOpError("appends to state @")
             << state.getValue() << " a second time in one step";
    PlanNode node;
    node.kind = getKind(&op);
    for (Value operand : op.getOperands())
      if (auto found = ids.find(operand.getDefiningOp()); found != ids.end())
        node.operands.push_back(found->second);
    node.type = number(types, op.getResult(0).getType().getAsOpaquePointer());
    if (node.kind == NodeKind::Linear) {
      auto ofExperts = dyn_cast<graph::ExpertLinearOp>(op);
      std::array<const void *, 3> key = {
          op.getOperand(0).getAsOpaquePointer(),
          op.getOperand(1).getType().getAsOpaquePointer(),
          ofExperts ? ofExperts.getExperts().getAsOpaquePointer() : nullptr};
      node.linearClass = number(linearClasses, key);
    }
    node.isKept =
        append || llvm::is_contained(op.getUsers(), block.getTerminator());
    ids[&op] = static_cast<int>(input.ops.size());
    input.ops.push_back(&op);
    input.nodes.push_back(std::move(node));
  }
  return input;
}

//===----------------------------------------------------------------------===//
// Plan to IR
//===----------------------------------------------------------------------===//

/// Creates the region of |planned|. |outer| maps values of the old ops to those
/// of the regions so far; the region's results are added.
void createRegion(OpBuilder &builder, const PlannedRegion &planned,
                  ArrayRef<Operation *> ops, IRMapping &outer) {
  auto body = std::make_unique<Block>();
  OpBuilder bodyBuilder(builder.getContext());
  bodyBuilder.setInsertionPointToEnd(body.get());
  IRMapping inner;
  SmallVector<Value> inputs;
  for (int id : planned.body) {
    for (Value operand : ops[id]->getOperands()) {
      if (inner.contains(operand))
        continue;
      inputs.push_back(outer.lookupOrDefault(operand));
      inner.map(operand,
                body->addArgument(operand.getType(), operand.getLoc()));
    }
    bodyBuilder.clone(*ops[id], inner);
  }
  SmallVector<Value> yielded, stored;
  for (int id : planned.results)
    for (Value result : ops[id]->getResults()) {
      yielded.push_back(inner.lookup(result));
      stored.push_back(result);
    }
  Location loc = ops[planned.root]->getLoc();
  graph::YieldOp::create(bodyBuilder, loc, yielded);
  auto region =
      graph::RegionOp::create(builder, loc, ValueRange(yielded).getTypes(),
                              inputs, graph::LoweringConfigAttr());
  region.getBody().push_back(body.release());
  for (auto [before, now] : llvm::zip_equal(stored, region.getResults()))
    outer.map(before, now);
}

//===----------------------------------------------------------------------===//
// llmc-form-regions
//===----------------------------------------------------------------------===//

struct FormRegionsPass final : impl::FormRegionsPassBase<FormRegionsPass> {
  using FormRegionsPassBase::FormRegionsPassBase;

  void runOnOperation() override {
    mlir::func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    auto rows = function->getAttrOfType<IntegerAttr>("graph.rows");
    if (!rows) {
      function.emitError("has no graph.rows: regions are formed for one row "
                         "bucket (see llmc-expand-row-buckets)");
      return signalPassFailure();
    }
    if (!function.getBody().hasOneBlock()) {
      function.emitError("has more than one block");
      return signalPassFailure();
    }
    Block &block = function.getBody().front();
    eraseDeadOps(block);
    FailureOr<PlannerInput> input = describe(block);
    if (failed(input))
      return signalPassFailure();

    OpBuilder builder(block.getTerminator());
    IRMapping outer;
    for (const PlannedRegion &planned :
         planRegions(input->nodes, rows.getInt())) {
      createRegion(builder, planned, input->ops, outer);
      ++numRegions;
    }
    for (OpOperand &operand : block.getTerminator()->getOpOperands())
      operand.set(outer.lookupOrDefault(operand.get()));
    for (Operation *op : llvm::reverse(input->ops))
      op->erase();
  }
};

} // namespace
} // namespace llmc::fusion
