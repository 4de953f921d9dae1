// SPDX-License-Identifier: Apache-2.0
//
// Qualcomm's Adreno GPUs. A body of 8 k: one of 16 saves a thirtieth of the
// instructions and costs two of ten waves (measured with turnip).

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getAdrenoStrategy(target::DeviceAttr device) {
  (void)device;
  FamilyStrategy strategy;
  strategy.gemm.fillsOccupancyStep = true;
  return strategy;
}

} // namespace llmc::codegen
