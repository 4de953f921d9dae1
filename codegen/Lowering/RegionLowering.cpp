// SPDX-License-Identifier: Apache-2.0
//
// Views of region operands and results.

#include "codegen/Lowering/RegionLowering.h"

#include "codegen/Lowering/LowerGemvMatrix.h"

namespace llmc::codegen {

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

int64_t View::columns() const {
  int64_t product = 1;
  for (int64_t size : type.getShape().drop_front())
    product *= size;
  return product;
}

/// Elements of one step in dimension `dim`.
static int64_t strideOf(RankedTensorType type, int64_t dim) {
  int64_t product = 1;
  for (int64_t size : type.getShape().drop_front(dim + 1))
    product *= size;
  return product;
}

static FailureOr<View> viewThroughReshape(graph::ReshapeOp reshape,
                                          const View &producer) {
  View view = producer;
  view.type = cast<RankedTensorType>(reshape.getType());
  if (view.type.getRank() == 0 || view.columns() != producer.columns() ||
      producer.stateType)
    return reshape.emitOpError("changes what a row is, from ")
           << producer.type << " to " << view.type;
  return view;
}

static FailureOr<View> viewThroughSlice(graph::SliceOp slice,
                                        const View &producer) {
  int64_t dim = slice.getDim(), stride = strideOf(producer.type, dim);
  bool rowsWhole =
      dim >= 1 &&
      llvm::all_of(producer.type.getShape().drop_front().take_front(dim - 1),
                   [](int64_t size) { return size == 1; });
  View view = producer;
  view.type = cast<RankedTensorType>(slice.getType());
  view.offset += static_cast<int64_t>(slice.getOffset()) * stride;
  if (!rowsWhole || producer.stateType || view.offset % 4 != 0 ||
      view.columns() % 4 != 0)
    return slice.emitOpError("is no range of columns at a multiple of four");
  return view;
}

/// Ops that only look at memory in another way.
static bool isView(Operation *op) {
  return isa<graph::ReshapeOp, graph::SliceOp, graph::ConvertOp>(op);
}

FailureOr<View> viewThrough(Operation *op, const View &producer) {
  if (auto convert = dyn_cast<graph::ConvertOp>(op)) {
    View view = producer;
    view.type = cast<RankedTensorType>(convert.getType());
    return view;
  }
  if (auto reshape = dyn_cast<graph::ReshapeOp>(op))
    return viewThroughReshape(reshape, producer);
  if (auto slice = dyn_cast<graph::SliceOp>(op))
    return viewThroughSlice(slice, producer);
  return op->emitOpError("is not a view of its operand");
}

int64_t RegionContext::rowsOf(RankedTensorType type) const {
  if (type.getRank() == 0)
    return 1;
  return type.isDynamicDim(0) ? rows : type.getDimSize(0);
}

Value RegionContext::outside(Value inBody) {
  auto argument = dyn_cast<mlir::BlockArgument>(inBody);
  if (!argument || argument.getOwner() != &region.getBody().front())
    return {};
  return region.getInputs()[argument.getArgNumber()];
}

bool RegionContext::hasView(Value inBody) {
  while (Operation *op = inBody.getDefiningOp()) {
    if (!isView(op))
      return false;
    inBody = op->getOperand(0);
  }
  return values.views.contains(outside(inBody));
}

FailureOr<View> RegionContext::view(Value inBody) {
  if (Operation *op = inBody.getDefiningOp()) {
    if (isa<graph::KvAppendOp>(op)) {
      Operation *yield = region.getBody().front().getTerminator();
      for (OpOperand &operand : yield->getOpOperands())
        if (operand.get() == inBody)
          return resultView(operand.getOperandNumber());
    }
    if (!isView(op))
      return op->emitOpError("is not in memory");
    FailureOr<View> producer = view(op->getOperand(0));
    return failed(producer) ? producer : viewThrough(op, *producer);
  }
  auto found = values.views.find(outside(inBody));
  if (found == values.views.end())
    return region.emitOpError("reads an operand that is no tensor in memory: ")
           << inBody;
  return found->second;
}

View RegionContext::resultView(unsigned number) {
  return values.views.lookup(region.getResult(number));
}

FailureOr<StepWord> RegionContext::word(Value inBody) {
  auto found = values.words.find(outside(inBody));
  if (found == values.words.end())
    return region.emitOpError("reads a scalar that is no word of the step: ")
           << inBody;
  return found->second;
}

FailureOr<WeightView> RegionContext::weight(Value inBody) {
  auto found = values.weights.find(outside(inBody));
  if (found == values.weights.end())
    return region.emitOpError("reads an operand that is no weight: ") << inBody;
  std::optional<WeightLayout> layout =
      layoutOf(cast<RankedTensorType>(inBody.getType()));
  if (!layout)
    return region.emitOpError("reads weight '")
           << found->second.getValue() << "', for whose type "
           << inBody.getType() << " there is no layout";
  bool isCut =
      layout->name == "tile16" && part.rows != 0 && part.rows != layout->rows;
  WeightView view{isCut
                      ? *tiledLayout(layout->format, part.rows, layout->columns)
                      : *layout,
                  {}};
  for (auto [number, plane] : llvm::enumerate(view.layout.planes)) {
    int64_t offset =
        isCut ? part.first / kTileRows * planeBytesPerTile(*layout, plane) : 0;
    view.planes.push_back(entry.weightSlice(getLoc(), found->second, number,
                                            plane.bytes, offset));
  }
  return view;
}

FailureOr<std::vector<RowRange>> RegionContext::weightParts() {
  for (Operation &op : region.getBody().front()) {
    Value weight;
    if (isa<graph::QuantizedLinearOp, graph::ExpertLinearOp>(op))
      weight = op.getOperand(1);
    else if (auto embedding = dyn_cast<graph::QuantizedEmbeddingOp>(op))
      weight = embedding.getTable();
    if (!weight)
      continue;
    auto layout = layoutOf(cast<RankedTensorType>(weight.getType()));
    if (layout)
      return partsForDevice(region, *layout, device);
  }
  return std::vector<RowRange>{RowRange{}};
}

int64_t RegionContext::firstColumn() {
  bool isLinear = !region.getBody().getOps<graph::QuantizedLinearOp>().empty();
  return isLinear ? part.first : 0;
}

Value RegionContext::workspace(int64_t bytes) {
  return entry.slice(getLoc(), program::Storage::Arena, "", bytes);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

KernelUnit::KernelUnit(RegionContext &context, ArrayRef<int64_t> workgroup)
    : KernelUnit(context, workgroup, context.getLoc()) {}

KernelUnit::KernelUnit(RegionContext &context, ArrayRef<int64_t> workgroup,
                       Location loc)
    : EntryKernel(context.getEntry(), context.getDevice(), loc, workgroup),
      context(context) {}

FailureOr<Value> KernelUnit::bindVector(Value inBody, Type element) {
  auto dequantize = inBody.getDefiningOp<graph::DequantizeOp>();
  if (!dequantize || cast<RankedTensorType>(inBody.getType()).getRank() != 1)
    return context.getRegion().emitOpError("reads ")
           << inBody << " where only a dequantized 1-D weight is possible";
  FailureOr<WeightView> weight = context.weight(dequantize.getInput());
  if (failed(weight))
    return failure();
  return bind(weight->planes.front(), element, program::Access::Read);
}

Value KernelUnit::numRows(RankedTensorType type) {
  if (type.getRank() > 0 && type.isDynamicDim(0))
    return rowsInStep();
  return builder().index(context.rowsOf(type));
}

void KernelUnit::finish(StringRef label, ArrayRef<int64_t> groups,
                        std::optional<int64_t> registers,
                        StringRef kernelLabel) {
  graph::LoweringConfigAttr config = context.getConfig();
  if (registers)
    config = graph::LoweringConfigAttr::get(
        config.getContext(), config.getKind(), config.getWorkgroup(),
        config.getTile(), config.getSplits(), config.getAccumulators(),
        *registers, config.getArithmetic(), config.getReduction(),
        config.getDecode());
  EntryKernel::finish(label, groups, config, kernelLabel);
}

RegionLowering findRegionLowering(StringRef kind) {
  static const llvm::StringMap<RegionLowering> lowerings = {
      {"elementwise", lowerElementwise},
      {"embedding", lowerEmbedding},
      {"expert_gemv", lowerGemv},
      {"gemm", lowerGemm},
      {"gemm_matrix", lowerGemmMatrix},
      {"gemv", lowerGemv},
      {"gemv_matrix", lowerGemvMatrix},
      {"heads", lowerHeads},
      {"l2_normalize", lowerNorm},
      {"layer_norm", lowerNorm},
      {"pool", lowerNorm},
      {"rms_norm", lowerNorm},
      {"route", lowerRoute},
      {"sdpa", lowerSdpa},
      {"sdpa_matrix", lowerSdpaMatrix},
      {"sdpa_row", lowerSdpaRow},
      {"short_conv", lowerShortConv},
  };
  return lowerings.lookup(kind);
}

} // namespace llmc::codegen
