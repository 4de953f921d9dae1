// SPDX-License-Identifier: Apache-2.0
//
// The choice of a lowering config for one region: one function per kind of
// root, each in its own file.

#ifndef LLMC_CODEGEN_STRATEGY_ROOTSTRATEGIES_H
#define LLMC_CODEGEN_STRATEGY_ROOTSTRATEGIES_H

#include "dialects/Graph/Graph.h"
#include "dialects/Target/Target.h"

namespace llmc::codegen {

/// What a choice may rest on.
struct StrategyInput {
  graph::RegionOp region;
  target::DeviceAttr device;
  /// The most rows of a step.
  int64_t rows;

  /// Rows of a tensor: its static leading dimension, or the step's.
  int64_t rowsOf(RankedTensorType type) const {
    return type.getRank() > 0 && !type.isDynamicDim(0) ? type.getDimSize(0)
                                                       : rows;
  }
};

/// Gives a config, or emits an error at the region that names the limit of the
/// device.
using RootStrategy =
    FailureOr<graph::LoweringConfigAttr> (*)(const StrategyInput &);

/// The strategy for a region by its root: the first of linear, linear of
/// experts, embedding, sdpa, heads (kv_append or rotary), short_conv, route,
/// norm or pool that its body holds, else elementwise.
RootStrategy findRootStrategy(graph::RegionOp region);

FailureOr<graph::LoweringConfigAttr> selectLinear(const StrategyInput &input);
FailureOr<graph::LoweringConfigAttr>
selectExpertLinear(const StrategyInput &input);
FailureOr<graph::LoweringConfigAttr>
selectEmbedding(const StrategyInput &input);
FailureOr<graph::LoweringConfigAttr> selectSdpa(const StrategyInput &input);
FailureOr<graph::LoweringConfigAttr>
selectShortConv(const StrategyInput &input);
FailureOr<graph::LoweringConfigAttr> selectHeads(const StrategyInput &input);
FailureOr<graph::LoweringConfigAttr> selectRoute(const StrategyInput &input);
FailureOr<graph::LoweringConfigAttr> selectNorm(const StrategyInput &input);
FailureOr<graph::LoweringConfigAttr>
selectElementwise(const StrategyInput &input);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_ROOTSTRATEGIES_H
