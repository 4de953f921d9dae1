// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's GPUs. A token of a small model is over before a loop of loads gets
// going: everything that a workgroup reads should be in flight at once, so a
// lane takes one or two shares of k and no more.

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getNvidiaStrategy(target::DeviceAttr device) {
  FamilyStrategy strategy;
  strategy.gemv.maxLanes = 1024;
  if (device.hasFeature("subgroup_arithmetic"))
    strategy.reduction = "subgroup";
  return strategy;
}

} // namespace llmc::codegen
