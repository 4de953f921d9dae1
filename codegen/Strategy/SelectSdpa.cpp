// SPDX-License-Identifier: Apache-2.0
//
// Lowering configs of regions whose root is sdpa.

#include "codegen/Lowering/MatrixMemory.h"
#include "codegen/Lowering/SdpaHeads.h"
#include "codegen/Strategy/FamilyStrategy.h"
#include "codegen/Strategy/SdpaProblem.h"
#include "dialects/Graph/TextAlignment.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

/// The cache that a region's operand is, or null.
static graph::StateOp findState(graph::RegionOp region, Value inBody) {
  Value outside = inBody;
  if (auto argument = dyn_cast<mlir::BlockArgument>(inBody))
    outside = region.getInputs()[argument.getArgNumber()];
  FlatSymbolRefAttr name;
  if (auto append = outside.getDefiningOp<graph::KvAppendOp>()) {
    name = append.getStateAttr();
  } else if (auto producer = outside.getDefiningOp<graph::RegionOp>()) {
    Operation *yield = producer.getBody().front().getTerminator();
    Value inner = yield->getOperand(cast<OpResult>(outside).getResultNumber());
    if (auto innerAppend = inner.getDefiningOp<graph::KvAppendOp>())
      name = innerAppend.getStateAttr();
  }
  return name ? SymbolTable::lookupNearestSymbolFrom<graph::StateOp>(region,
                                                                     name)
              : graph::StateOp();
}

/// Attention in matrix units, or nothing where it is none for them: few
/// queries, another cache than of f16, biases, quantized results.
static std::optional<graph::LoweringConfigAttr>
selectSdpaMatrix(graph::SdpaOp sdpa, const SdpaProblem &problem,
                 target::DeviceAttr device) {
  constexpr int64_t kKeys = 32;
  constexpr int64_t kFewestRows = 64, kMostColumns = 128;
  int64_t lanes = device.getSubgroupSize();
  bool isOffered = device.hasFeature("f16_matrix") &&
                   device.hasFeature("subgroup_shuffle") &&
                   device.getPrefillActivations() == "f16" &&
                   lanes % kMatrixSize == 0 && lanes <= 4 * kMatrixSize;
  // Lanes of one subgroup have a query together.
  bool isHeadOfLanes = llvm::isPowerOf2_64(problem.headDim) &&
                       problem.headDim >= kKeys &&
                       problem.headDim <= std::min(kMostColumns, 4 * lanes);
  if (!isOffered || !isHeadOfLanes || problem.elementBits != 16 ||
      problem.preparesHeads || problem.isQuantized ||
      problem.rows < kFewestRows || sdpa.getBias() || sdpa.getRanges() ||
      sdpa.getRelative())
    return std::nullopt;
  // Subgroups share keys; but few workgroups leave much of the device idle.
  int64_t subgroups = 4, queries = problem.rows * problem.heads;
  while (subgroups > 2 &&
         queries / (subgroups * kMatrixSize) < device.getComputeUnits() * 3 / 4)
    subgroups /= 2;
  int64_t accumulators = problem.headDim * kMatrixSize / lanes;
  // Beside the sums: the queries, the next block of keys and values, scores.
  int64_t registers =
      accumulators * 3 / 2 + kKeys * problem.headDim / (subgroups * lanes) + 48;
  if (registers > device.getRegistersMax())
    return std::nullopt;
  return graph::LoweringConfigAttr::get(
      sdpa.getContext(), StringAttr::get(sdpa.getContext(), "sdpa_matrix"),
      {subgroups * lanes, 1, 1}, {subgroups * kMatrixSize, kKeys}, /*splits=*/1,
      accumulators, registers, "f16", "subgroup", "convert");
}

/// Attention of one row by subgroups that share keys, or nothing where it is
/// none for that kernel.
static std::optional<graph::LoweringConfigAttr>
selectSdpaRow(graph::SdpaOp sdpa, const SdpaProblem &problem,
              target::DeviceAttr device) {
  constexpr int64_t kBitsPerLoad = 128, kMostSplits = 8,
                    kFewestBlocksOfSplit = 4, kKeysAtOnce = 4;
  int64_t subgroup = device.getSubgroupSize(),
          bits = problem.headDim * problem.elementBits;
  int64_t invocations = std::min(getFamilyStrategy(device).sdpa.rowLanes,
                                 device.getMaxInvocations());
  if (!problem.preparesHeads || problem.rows != 1 || problem.isQuantized ||
      problem.elementBits < 16 || bits % kBitsPerLoad != 0 || sdpa.getBias() ||
      sdpa.getRelative() || sdpa.getRanges())
    return std::nullopt;
  int64_t lanes = 1;
  while (2 * lanes <= subgroup && bits % (2 * lanes * kBitsPerLoad) == 0)
    lanes *= 2;
  // A query each: a workgroup then has the shortest way to go, and others that
  // read the same keys find them in the cache.
  constexpr int64_t kQueries = 1;
  // Sums of every subgroup meet in workgroup memory, where the heads are.
  auto memoryOf = [&](int64_t count) {
    int64_t parts = count / subgroup, numHeads = kQueries + 2;
    int64_t passes = llvm::divideCeil(numHeads * problem.headDim / 8, count);
    return 4 * (parts * kQueries * (problem.headDim + 2) +
                numHeads * problem.headDim + passes * count + 1);
  };
  while (invocations >= subgroup &&
         memoryOf(invocations) > device.getWorkgroupMemoryBytes())
    invocations /= 2;
  if (invocations < std::max(subgroup, problem.headDim / 8) ||
      invocations % subgroup != 0)
    return std::nullopt;
  int64_t keys = invocations / lanes;
  int64_t splits = std::clamp<int64_t>(
      std::min(problem.context / (keys * kFewestBlocksOfSplit),
               2 * device.getComputeUnits() * kQueries / problem.heads),
      1, kMostSplits);
  // Sums and queries, keys and values in flight as they lie in memory and one
  // of them unpacked.
  int64_t columns = problem.headDim / lanes;
  int64_t accumulators = kQueries * columns;
  int64_t registers = 2 * accumulators + 2 * kQueries +
                      2 * kKeysAtOnce * columns * problem.elementBits / 32 +
                      2 * columns + 24;
  if (registers > device.getRegistersMax())
    return std::nullopt;
  MLIRContext *context = sdpa.getContext();
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "sdpa_row"), {invocations, 1, 1},
      {lanes, kKeysAtOnce, kQueries}, splits, accumulators, registers, "f32",
      "subgroup", "convert");
}

FailureOr<SdpaProblem> readSdpaProblem(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  graph::SdpaOp sdpa = *region.getBody().getOps<graph::SdpaOp>().begin();
  auto query = cast<RankedTensorType>(sdpa.getQuery().getType());
  auto key = cast<RankedTensorType>(sdpa.getKey().getType());
  SdpaProblem problem = {};
  problem.rows = input.rowsOf(query);
  problem.heads = query.getDimSize(1);
  problem.headDim = query.getDimSize(2);
  problem.kvHeads = key.getDimSize(1);
  problem.context = input.rowsOf(key);
  problem.elementBits = 32;
  problem.preparesHeads = preparesHeads(sdpa);
  problem.isQuantized =
      !region.getBody().getOps<graph::QuantizeActivationsOp>().empty();
  if (graph::StateOp state = findState(region, sdpa.getKey())) {
    auto cache = cast<RankedTensorType>(state.getType());
    problem.context = cache.getDimSize(1);
    problem.elementBits = cache.getElementTypeBitWidth();
  }
  problem.extras = (sdpa.getWindow() != 0 || sdpa.getRanges() ? 1 : 0) +
                   (sdpa.getBias() ? 1 : 0) + (sdpa.getRelative() ? 1 : 0);
  // Texts begin at multiples of it, so that blocks of keys do.
  problem.keyAlignment = sdpa.getRanges() ? graph::kTextAlignment : 0;
  if (problem.headDim % 4 != 0)
    return sdpa.emitOpError("head dimension ")
           << problem.headDim << " is no multiple of 4";
  if (problem.heads % problem.kvHeads != 0)
    return sdpa.emitOpError() << problem.heads << " heads are no multiple of "
                              << problem.kvHeads << " KV heads";
  return problem;
}

SdpaDevice sdpaDevice(target::DeviceAttr device) {
  SdpaStrategy strategy = getFamilyStrategy(device).sdpa;
  return {device.getRegistersFullOccupancy(),
          device.getRegistersMax(),
          device.getSubgroupSize(),
          device.getMaxInvocations(),
          device.getWorkgroupMemoryBytes(),
          device.getComputeUnits(),
          strategy.loadsEarly,
          strategy.tradesOccupancy,
          strategy.loadsAtOnce,
          strategy.preparesHeads};
}

FailureOr<graph::LoweringConfigAttr> selectSdpa(const StrategyInput &input) {
  graph::RegionOp region = input.region;
  FailureOr<SdpaProblem> problem = readSdpaProblem(input);
  if (failed(problem))
    return failure();
  target::DeviceAttr device = input.device;
  graph::SdpaOp sdpa = *region.getBody().getOps<graph::SdpaOp>().begin();
  if (auto config = selectSdpaMatrix(sdpa, *problem, device))
    return *config;
  if (auto config = selectSdpaRow(sdpa, *problem, device))
    return *config;
  SdpaDevice limits = sdpaDevice(device);
  std::optional<SdpaTile> tile = selectSdpaTile(*problem, limits);
  if (!tile)
    return sdpa.emitOpError("head dimension ")
           << problem->headDim << ": no tile fits the " << limits.registersMax
           << " registers and " << limits.workgroupMemoryBytes
           << " bytes of workgroup memory of device '" << device.getName()
           << "'";
  MLIRContext *context = region.getContext();
  SmallVector<int64_t> sizes = {tile->queries, tile->perInvocation, tile->lanes,
                                tile->keys, tile->valueLanes};
  if (tile->loadsAtOnce != 1)
    sizes.push_back(tile->loadsAtOnce);
  // How codes of a cache become numbers: as those of weights do.
  bool convertsBytes = problem->elementBits == 8 &&
                       getFamilyStrategy(device).gemv.decode == "bytes";
  return graph::LoweringConfigAttr::get(
      context, StringAttr::get(context, "sdpa"), {tile->workgroup(), 1, 1},
      sizes, tile->splits, tile->accumulators, tile->registers,
      /*arithmetic=*/"f32", /*reduction=*/"workgroup",
      convertsBytes ? "bytes" : "convert");
}

} // namespace llmc::codegen
