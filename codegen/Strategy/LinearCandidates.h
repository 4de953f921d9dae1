// SPDX-License-Identifier: Apache-2.0
//
// The tiles that a linear may have instead of the one that Strategy chooses, as
// plain C++: what `llmc tune` compares, and what a tuning file may ask for.

#ifndef LLMC_CODEGEN_STRATEGY_LINEARCANDIDATES_H
#define LLMC_CODEGEN_STRATEGY_LINEARCANDIDATES_H

#include "codegen/Strategy/LinearTile.h"

#include <string>
#include <vector>

namespace llmc::codegen {

/// What the choice of a linear's tile rests on.
struct LinearProblem {
  LinearShape shape;
  DeviceLimits limits;
  FamilyStrategy strategy;
};

/// Why a tile cannot compute the linear on the device: the field, what it is
/// and what is allowed. Empty if it can. `tile.accumulators` and
/// `tile.registers` must be set (`withEstimate`).
std::string checkLinearTile(const LinearProblem &problem,
                            const LinearTile &tile);

/// The tile with the register model's figures.
LinearTile withEstimate(const LinearProblem &problem, LinearTile tile);

/// Whether the sizes are equal.
bool isSameTile(const LinearTile &a, const LinearTile &b);

/// `chosen` and, in a fixed order, the tiles near it that pass
/// `checkLinearTile`: other rows, columns, steps of k, workgroups and, where
/// subgroups add up, splits.
std::vector<LinearTile> enumerateLinearTiles(const LinearProblem &problem,
                                             const LinearTile &chosen);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_LINEARCANDIDATES_H
