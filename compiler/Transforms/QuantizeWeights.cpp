// SPDX-License-Identifier: Apache-2.0
//
// Gives matrices of the model another encoding: their bytes are converted when
// they are read. Leaves alone vectors (norms, biases) and matrices that
// anything but linears and embeddings reads.

#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/WeightTypes.h"

#include "dialects/Graph/Graph.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "llmc-quantize-weights"

namespace llmc::transforms {

#define GEN_PASS_DEF_QUANTIZEWEIGHTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using Loads = SmallVector<graph::LoadWeightOp, 2>;

/// Whether |use| multiplies a decoded matrix with activations, or gathers its
/// rows.
bool isLinearOrEmbedding(mlir::OpOperand &use) {
  if (auto matmul = dyn_cast<graph::MatmulOp>(use.getOwner()))
    return matmul.getTransposeRhs() && matmul.getRhs() == use.get() &&
           matmul.getLhs() != use.get();
  auto embedding = dyn_cast<graph::EmbeddingOp>(use.getOwner());
  return embedding && embedding.getTable() == use.get();
}

bool isReadByLinearsAlone(graph::LoadWeightOp load) {
  return llvm::all_of(load->getUsers(), [](Operation *user) {
    return isa<graph::ExpertLinearOp>(user) ||
           (isa<graph::DequantizeOp>(user) &&
            llvm::all_of(user->getUses(), isLinearOrEmbedding));
  });
}

/// The matrices that may be quantized, with all loads of them.
llvm::MapVector<graph::WeightOp, Loads> findMatrices(ModuleOp module) {
  mlir::SymbolTable symbols(module);
  llvm::MapVector<graph::WeightOp, Loads> matrices;
  module.walk([&](graph::LoadWeightOp load) {
    auto weight = symbols.lookup<graph::WeightOp>(load.getWeight());
    if (weight && cast<RankedTensorType>(weight.getType()).getRank() == 2)
      matrices[weight].push_back(load);
  });
  matrices.remove_if([](auto &entry) {
    return !llvm::all_of(entry.second, isReadByLinearsAlone);
  });
  return matrices;
}

/// The sources with their own encoding said; fails for one whose packing is no
/// arrangement of plain numbers.
FailureOr<ArrayAttr> withEncoding(graph::WeightOp weight,
                                  graph::Encoding encoding) {
  SmallVector<Attribute> sources;
  MLIRContext *context = weight.getContext();
  for (auto source : weight.getSources().getAsRange<graph::SourceAttr>()) {
    graph::PackingAttr packing = source.getPacking();
    if (packing && packing.getScales())
      return weight.emitError("weight '")
             << weight.getSymName() << "' is packed as '" << packing.getForm()
             << "', whose codes are not quantized again";
    if (!packing)
      packing = graph::PackingAttr::get(context, "rows", encoding, 0, {}, {});
    sources.push_back(
        graph::SourceAttr::get(context, source.getFile(), source.getOffset(),
                               source.getRows(), source.getAddend(), packing));
  }
  return ArrayAttr::get(context, sources);
}

//===----------------------------------------------------------------------===//
// llmc-quantize-weights
//===----------------------------------------------------------------------===//

struct QuantizeWeightsPass final
    : impl::QuantizeWeightsPassBase<QuantizeWeightsPass> {
  using QuantizeWeightsPassBase::QuantizeWeightsPassBase;

  void runOnOperation() override {
    std::vector<std::string> rules(rulesOption.begin(), rulesOption.end());
    auto types = WeightTypes::create(typeOption, rules);
    if (!types)
      return fail(types.takeError());
    for (auto &[weight, loads] : findMatrices(getOperation())) {
      auto type = cast<RankedTensorType>(weight.getType());
      auto encoding = types->choose(weight.getSymName(), type.getDimSize(1));
      if (!encoding)
        return fail(encoding.takeError());
      if (*encoding && failed(setEncoding(weight, loads, **encoding)))
        return signalPassFailure();
    }
    if (std::vector<std::string> unused = types->unusedRules(); !unused.empty())
      return fail(
          llvm::createStringError("the rule for weights '" + unused.front() +
                                  "' matches none of the model's matrices"));
  }

private:
  void fail(llvm::Error error) {
    getOperation().emitError(llvm::toString(std::move(error)));
    signalPassFailure();
  }

  LogicalResult setEncoding(graph::WeightOp weight,
                            ArrayRef<graph::LoadWeightOp> loads,
                            graph::Encoding encoding) {
    auto type = cast<RankedTensorType>(weight.getType());
    auto old = cast<graph::EncodedType>(type.getElementType()).getEncoding();
    if (old == encoding)
      return success();
    FailureOr<ArrayAttr> sources = withEncoding(weight, old);
    if (failed(sources))
      return failure();
    auto fresh = RankedTensorType::get(
        type.getShape(), graph::EncodedType::get(type.getContext(), encoding));
    weight.setType(fresh);
    weight.setSourcesAttr(*sources);
    for (graph::LoadWeightOp load : loads)
      load.getResult().setType(fresh);
    ++numWeights;
    return success();
  }
};

} // namespace
} // namespace llmc::transforms
