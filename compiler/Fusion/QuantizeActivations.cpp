// SPDX-License-Identifier: Apache-2.0
//
// Activations as int8 for linears of many rows. Where they are quantized is
// decided by region planning: in whatever computes them.

#include "compiler/Fusion/Passes.h"
#include "compiler/Fusion/RegionPlanner.h"

#include "dialects/Target/Target.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "llmc-quantize-activations"

namespace llmc::fusion {

#define GEN_PASS_DEF_QUANTIZEACTIVATIONSPASS
#include "compiler/Fusion/Passes.h.inc"

namespace {

/// Whether weights of |encoding| have integer codes whose products with int8
/// can be summed over 16 columns or more, and offsets, if any, that the sums of
/// 32 columns serve.
bool hasIntegerCodes(graph::Encoding encoding) {
  switch (encoding) {
  case graph::Encoding::F32:
  case graph::Encoding::F16:
  case graph::Encoding::BF16:
  case graph::Encoding::Q2_K: // offsets for 16 columns
    return false;
  default:
    return true;
  }
}

/// Rows behind a layer_norm stay floats: encoders have outliers in few of their
/// columns, which embeddings do not bear with eight bits (decision 0006).
bool canReadCodes(graph::QuantizedLinearOp linear) {
  if (linear.getInput().getDefiningOp<graph::LayerNormOp>())
    return false;
  auto input = cast<RankedTensorType>(linear.getInput().getType());
  auto weight = cast<RankedTensorType>(linear.getWeight().getType());
  auto encoded = cast<graph::EncodedType>(weight.getElementType());
  return input.getElementType().isF32() && input.getRank() == 2 &&
         input.getDimSize(1) % graph::kQuantizedBlock == 0 &&
         hasIntegerCodes(encoded.getEncoding());
}

//===----------------------------------------------------------------------===//
// llmc-quantize-activations
//===----------------------------------------------------------------------===//

struct QuantizeActivationsPass final
    : impl::QuantizeActivationsPassBase<QuantizeActivationsPass> {
  using QuantizeActivationsPassBase::QuantizeActivationsPassBase;

  void runOnOperation() override {
    mlir::func::FuncOp function = getOperation();
    auto device = function->getParentOfType<ModuleOp>()
                      ->getAttrOfType<target::DeviceAttr>(
                          target::DeviceAttr::getModuleAttrName());
    auto rows = function->getAttrOfType<IntegerAttr>("graph.rows");
    if (!device || device.getPrefillActivations() != "i8" || !rows ||
        rows.getInt() <= kMaxRowsOfFusedNorm)
      return;
    if (!device.hasFeature("int_dot")) {
      function.emitError("cannot have activations of i8: device '")
          << device.getName() << "' has no feature int_dot";
      return signalPassFailure();
    }
    llvm::MapVector<Value, SmallVector<graph::QuantizedLinearOp>> linearsOf;
    function.walk([&](graph::QuantizedLinearOp linear) {
      if (canReadCodes(linear))
        linearsOf[linear.getInput()].push_back(linear);
    });
    for (auto &[input, linears] : linearsOf) {
      quantize(input, linears);
      ++numTensorsQuantized;
    }
  }

  static void quantize(Value input,
                       ArrayRef<graph::QuantizedLinearOp> linears) {
    OpBuilder builder(input.getContext());
    builder.setInsertionPointAfterValue(input);
    int64_t group =
        input.getDefiningOp<graph::RmsNormOp>() ? 0 : graph::kQuantizedBlock;
    auto quantized = graph::QuantizeActivationsOp::create(
        builder, input.getLoc(), input, group);
    for (graph::QuantizedLinearOp linear : linears)
      linear->setOperands({quantized.getCodes(), linear.getWeight(),
                           quantized.getScales(), quantized.getSums()});
  }
};

} // namespace
} // namespace llmc::fusion
