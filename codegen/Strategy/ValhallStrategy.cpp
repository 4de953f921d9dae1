// SPDX-License-Identifier: Apache-2.0
//
// Arm's Mali GPUs of the Valhall architecture. Bytes convert in one
// instruction. More than 16 sums, with the inputs and weights that they need,
// spill; a whole group of 32 k in the body costs no register with integer dot
// products (measured with panvk).

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getValhallStrategy(target::DeviceAttr device) {
  FamilyStrategy strategy;
  GemvStrategy &gemv = strategy.gemv;
  // A byte of a word is converted in one instruction.
  if (device.hasFeature("i8_arithmetic"))
    gemv.decode = "bytes";
  // Two columns a multiply-add: GemvGroup says how the input is kept in range,
  // docs/codegen.md what it costs in precision.
  if (device.hasFeature("i8_arithmetic") && device.hasFeature("f16_arithmetic"))
    gemv.arithmetic = "f16";
  // A load from workgroup memory is two instructions more than one from a
  // buffer.
  gemv.staging = Staging::Changed;
  // The sums of two linears, or of more rows, do not fit the 32 registers of
  // full occupancy.
  gemv.linearsInTurn = true;
  gemv.maxRows = 1;
  // A K-quant's scales are unpacked for two groups at once.
  gemv.maxStep = 64;
  // Nor do the scales that two groups share.
  gemv.maxHighStep = 16;
  strategy.gemm.decode = "bytes";
  strategy.gemm.maxSums = 16;
  strategy.gemm.spareRegisters = 2;
  strategy.sdpa.tradesOccupancy = true;
  // A kernel that prepares its heads takes 42 to 54 registers, attention alone
  // 32 (panvk, Mesa 26.2.6): half the invocations while keys are read.
  strategy.sdpa.preparesHeads = false;
  strategy.gemm.int8Step = 32;
  return strategy;
}

} // namespace llmc::codegen
