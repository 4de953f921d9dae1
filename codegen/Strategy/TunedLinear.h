// SPDX-License-Identifier: Apache-2.0
//
// A linear region as Strategy sees it, and the lookup of its tile in a tuning
// file.

#ifndef LLMC_CODEGEN_STRATEGY_TUNEDLINEAR_H
#define LLMC_CODEGEN_STRATEGY_TUNEDLINEAR_H

#include "codegen/Strategy/GemvMatrixTile.h"
#include "codegen/Strategy/LinearCandidates.h"
#include "codegen/Strategy/MatrixTile.h"
#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/tuning.pb.h"

namespace llmc::codegen {

/// The problem of a region with linears; an error at it when a weight has no
/// layout or no binding of the device holds it.
FailureOr<LinearProblem> linearProblemOf(const StrategyInput &input);

/// The tile as an attribute, with what the family's strategy says of its
/// kernel.
graph::LoweringConfigAttr toConfig(const LinearTile &tile,
                                   const LinearProblem &problem,
                                   MLIRContext *context);

/// The fields of a tuning entry by which a region's linear is found; no target,
/// no config.
tuning::Entry tuningEntryOf(graph::RegionOp region, const LinearShape &shape);

/// The tile that the module's tuning attributes give for the region, or
/// `chosen`. A tile of `target.tuning` that cannot compute the linear on the
/// device is an error at the region, one of the defaults is passed over.
FailureOr<LinearTile> findTunedTile(graph::RegionOp region,
                                    const LinearProblem &problem,
                                    const LinearTile &chosen);
/// Likewise of a linear in matrix units.
FailureOr<MatrixTile> findTunedTile(graph::RegionOp region,
                                    const LinearProblem &problem,
                                    const MatrixTile &chosen);
/// Likewise of one row in matrix units: nothing where `target.tuning` has an
/// entry of another kind, which then is taken or refused as such.
FailureOr<std::optional<GemvMatrixSizes>>
findTunedTile(graph::RegionOp region, const LinearProblem &problem,
              const std::optional<GemvMatrixSizes> &chosen);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_TUNEDLINEAR_H
