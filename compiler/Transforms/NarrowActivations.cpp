// SPDX-License-Identifier: Apache-2.0
//
// Values between regions as f16, where nothing that the model can be given
// makes them too large for it: norms bound what linears read, and the lengths
// of weight rows what they give. What no norm bounds stays f32, the residual
// stream among it.

#include "compiler/Transforms/Passes.h"

#include "compiler/Import/WeightFiles.h"
#include "compiler/Transforms/Magnitude.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Target/ModuleDevice.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

#define DEBUG_TYPE "llmc-narrow-activations"

namespace llmc::transforms {

#define GEN_PASS_DEF_NARROWACTIVATIONSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// The largest f16 is 65504; kernels that multiply in f16 are off by up to
/// 0.4 % (docs/codegen.md).
constexpr double kLargest = 65000;

int64_t rowSize(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().back();
}

//===----------------------------------------------------------------------===//
// How large values become
//===----------------------------------------------------------------------===//

/// Bounds of values, computed when asked for.
class MagnitudeAnalysis {
public:
  MagnitudeAnalysis(ModuleOp module, const importer::WeightFiles &files)
      : module(module), files(files) {}

  Magnitude of(Value value);

private:
  Magnitude compute(Value value);
  Magnitude computeOp(Operation *op, unsigned number);
  Magnitude ofBinary(Operation *op);
  Magnitude ofConvolution(graph::ShortConvOp conv);
  const RowMagnitudes &ofWeight(Value encoded);
  double largestOf(Value vector);

  ModuleOp module;
  const importer::WeightFiles &files;
  DenseMap<Value, Magnitude> known;
  llvm::StringMap<RowMagnitudes> weights;
};

/// The value that a block argument of a region stands for.
Value outsideOf(Value value) {
  auto argument = dyn_cast<mlir::BlockArgument>(value);
  auto region =
      argument ? dyn_cast<graph::RegionOp>(argument.getOwner()->getParentOp())
               : graph::RegionOp();
  return region ? region.getInputs()[argument.getArgNumber()] : Value();
}

Magnitude MagnitudeAnalysis::of(Value value) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  Magnitude magnitude = compute(value);
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() != 0)
    magnitude = ofRow(magnitude, type.getShape().back());
  known[value] = magnitude;
  return magnitude;
}

Magnitude MagnitudeAnalysis::compute(Value value) {
  if (Value outside = outsideOf(value))
    return of(outside);
  auto result = dyn_cast<OpResult>(value);
  return result ? computeOp(result.getOwner(), result.getResultNumber())
                : Magnitude();
}

/// The numbers of a weight, decoded.
const RowMagnitudes &MagnitudeAnalysis::ofWeight(Value encoded) {
  while (Value outside = outsideOf(encoded))
    encoded = outside;
  static const RowMagnitudes kUnknown = {Magnitude().length, Magnitude().length,
                                         Magnitude().length,
                                         Magnitude().length};
  auto load = encoded.getDefiningOp<graph::LoadWeightOp>();
  if (!load)
    return kUnknown;
  auto [entry, isNew] = weights.try_emplace(load.getWeight());
  if (!isNew)
    return entry->second;
  auto weight = module.lookupSymbol<graph::WeightOp>(load.getWeight());
  auto type = cast<RankedTensorType>(weight.getType());
  int64_t size = type.getShape().back();
  std::vector<float> row(size);
  for (int64_t i = 0; i < (type.getRank() == 1 ? 1 : type.getDimSize(0)); ++i) {
    files.decodeRow(weight, i, row.data());
    entry->second.addRow(row.data(), size);
  }
  return entry->second;
}

/// Of a dequantized vector or a constant; infinite for other values.
double MagnitudeAnalysis::largestOf(Value vector) {
  if (!vector)
    return 0;
  if (auto constant = vector.getDefiningOp<graph::ConstantOp>())
    return std::abs(constant.getValue().convertToDouble());
  auto dequantize = vector.getDefiningOp<graph::DequantizeOp>();
  return dequantize ? ofWeight(dequantize.getInput()).largest
                    : Magnitude().largest;
}

/// A vector or number that is broadcast counts as a row of such numbers.
Magnitude MagnitudeAnalysis::ofBinary(Operation *op) {
  Magnitude lhs = of(op->getOperand(0));
  if (std::isinf(lhs.largest)) // spares the other's weights
    return Magnitude();
  Value other = op->getOperand(1);
  Operation *producer = other.getDefiningOp();
  Magnitude rhs =
      isa_and_present<graph::ConstantOp, graph::DequantizeOp>(producer)
          ? ofRow({largestOf(other), Magnitude().length},
                  rowSize(op->getResult(0)))
          : of(other);
  if (isa<graph::AddOp, graph::SubOp>(op))
    return ofSum(lhs, rhs);
  return isa<graph::MulOp>(op) ? ofProduct(lhs, rhs) : Magnitude();
}

/// A sum of as many inputs as there are taps.
Magnitude MagnitudeAnalysis::ofConvolution(graph::ShortConvOp conv) {
  auto taps = cast<RankedTensorType>(conv.getTaps().getType());
  double count = static_cast<double>(taps.getDimSize(0) / rowSize(conv));
  double factor = count * largestOf(conv.getTaps());
  return ofProduct(of(conv.getInput()), {factor, Magnitude().length});
}

Magnitude MagnitudeAnalysis::computeOp(Operation *op, unsigned number) {
  auto ofFirst = [&](Operation *op) { return of(op->getOperand(0)); };
  return llvm::TypeSwitch<Operation *, Magnitude>(op)
      .Case([&](graph::RegionOp region) {
        return of(region.getBody().front().getTerminator()->getOperand(number));
      })
      .Case([&](graph::RmsNormOp norm) {
        return ofNorm(rowSize(norm), largestOf(norm.getGain()));
      })
      .Case([&](graph::LayerNormOp norm) {
        return ofNorm(rowSize(norm), largestOf(norm.getGain()),
                      largestOf(norm.getBias()));
      })
      .Case<graph::L2NormalizeOp, graph::TanhOp, graph::SigmoidOp>(
          [](auto) { return Magnitude{1, Magnitude().length}; })
      .Case([&](graph::QuantizedLinearOp linear) {
        if (linear.getScales()) // codes do not say how large numbers are
          return Magnitude();
        Magnitude input = of(linear.getInput());
        return std::isinf(input.length)
                   ? Magnitude()
                   : ofLinear(input, ofWeight(linear.getWeight()),
                              rowSize(linear));
      })
      .Case<graph::AddOp, graph::SubOp, graph::MulOp, graph::DivOp>(
          [&](auto binary) { return ofBinary(binary); })
      .Case([&](graph::RotaryOp turn) { return ofRotation(ofFirst(turn)); })
      .Case([&](graph::ReshapeOp reshape) {
        return ofReshape(ofFirst(reshape), rowSize(reshape.getInput()),
                         rowSize(reshape));
      })
      .Case([&](graph::ShortConvOp conv) { return ofConvolution(conv); })
      // Rows or parts of rows, numbers that are no larger, or means.
      .Case<graph::SliceOp, graph::SelectRowsOp, graph::KvAppendOp,
            graph::ConvertOp, graph::SiluOp, graph::GeluOp, graph::GeluTanhOp,
            graph::ReluOp, graph::PoolOp>(
          [&](auto same) { return ofFirst(same); })
      .Case([&](graph::SdpaOp sdpa) { return of(sdpa.getValue()); })
      .Default([](Operation *) { return Magnitude(); });
}

//===----------------------------------------------------------------------===//
// What can be f16
//===----------------------------------------------------------------------===//

/// Whether the region's kernels read and write f16: rotations of heads by fours
/// of numbers do, those by less do not, nor does what chooses experts or adds
/// up what they give.
bool packsNumbers(graph::RegionOp region) {
  for (Operation &op : region.getBody().front())
    if (isa<graph::RouteOp, graph::WeightedSumOp>(op))
      return false;
  for (auto turn : region.getBody().getOps<graph::RotaryOp>())
    if (turn.getRotaryDim() % 4 != 0 || rowSize(turn) % 2 != 0)
      return false;
  return true;
}

/// A bias of attention is read number by number.
bool isBias(OpOperand &use) {
  auto sdpa = dyn_cast<graph::SdpaOp>(use.getOwner());
  return sdpa && sdpa.getBias() == use.get();
}

bool canNarrow(OpResult result) {
  auto region = cast<graph::RegionOp>(result.getOwner());
  auto type = cast<RankedTensorType>(result.getType());
  Value inBody = region.getBody().front().getTerminator()->getOperand(
      result.getResultNumber());
  if (type.getRank() < 2 || !type.getElementType().isF32() ||
      isa_and_present<graph::KvAppendOp, graph::QuantizeActivationsOp>(
          inBody.getDefiningOp()) ||
      !packsNumbers(region))
    return false;
  return llvm::all_of(result.getUses(), [](OpOperand &use) {
    auto reader = dyn_cast<graph::RegionOp>(use.getOwner());
    return reader && packsNumbers(reader) &&
           llvm::none_of(
               reader.getBody().getArgument(use.getOperandNumber()).getUses(),
               isBias);
  });
}

/// The region ends in a conversion, and those that read the result begin with
/// one.
void narrow(OpResult result) {
  auto region = cast<graph::RegionOp>(result.getOwner());
  OpBuilder builder(region.getContext());
  auto type = cast<RankedTensorType>(result.getType());
  RankedTensorType halfType = type.clone(builder.getF16Type());
  Operation *yield = region.getBody().front().getTerminator();
  OpOperand &yielded = yield->getOpOperand(result.getResultNumber());
  builder.setInsertionPoint(yield);
  yielded.set(graph::ConvertOp::create(builder, yielded.get().getLoc(),
                                       halfType, yielded.get()));
  result.setType(halfType);
  for (OpOperand &use : result.getUses()) {
    Block &body = cast<graph::RegionOp>(use.getOwner()).getBody().front();
    mlir::BlockArgument argument = body.getArgument(use.getOperandNumber());
    argument.setType(halfType);
    builder.setInsertionPointToStart(&body);
    auto wide =
        graph::ConvertOp::create(builder, argument.getLoc(), type, argument);
    argument.replaceAllUsesExcept(wide, wide);
  }
}

//===----------------------------------------------------------------------===//
// llmc-narrow-activations
//===----------------------------------------------------------------------===//

struct NarrowActivationsPass final
    : impl::NarrowActivationsPassBase<NarrowActivationsPass> {
  using NarrowActivationsPassBase::NarrowActivationsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<target::DeviceAttr> device =
        target::getModuleDevice(module, "to narrow activations for");
    if (failed(device))
      return signalPassFailure();
    if (device->getActivations() != "f16")
      return;
    auto files = importer::WeightFiles::open(module);
    if (!files) {
      module.emitError(llvm::toString(files.takeError()));
      return signalPassFailure();
    }
    MagnitudeAnalysis magnitudes(module, *files);
    for (auto function : module.getOps<mlir::func::FuncOp>())
      for (auto region : function.getOps<graph::RegionOp>())
        for (OpResult result : region->getResults())
          if (canNarrow(result) && magnitudes.of(result).largest <= kLargest) {
            narrow(result);
            ++numNarrowed;
          }
  }
};

} // namespace
} // namespace llmc::transforms
