// SPDX-License-Identifier: Apache-2.0
//
// Joins linears that read the same input (query, key and value projections)
// into one linear on a concatenated weight, so that they run as one dispatch.
// Leaves alone linears that one element-wise op combines: those become one
// region.

#include "compiler/Fusion/Passes.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

#define DEBUG_TYPE "llmc-fuse-horizontal-linears"

namespace llmc::fusion {

#define GEN_PASS_DEF_FUSEHORIZONTALLINEARSPASS
#include "compiler/Fusion/Passes.h.inc"

namespace {

/// Activations are read four elements at a time, so a slice starts at a
/// multiple of this.
constexpr int64_t kSliceAlignment = 4;

/// A linear, its weight and the bias added to it, if that is all that happens
/// to its result.
struct Linear {
  graph::QuantizedLinearOp op;
  graph::WeightOp weight;
  graph::AddOp biasAdd;
  graph::WeightOp bias;

  int64_t getNumColumns() const {
    return cast<RankedTensorType>(op->getResult(0).getType()).getDimSize(1);
  }
};

using Group = SmallVector<Linear, 3>;

//===----------------------------------------------------------------------===//
// Finding what belongs together
//===----------------------------------------------------------------------===//

graph::WeightOp lookUpWeight(Value encoded, const SymbolTable &symbols) {
  auto load = encoded.getDefiningOp<graph::LoadWeightOp>();
  return load ? symbols.lookup<graph::WeightOp>(load.getWeight())
              : graph::WeightOp();
}

/// The linear with its bias, or none if its weight is no symbol.
std::optional<Linear> describe(graph::QuantizedLinearOp op,
                               const SymbolTable &symbols) {
  Linear linear = {op, lookUpWeight(op.getWeight(), symbols), {}, {}};
  if (!linear.weight || op.getType().getRank() != 2)
    return std::nullopt;
  auto add = op->hasOneUse() ? dyn_cast<graph::AddOp>(*op->user_begin())
                             : graph::AddOp();
  if (!add || add.getType() != op.getType())
    return linear;
  Value other = add.getLhs() == op.getResult() ? add.getRhs() : add.getLhs();
  auto dequantize = other.getDefiningOp<graph::DequantizeOp>();
  if (!dequantize || dequantize.getType().getRank() != 1)
    return linear;
  linear.bias = lookUpWeight(dequantize.getInput(), symbols);
  if (linear.bias)
    linear.biasAdd = add;
  return linear;
}

/// The element-wise ops that |value| goes into, directly or through others.
llvm::SmallSetVector<Operation *, 8> collectElementwiseUsers(Value value) {
  llvm::SmallSetVector<Operation *, 8> users;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    for (Operation *user : worklist.pop_back_val().getUsers())
      if (graph::isElementwise(user) && users.insert(user))
        worklist.push_back(user->getResult(0));
  }
  return users;
}

/// Drops the linears of |group| whose results meet in an element-wise op.
void dropCombined(Group &group) {
  DenseMap<Operation *, unsigned> numReaching;
  SmallVector<llvm::SmallSetVector<Operation *, 8>> users;
  for (const Linear &linear : group)
    for (Operation *user :
         users.emplace_back(collectElementwiseUsers(linear.op->getResult(0))))
      ++numReaching[user];
  Group kept;
  for (auto [linear, reached] : llvm::zip_equal(group, users))
    if (llvm::all_of(reached,
                     [&](Operation *user) { return numReaching[user] == 1; }))
      kept.push_back(linear);
  group = std::move(kept);
}

/// Cuts |group| before the first linear whose slice would start unaligned.
void dropUnaligned(Group &group) {
  for (size_t i = 0; i + 1 < group.size(); ++i)
    if (group[i].getNumColumns() % kSliceAlignment != 0)
      group.truncate(i + 1);
}

/// The groups of linears of |block| that can be joined, in program order.
SmallVector<Group> findGroups(Block &block, const SymbolTable &symbols) {
  llvm::MapVector<std::tuple<Value, Type, int64_t>, Group>
      groups; // by input, encoding and K
  for (auto op : block.getOps<graph::QuantizedLinearOp>())
    if (std::optional<Linear> linear = describe(op, symbols)) {
      RankedTensorType type = op.getWeight().getType();
      groups[{op.getInput(), type.getElementType(), type.getDimSize(1)}]
          .push_back(*linear);
    }
  SmallVector<Group> result;
  for (auto &[key, group] : groups) {
    dropCombined(group);
    dropUnaligned(group);
    if (group.size() > 1)
      result.push_back(std::move(group));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

/// The weight made of the rows of |weights|, created before the first of them
/// unless an equal one is there already.
graph::WeightOp getOrCreateJoinedWeight(ArrayRef<graph::WeightOp> weights,
                                        SymbolTable &symbols) {
  SmallVector<StringRef> names;
  SmallVector<Attribute> sources;
  int64_t numRows = 0;
  for (graph::WeightOp weight : weights) {
    names.push_back(weight.getSymName());
    llvm::append_range(sources, weight.getSources());
    numRows += cast<RankedTensorType>(weight.getType()).getDimSize(0);
  }
  graph::WeightOp first = weights.front();
  auto firstType = cast<RankedTensorType>(first.getType());
  SmallVector<int64_t> shape(firstType.getShape());
  shape.front() = numRows;
  RankedTensorType type = firstType.clone(shape);
  OpBuilder builder(first);
  std::string name = llvm::join(names, "+");
  ArrayAttr sourcesAttr = builder.getArrayAttr(sources);
  if (auto existing = symbols.lookup<graph::WeightOp>(name))
    if (existing.getType() == type && existing.getSources() == sourcesAttr)
      return existing;
  auto joined =
      graph::WeightOp::create(builder, first.getLoc(), name, type, sourcesAttr);
  symbols.insert(joined, Block::iterator(first));
  return joined;
}

Value createLoad(OpBuilder &builder, Location loc, graph::WeightOp weight) {
  return graph::LoadWeightOp::create(builder, loc, weight.getType(),
                                     weight.getSymName());
}

/// Whether the biases of |group| are there and of one encoding.
bool hasJoinableBiases(const Group &group) {
  auto encoding = [](Linear linear) {
    return cast<RankedTensorType>(linear.bias.getType()).getElementType();
  };
  return llvm::all_of(group, [&](const Linear &linear) {
    return linear.bias && group.front().bias &&
           encoding(linear) == encoding(group.front());
  });
}

///   %a = linear %x, %wa;  %b = linear %x, %wb
/// → %y = linear %x, %wa+wb;  %a = slice %y;  %b = slice %y
void join(const Group &group, SymbolTable &symbols) {
  SmallVector<graph::WeightOp> weights;
  SmallVector<graph::WeightOp> biases;
  SmallVector<Location> locations;
  int64_t numColumns = 0;
  for (const Linear &linear : group) {
    weights.push_back(linear.weight);
    biases.push_back(linear.bias);
    locations.push_back(linear.op->getLoc());
    numColumns += linear.getNumColumns();
  }
  graph::QuantizedLinearOp first = group.front().op;
  OpBuilder builder(first);
  Location loc = builder.getFusedLoc(locations);
  RankedTensorType type =
      first.getType().clone({first.getType().getDimSize(0), numColumns});
  Value weight =
      createLoad(builder, loc, getOrCreateJoinedWeight(weights, symbols));
  Value joined = graph::QuantizedLinearOp::create(builder, loc, type,
                                                  first.getInput(), weight);
  bool joinsBiases = hasJoinableBiases(group);
  if (joinsBiases) {
    Value bias =
        createLoad(builder, loc, getOrCreateJoinedWeight(biases, symbols));
    RankedTensorType biasType = type.clone({numColumns});
    bias = graph::DequantizeOp::create(builder, loc, biasType, bias);
    joined = graph::AddOp::create(builder, loc, type, joined, bias);
  }
  SmallVector<Operation *> replaced;
  int64_t offset = 0;
  for (const Linear &linear : group) {
    Operation *last = joinsBiases ? linear.biasAdd : linear.op;
    Value slice = graph::SliceOp::create(
        builder, last->getLoc(), last->getResult(0).getType(), joined,
        /*dim=*/1, offset, linear.getNumColumns());
    last->replaceAllUsesWith(ValueRange{slice});
    offset += linear.getNumColumns();
    replaced.push_back(last);
    if (joinsBiases)
      replaced.push_back(linear.op);
  }
  for (Operation *op : replaced)
    op->erase();
}

/// Erases loads that nothing uses, and those of |weights| that are then never
/// loaded.
void eraseUnused(ModuleOp module, const llvm::SetVector<Operation *> &weights) {
  llvm::StringSet<llvm::MallocAllocator> loaded;
  module.walk([&](Operation *op) {
    if (isa<graph::LoadWeightOp, graph::DequantizeOp>(op) && op->use_empty())
      op->erase();
  });
  module.walk([&](graph::LoadWeightOp load) {
    if (load->use_empty())
      load->erase();
    else
      loaded.insert(load.getWeight());
  });
  for (Operation *weight : weights)
    if (!loaded.contains(cast<graph::WeightOp>(weight).getSymName()))
      weight->erase();
}

//===----------------------------------------------------------------------===//
// llmc-fuse-horizontal-linears
//===----------------------------------------------------------------------===//

struct FuseHorizontalLinearsPass final
    : impl::FuseHorizontalLinearsPassBase<FuseHorizontalLinearsPass> {
  using FuseHorizontalLinearsPassBase::FuseHorizontalLinearsPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::SetVector<Operation *> joinedWeights;
    for (auto function : getOperation().getOps<mlir::func::FuncOp>())
      for (Block &block : function.getBody())
        for (const Group &group : findGroups(block, symbols)) {
          numLinearsJoined += group.size();
          for (const Linear &linear : group) {
            joinedWeights.insert(linear.weight);
            if (linear.bias)
              joinedWeights.insert(linear.bias);
          }
          join(group, symbols);
        }
    if (joinedWeights.empty())
      return markAllAnalysesPreserved();
    eraseUnused(getOperation(), joinedWeights);
  }
};

} // namespace
} // namespace llmc::fusion
