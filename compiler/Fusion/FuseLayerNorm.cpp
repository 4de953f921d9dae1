// SPDX-License-Identifier: Apache-2.0
//
// Recognises layer normalisation spelled out as means, differences and a root.

#include "compiler/Fusion/Constants.h"
#include "compiler/Fusion/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "llmc-fuse-layer-norm"

namespace llmc::fusion {

#define GEN_PASS_DEF_FUSELAYERNORMPASS
#include "compiler/Fusion/Passes.h.inc"

namespace {

/// x of x - mean(x); null for other values.
Value matchCentred(Value value) {
  auto sub = value.getDefiningOp<graph::SubOp>();
  auto mean = sub ? sub.getRhs().getDefiningOp<graph::ReduceMeanOp>() : nullptr;
  return mean && mean.getInput() == sub.getLhs() ? sub.getLhs() : Value();
}

/// A norm without gain: the input, and what is added to the variance.
struct Norm {
  Value input;
  double epsilon;
};

/// (x - mean) / sqrt(mean((x - mean)^2) + epsilon)
std::optional<Norm> matchNorm(Value value) {
  auto div = value.getDefiningOp<graph::DivOp>();
  auto root = div ? div.getRhs().getDefiningOp<graph::SqrtOp>() : nullptr;
  auto sum = root ? root.getInput().getDefiningOp<graph::AddOp>() : nullptr;
  std::optional<double> epsilon =
      sum ? getConstant(sum.getRhs()) : std::nullopt;
  if (!epsilon || !std::isfinite(*epsilon) || *epsilon < 0)
    return std::nullopt;
  auto variance = sum.getLhs().getDefiningOp<graph::ReduceMeanOp>();
  auto square =
      variance ? variance.getInput().getDefiningOp<graph::MulOp>() : nullptr;
  Value input = matchCentred(div.getLhs());
  if (!square || !input || matchCentred(square.getLhs()) != input ||
      matchCentred(square.getRhs()) != input)
    return std::nullopt;
  return Norm{input, *epsilon};
}

bool isVectorFor(Value value, Value input) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 1 &&
         type.getDimSize(0) ==
             cast<RankedTensorType>(input.getType()).getShape().back();
}

/// norm * gain  →  layer_norm
struct FuseNormAndGain final : mlir::OpRewritePattern<graph::MulOp> {
  FuseNormAndGain(MLIRContext *context, mlir::Pass::Statistic &numFused)
      : OpRewritePattern(context), numFused(numFused) {}

  LogicalResult matchAndRewrite(graph::MulOp mul,
                                PatternRewriter &rewriter) const override {
    std::optional<Norm> norm = matchNorm(mul.getLhs());
    if (!norm)
      return rewriter.notifyMatchFailure(mul, "lhs is no normalised value");
    if (!isVectorFor(mul.getRhs(), norm->input) ||
        mul.getType() != norm->input.getType())
      return rewriter.notifyMatchFailure(mul, "rhs is no gain");
    rewriter.replaceOpWithNewOp<graph::LayerNormOp>(
        mul, mul.getType(), norm->input, mul.getRhs(), /*bias=*/Value(),
        rewriter.getF32FloatAttr(static_cast<float>(norm->epsilon)));
    ++numFused;
    return success();
  }

  mlir::Pass::Statistic &numFused;
};

/// layer_norm + vector  →  layer_norm with bias
struct FuseBias final : mlir::OpRewritePattern<graph::AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::AddOp add,
                                PatternRewriter &rewriter) const override {
    auto norm = add.getLhs().getDefiningOp<graph::LayerNormOp>();
    if (!norm || norm.getBias() || !norm->hasOneUse() ||
        !isVectorFor(add.getRhs(), norm.getInput()))
      return rewriter.notifyMatchFailure(add, "no norm that lacks this bias");
    rewriter.replaceOpWithNewOp<graph::LayerNormOp>(
        add, add.getType(), norm.getInput(), norm.getGain(), add.getRhs(),
        norm.getEpsilonAttr());
    return success();
  }
};

struct FuseLayerNormPass final
    : impl::FuseLayerNormPassBase<FuseLayerNormPass> {
  using FuseLayerNormPassBase::FuseLayerNormPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseNormAndGain>(&getContext(), numNormsFused);
    patterns.add<FuseBias>(&getContext());
    if (failed(
            mlir::applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace llmc::fusion
