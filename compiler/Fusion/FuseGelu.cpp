// SPDX-License-Identifier: Apache-2.0
//
// Recognises GELU: the factors of a product are collected through all inner
// products, so that their order does not matter.

#include "compiler/Fusion/Constants.h"
#include "compiler/Fusion/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "llmc-fuse-gelu"

namespace llmc::fusion {

#define GEN_PASS_DEF_FUSEGELUPASS
#include "compiler/Fusion/Passes.h.inc"

namespace {

/// A product as a number and what is no number.
struct Product {
  double factor = 1;
  SmallVector<Value, 4> values;
};

void collectFactors(Value value, bool isRoot, Product &product) {
  if (std::optional<double> number = getConstant(value)) {
    product.factor *= *number;
    return;
  }
  bool isInner = isRoot || value.hasOneUse();
  if (auto mul = value.getDefiningOp<graph::MulOp>(); mul && isInner) {
    collectFactors(mul.getLhs(), false, product);
    collectFactors(mul.getRhs(), false, product);
    return;
  }
  auto div = value.getDefiningOp<graph::DivOp>();
  std::optional<double> divisor =
      div && isInner ? getConstant(div.getRhs()) : std::nullopt;
  if (!divisor) {
    product.values.push_back(value);
    return;
  }
  product.factor /= *divisor;
  collectFactors(div.getLhs(), false, product);
}

Product factorsOf(Value value) {
  Product product;
  collectFactors(value, true, product);
  return product;
}

bool isProductOf(const Product &product, double factor,
                 ArrayRef<Value> values) {
  return isAbout(product.factor, factor) && ArrayRef(product.values) == values;
}

/// erf(x / √2)
bool isErfOf(Value value, Value x) {
  auto erf = value.getDefiningOp<graph::ErfOp>();
  return erf && isProductOf(factorsOf(erf.getInput()), std::sqrt(0.5), {x});
}

/// x + 0.044715 x³, or x times 1 + 0.044715 x² as the factors beside `product`.
bool isCubic(const Product &product, Value x) {
  constexpr double kCubic = 0.044715;
  auto findAdd = [](ArrayRef<Value> values) -> graph::AddOp {
    for (Value value : values)
      if (auto add = value.getDefiningOp<graph::AddOp>())
        return add;
    return {};
  };
  graph::AddOp add = findAdd(product.values);
  if (!add)
    return false;
  if (product.values.size() == 1) {
    for (auto [line, cube] : {std::pair(add.getLhs(), add.getRhs()),
                              std::pair(add.getRhs(), add.getLhs())})
      if (line == x && isProductOf(factorsOf(cube), kCubic, {x, x, x}))
        return true;
    return false;
  }
  Value square = getBesideConstant(add, 1);
  return product.values.size() == 2 && llvm::is_contained(product.values, x) &&
         square && isProductOf(factorsOf(square), kCubic, {x, x});
}

/// tanh(√(2/π) (x + 0.044715 x³))
bool isTanhOf(Value value, Value x) {
  auto tanh = value.getDefiningOp<graph::TanhOp>();
  if (!tanh)
    return false;
  Product product = factorsOf(tanh.getInput());
  return isAbout(product.factor, std::sqrt(2 / M_PI)) && isCubic(product, x);
}

/// x · (1 + bend(x)) / 2  →  gelu or gelu_tanh
struct FuseGelu final : mlir::OpRewritePattern<graph::MulOp> {
  FuseGelu(MLIRContext *context, mlir::Pass::Statistic &numFused)
      : OpRewritePattern(context), numFused(numFused) {}

  LogicalResult matchAndRewrite(graph::MulOp root,
                                PatternRewriter &rewriter) const override {
    Product product = factorsOf(root);
    if (product.values.size() != 2 || !isAbout(product.factor, 0.5))
      return rewriter.notifyMatchFailure(root, "is no half of two factors");
    for (auto [x, gate] : {std::pair(product.values[0], product.values[1]),
                           std::pair(product.values[1], product.values[0])}) {
      Value bend = getBesideConstant(gate.getDefiningOp<graph::AddOp>(), 1);
      if (!bend || x.getType() != root.getType())
        continue;
      if (isErfOf(bend, x))
        rewriter.replaceOpWithNewOp<graph::GeluOp>(root, root.getType(), x);
      else if (isTanhOf(bend, x))
        rewriter.replaceOpWithNewOp<graph::GeluTanhOp>(root, root.getType(), x);
      else
        continue;
      ++numFused;
      return success();
    }
    return rewriter.notifyMatchFailure(root, "no factor is 1 + erf or tanh");
  }

  mlir::Pass::Statistic &numFused;
};

struct FuseGeluPass final : impl::FuseGeluPassBase<FuseGeluPass> {
  using FuseGeluPassBase::FuseGeluPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseGelu>(&getContext(), numGelusFused);
    if (failed(
            mlir::applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace llmc::fusion
