// SPDX-License-Identifier: Apache-2.0
//
// Arm's Mali GPUs of the Bifrost architecture. Bytes convert in one
// instruction. More than 16 sums, with the inputs and weights that they need,
// spill (measured with panvk).

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getBifrostStrategy(target::DeviceAttr device) {
  (void)device;
  FamilyStrategy strategy;
  strategy.gemm.decode = "bytes";
  strategy.gemm.maxSums = 16;
  return strategy;
}

} // namespace llmc::codegen
