// SPDX-License-Identifier: Apache-2.0
//
// The places of expert_linears: a row has one for each expert that it goes to,
// and a workgroup computes a tile of one. Matrices of all experts lie behind
// one another as one, so that an expert is a range of its tiles.

#ifndef LLMC_CODEGEN_LOWERING_EXPERTPLACE_H
#define LLMC_CODEGEN_LOWERING_EXPERTPLACE_H

#include "codegen/Lowering/LinearRegion.h"

namespace llmc::codegen {

/// Places are numbered through all rows; numbers are indices.
class ExpertPlaces {
public:
  /// `parts` must have experts.
  ExpertPlaces(KernelUnit &unit, LinearRegion &parts);

  /// The tile (kTileRows rows) of the weight, or of the part of it that the
  /// kernel has, which is tile `tile` of the place's expert.
  Value tileOfWeight(Value place, Value tile);
  /// Whether that tile is in the kernel's part; null when that is the whole.
  Value isInPart(Value tileOfWeight);
  /// The place's row of the result, and its first quad there.
  Value rowOf(Value place);
  Value firstQuadOf(Value place);

private:
  KernelUnit &unit;
  KernelBuilder &b;
  LinearRegion &parts;
  int64_t numExperts;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_EXPERTPLACE_H
