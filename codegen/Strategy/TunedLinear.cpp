// SPDX-License-Identifier: Apache-2.0
//
// Only the workgroup and the tile are tuned: in which type a linear computes,
// and how it adds, follows from the device and stays Strategy's choice.

#include "codegen/Strategy/TunedLinear.h"

#include "codegen/Lowering/TileMisfit.h"
#include "codegen/Strategy/Tuning.h"

namespace llmc::codegen {

tuning::Entry tuningEntryOf(graph::RegionOp region, const LinearShape &shape) {
  graph::QuantizedLinearOp linear =
      *region.getBody().getOps<graph::QuantizedLinearOp>().begin();
  auto input = cast<RankedTensorType>(linear.getInput().getType());
  tuning::Entry entry;
  entry.set_format(formatName(shape.format));
  entry.set_n(static_cast<uint32_t>(shape.N));
  entry.set_k(static_cast<uint32_t>(shape.K));
  entry.set_linears(static_cast<uint32_t>(shape.numLinears));
  entry.set_norm(shape.hasNorm);
  entry.set_rows(static_cast<uint32_t>(shape.rows));
  entry.set_activations(input.getElementType().isF32() ? "f32" : "i8");
  return entry;
}

/// The entry of one of the module's dictionaries, or null.
static graph::LoweringConfigAttr
findEntry(graph::RegionOp region, StringRef dictionary, StringRef key) {
  auto entries =
      region->getParentOfType<ModuleOp>()->getAttrOfType<mlir::DictionaryAttr>(
          dictionary);
  return entries ? entries.getAs<graph::LoweringConfigAttr>(key)
                 : graph::LoweringConfigAttr();
}

/// Why the config cannot be used instead of `chosen`, or nothing and the tile.
static std::string readTile(graph::LoweringConfigAttr config,
                            const LinearProblem &problem,
                            const LinearTile &chosen, LinearTile &tile) {
  StringRef kind = config.getKind().getValue();
  if (kind != "gemv" && kind != "gemm")
    return ("kind is '" + kind + "', allowed are gemv, gemv_matrix and gemm")
        .str();
  if (config.getWorkgroup().size() != 3 || config.getTile().size() != 3)
    return "workgroup and tile must be three sizes";
  bool isGemv = kind == "gemv";
  if (isGemv != chosen.isGemv)
    return ("kind is '" + kind + "', allowed is " +
            (chosen.isGemv ? "gemv" : "gemm") + " for this linear")
        .str();
  tile.isGemv = isGemv;
  llvm::copy(config.getWorkgroup(), tile.workgroup);
  tile.rows = config.getTile()[0];
  tile.columns = config.getTile()[1];
  tile.kStep = config.getTile()[2];
  tile.splits = config.getSplits();
  tile.tileWorkgroups = 0;
  tile = withEstimate(problem, tile);
  return checkLinearTile(problem, tile);
}

static std::string readTile(graph::LoweringConfigAttr config,
                            const LinearProblem &problem,
                            const MatrixTile & /*chosen*/, MatrixTile &tile) {
  if (config.getKind().getValue() != "gemm_matrix")
    return ("kind is '" + config.getKind().getValue() +
            "', allowed is gemm_matrix for this linear")
        .str();
  if (config.getWorkgroup().size() != 3 || config.getTile().size() != 6)
    return "workgroup must be three sizes and tile six";
  tile.setSizes(config.getTile());
  tile.splits = config.getSplits();
  tile = withEstimate(problem.shape, tile, problem.limits);
  if (config.getWorkgroup() != ArrayRef<int64_t>{tile.invocations, 1, 1})
    return "workgroup must be " + std::to_string(tile.invocations) +
           ", 1, 1 for its subgroups";
  return checkMatrixTile(problem.shape, tile, problem.limits);
}

static bool isSameTile(const std::optional<GemvMatrixSizes> &tile,
                       const std::optional<GemvMatrixSizes> &chosen) {
  return tile && tile == chosen;
}

static bool isGemvMatrix(graph::LoweringConfigAttr config) {
  return config.getKind().getValue() == "gemv_matrix";
}

static std::string readTile(graph::LoweringConfigAttr config,
                            const LinearProblem &problem,
                            const std::optional<GemvMatrixSizes> & /*chosen*/,
                            std::optional<GemvMatrixSizes> &tile) {
  if (!isGemvMatrix(config))
    return "kind is another than gemv_matrix";
  ArrayRef<int64_t> workgroup = config.getWorkgroup(), sizes = config.getTile();
  if (workgroup.size() != 3 || sizes.size() != 4)
    return "workgroup must be three sizes and tile four";
  if (workgroup[1] != 1 || workgroup[2] != 1)
    return "workgroup must be subgroups along x, with y and z 1";
  if (config.getSplits() != 1)
    return describeMisfit("splits", config.getSplits(), "is 1");
  tile = {workgroup[0], sizes[0], sizes[1], sizes[2], sizes[3]};
  return checkGemvMatrixTile(problem.shape, *tile, problem.limits,
                             problem.strategy.gemv);
}

template <typename Tile>
static FailureOr<Tile> findTile(graph::RegionOp region,
                                const LinearProblem &problem,
                                const Tile &chosen) {
  std::string key = tuningKey(tuningEntryOf(region, problem.shape));
  Tile tile{};
  if (auto config = findEntry(region, kTuningAttr, key)) {
    std::string problemText = readTile(config, problem, chosen, tile);
    if (problemText.empty() || isSameTile(tile, chosen))
      return tile;
    return region.emitOpError("has a tuning entry '")
           << key << "' that does not fit: " << problemText;
  }
  if (auto config = findEntry(region, kTuningDefaultsAttr, key))
    if (readTile(config, problem, chosen, tile).empty())
      return tile;
  return chosen;
}

FailureOr<LinearTile> findTunedTile(graph::RegionOp region,
                                    const LinearProblem &problem,
                                    const LinearTile &chosen) {
  return findTile(region, problem, chosen);
}

FailureOr<MatrixTile> findTunedTile(graph::RegionOp region,
                                    const LinearProblem &problem,
                                    const MatrixTile &chosen) {
  return findTile(region, problem, chosen);
}

FailureOr<std::optional<GemvMatrixSizes>>
findTunedTile(graph::RegionOp region, const LinearProblem &problem,
              const std::optional<GemvMatrixSizes> &chosen) {
  auto config = findEntry(region, kTuningAttr,
                          tuningKey(tuningEntryOf(region, problem.shape)));
  if (config && !isGemvMatrix(config))
    return std::optional<GemvMatrixSizes>();
  return findTile(region, problem, chosen);
}

} // namespace llmc::codegen
