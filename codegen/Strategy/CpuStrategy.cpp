// SPDX-License-Identifier: Apache-2.0
//
// CPUs that run shaders in software.

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getCpuStrategy(target::DeviceAttr device) {
  (void)device;
  FamilyStrategy strategy;
  strategy.gemm.maxSums = 64;
  return strategy;
}

} // namespace llmc::codegen
