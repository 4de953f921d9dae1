// SPDX-License-Identifier: Apache-2.0
//
// CPUs that run shaders in software.

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

/// Lanes of a vector for which llvmpipe makes one instruction of a shuffle,
/// with AVX2; for others it makes a loop.
static constexpr int64_t kShuffledLanes = 8;

FamilyStrategy getCpuStrategy(target::DeviceAttr device) {
  FamilyStrategy strategy;
  // A load takes some fifty instructions for each lane. One subgroup for a
  // workgroup, so that it walks along its planes and the CPU loads ahead.
  if (device.getSubgroupSize() == kShuffledLanes &&
      device.hasFeature("subgroup_arithmetic") &&
      device.hasFeature("subgroup_shuffle")) {
    strategy.gemv.reduction = "subgroup";
    strategy.gemv.staging = Staging::Lanes;
    strategy.gemv.maxLanes = kShuffledLanes;
    strategy.gemv.rowTiles = 4;
  }
  strategy.gemm.maxSums = 64;
  return strategy;
}

} // namespace llmc::codegen
