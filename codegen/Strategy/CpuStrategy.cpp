// SPDX-License-Identifier: Apache-2.0
//
// CPUs that run shaders in software.

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getCpuStrategy(target::DeviceAttr device) {
  FamilyStrategy strategy;
  if (device.hasFeature("subgroup_arithmetic") &&
      device.hasFeature("subgroup_shuffle")) {
    strategy.gemv.reduction = "subgroup";
    strategy.gemv.staging = Staging::Lanes;
    strategy.gemv.maxLanes = device.getSubgroupSize();
    strategy.gemv.rowTiles = 4;
  }
  strategy.gemm.maxSums = 64;
  return strategy;
}

} // namespace llmc::codegen
