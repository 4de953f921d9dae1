// SPDX-License-Identifier: Apache-2.0
//
// Lowering configs of regions whose root is a quantized_linear (`gemv` or
// `gemm`) or an expert_linear (`expert_gemv`).

#include "codegen/Lowering/WeightParts.h"
#include "codegen/Lowering/WeightType.h"
#include "codegen/Strategy/GemvMatrixTile.h"
#include "codegen/Strategy/LinearTile.h"
#include "codegen/Strategy/MatrixTile.h"
#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/TunedLinear.h"

namespace llmc::codegen {

static DeviceLimits limitsOf(target::DeviceAttr device) {
  return {device.getRegistersFullOccupancy(),
          device.getRegistersMax(),
          device.getSubgroupSize(),
          device.getMaxInvocations(),
          device.getWorkgroupMemoryBytes(),
          device.getMaxUnroll(),
          device.getComputeUnits()};
}

FailureOr<LinearProblem> linearProblemOf(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  auto linears =
      llvm::to_vector(region.getBody().getOps<graph::QuantizedLinearOp>());
  auto type = cast<RankedTensorType>(linears.front().getWeight().getType());
  std::optional<WeightLayout> layout = layoutOf(type);
  if (!layout)
    return region.emitOpError("has a weight of type ")
           << type << ", for which there is no layout";
  FailureOr<std::vector<RowRange>> parts =
      partsForDevice(region, *layout, input.device);
  if (failed(parts))
    return failure();

  int64_t rows =
      input.rowsOf(cast<RankedTensorType>(linears.front().getType()));
  auto inputType = cast<RankedTensorType>(linears.front().getInput().getType());
  bool isInt8 = inputType.getElementType().isInteger(8);
  bool hasNorm = !region.getBody().getOps<graph::RmsNormOp>().empty();
  return LinearProblem{{layout->format, rows, parts->front().rows,
                        layout->columns, static_cast<int64_t>(linears.size()),
                        hasNorm, isInt8},
                       limitsOf(input.device),
                       getFamilyStrategy(input.device)};
}

static InFlightDiagnostic refuseDevice(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  return region.emitOpError("has a linear for which no workgroup fits the ")
         << input.device.getMaxInvocations() << " invocations of device '"
         << input.device.getName() << "'";
}

static graph::LoweringConfigAttr
toConfig(StringRef kind, const LinearTile &tile, const LinearProblem &problem,
         MLIRContext *context, int64_t numExperts = 0) {
  const FamilyStrategy &strategy = problem.strategy;
  const GemvStrategy &gemv = strategy.gemv;
  SmallVector<int64_t> sizes = {tile.rows, tile.columns, tile.kStep};
  if (tile.isGemv) {
    const LinearShape &shape = problem.shape;
    int64_t staged = gemvStagedColumns(shape, tile, problem.limits, gemv);
    if (staged == 0)
      staged = gemvExchangedColumns(shape, tile, problem.limits, gemv);
    int64_t last = numExperts != 0 ? numExperts : tile.tileWorkgroups;
    if (staged != 0 || last != 0)
      sizes.push_back(staged);
    if (last != 0)
      sizes.push_back(last);
    StringRef arithmetic = takesArithmetic(shape, tile, problem.limits, gemv)
                               ? gemv.arithmetic
                               : "f32";
    return graph::LoweringConfigAttr::get(
        context, StringAttr::get(context, kind), tile.workgroup, sizes,
        tile.splits, tile.accumulators, tile.registers, arithmetic,
        gemv.reduction, gemv.decode);
  }
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, kind), tile.workgroup, sizes,
      /*splits=*/1, tile.accumulators, tile.registers,
      problem.shape.isInt8 ? "i8" : "f32", "workgroup", strategy.gemm.decode);
}

graph::LoweringConfigAttr toConfig(const LinearTile &tile,
                                   const LinearProblem &problem,
                                   MLIRContext *context) {
  return toConfig(tile.isGemv ? "gemv" : "gemm", tile, problem, context);
}

/// Each place of the result is a linear of one row by itself, whatever the
/// number of rows.
FailureOr<graph::LoweringConfigAttr>
selectExpertLinear(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  auto linears =
      llvm::to_vector(region.getBody().getOps<graph::ExpertLinearOp>());
  auto type = cast<RankedTensorType>(linears.front().getWeight().getType());
  std::optional<WeightLayout> layout = layoutOf(type);
  if (!layout)
    return region.emitOpError("has a weight of type ")
           << type << ", for which there is no layout";
  bool hasNorm = !region.getBody().getOps<graph::RmsNormOp>().empty();
  LinearProblem problem{{layout->format, /*rows=*/1,
                         linears.front().numOutputs(), layout->columns,
                         static_cast<int64_t>(linears.size()), hasNorm},
                        limitsOf(input.device),
                        getFamilyStrategy(input.device)};
  // A tile is of one expert.
  problem.strategy.gemv.normTiles = problem.strategy.gemv.rowTiles = 1;
  problem.strategy.gemv.dealsTiles = false;
  std::optional<LinearTile> tile =
      selectGemv(problem.shape, problem.limits, problem.strategy.gemv);
  if (!tile)
    return refuseDevice(input);
  return toConfig("expert_gemv", *tile, problem, region.getContext(),
                  linears.front().numExperts());
}

/// Not regions of few rows, nor on a device or with a plan without matrices.
static bool isForMatrixUnits(const StrategyInput &input,
                             const LinearProblem &problem) {
  return input.device.hasFeature("f16_matrix") &&
         input.device.getPrefillActivations() == "f16" &&
         problem.shape.rows > problem.strategy.gemv.maxMatrixlessRows;
}

static graph::LoweringConfigAttr toConfig(const MatrixTile &tile,
                                          const LinearProblem &problem,
                                          MLIRContext *context) {
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "gemm_matrix"),
      {tile.invocations, 1, 1},
      {tile.rows, tile.columns, tile.kStep, tile.subgroupRows,
       tile.subgroupColumns, tile.buffers},
      tile.splits, tile.accumulators, tile.registers, "f16", "workgroup",
      problem.strategy.gemm.decode);
}

static graph::LoweringConfigAttr toConfig(const GemvMatrixSizes &tile,
                                          const LinearProblem &problem,
                                          MLIRContext *context) {
  // Sums of a quad's rows in the subgroup's matrices, and the lane's own;
  // registers as the driver reports them for pairs.
  constexpr int64_t kSums = 12, kColumns = 32, kRegisters = 64;
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "gemv_matrix"),
      {tile.invocations, 1, 1},
      {tile.rows, tile.columns, tile.kStep, tile.tileWorkgroups}, /*splits=*/1,
      kSums * problem.shape.numLinears * tile.columns / kColumns, kRegisters,
      "f32", "subgroup", "convert");
}

FailureOr<graph::LoweringConfigAttr> selectLinear(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  FailureOr<LinearProblem> problem = linearProblemOf(input);
  if (failed(problem))
    return failure();
  std::optional<MatrixTile> matrix;
  if (isForMatrixUnits(input, *problem))
    matrix = selectMatrixTile(problem->shape, problem->limits);
  if (matrix) {
    FailureOr<MatrixTile> tuned = findTunedTile(region, *problem, *matrix);
    if (failed(tuned))
      return failure();
    return toConfig(*tuned, *problem, region.getContext());
  }
  FailureOr<std::optional<GemvMatrixSizes>> rowInMatrices =
      findTunedTile(region, *problem,
                    selectGemvMatrixTile(problem->shape, problem->limits,
                                         problem->strategy.gemv));
  if (failed(rowInMatrices))
    return failure();
  if (*rowInMatrices)
    return toConfig(**rowInMatrices, *problem, region.getContext());
  std::optional<LinearTile> tile =
      selectLinearTile(problem->shape, problem->limits, problem->strategy);
  if (!tile)
    return refuseDevice(input);
  FailureOr<LinearTile> tuned = findTunedTile(region, *problem, *tile);
  if (failed(tuned))
    return failure();
  return toConfig(*tuned, *problem, region.getContext());
}

} // namespace llmc::codegen
