// SPDX-License-Identifier: Apache-2.0
//
// Arm's Mali GPUs of the Valhall architecture. Bytes convert in one
// instruction. More than 16 sums, with the inputs and weights that they need,
// spill; a whole group of 32 k in the body costs no register with integer dot
// products (measured with panvk).

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getValhallStrategy(target::DeviceAttr device) {
  (void)device;
  FamilyStrategy strategy;
  strategy.gemm.decode = "bytes";
  strategy.gemm.maxSums = 16;
  strategy.gemm.int8Step = 32;
  return strategy;
}

} // namespace llmc::codegen
