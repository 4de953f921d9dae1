// SPDX-License-Identifier: Apache-2.0
//
// Lets linears and embeddings read encoded weights directly. Matmuls of
// activations by activations, and of weights that would have to be transposed,
// stay as they are.

#include "compiler/Fusion/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "llmc-fuse-quantized-linear"

namespace llmc::fusion {

#define GEN_PASS_DEF_FUSEQUANTIZEDLINEARPASS
#include "compiler/Fusion/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// matmul(%x, dequantize(%w)) transpose_rhs  →  quantized_linear(%x, %w)
struct FuseDequantizeIntoMatmul final
    : mlir::OpRewritePattern<graph::MatmulOp> {
  FuseDequantizeIntoMatmul(MLIRContext *context,
                           mlir::Pass::Statistic &numFused)
      : OpRewritePattern(context), numFused(numFused) {}

  LogicalResult matchAndRewrite(graph::MatmulOp matmul,
                                PatternRewriter &rewriter) const override {
    auto dequantize = matmul.getRhs().getDefiningOp<graph::DequantizeOp>();
    if (!dequantize)
      return rewriter.notifyMatchFailure(matmul,
                                         "rhs is not a dequantized weight");
    if (!matmul.getTransposeRhs())
      return rewriter.notifyMatchFailure(
          matmul, "the weight's rows are not the columns of the result");
    if (matmul.getLhs().getType().getRank() != 2 ||
        dequantize.getType().getRank() != 2)
      return rewriter.notifyMatchFailure(matmul, "batch dimensions");
    rewriter.replaceOpWithNewOp<graph::QuantizedLinearOp>(
        matmul, matmul.getType(), matmul.getLhs(), dequantize.getInput());
    ++numFused;
    return success();
  }

  mlir::Pass::Statistic &numFused;
};

/// embedding(%tokens, dequantize(%table))  →  quantized_embedding(%tokens,
/// %table)
struct FuseDequantizeIntoEmbedding final
    : mlir::OpRewritePattern<graph::EmbeddingOp> {
  FuseDequantizeIntoEmbedding(MLIRContext *context,
                              mlir::Pass::Statistic &numFused)
      : OpRewritePattern(context), numFused(numFused) {}

  LogicalResult matchAndRewrite(graph::EmbeddingOp embedding,
                                PatternRewriter &rewriter) const override {
    auto dequantize = embedding.getTable().getDefiningOp<graph::DequantizeOp>();
    if (!dequantize)
      return rewriter.notifyMatchFailure(
          embedding, "the table is not a dequantized weight");
    rewriter.replaceOpWithNewOp<graph::QuantizedEmbeddingOp>(
        embedding, embedding.getType(), embedding.getTokens(),
        dequantize.getInput());
    ++numFused;
    return success();
  }

  mlir::Pass::Statistic &numFused;
};

//===----------------------------------------------------------------------===//
// llmc-fuse-quantized-linear
//===----------------------------------------------------------------------===//

struct FuseQuantizedLinearPass final
    : impl::FuseQuantizedLinearPassBase<FuseQuantizedLinearPass> {
  using FuseQuantizedLinearPassBase::FuseQuantizedLinearPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseDequantizeIntoMatmul, FuseDequantizeIntoEmbedding>(
        &getContext(), numWeightsFused);
    if (failed(
            mlir::applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace llmc::fusion
