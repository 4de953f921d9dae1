// SPDX-License-Identifier: Apache-2.0
//
// Arm's Mali GPUs of the Bifrost architecture. Bytes convert in one
// instruction. More than 16 sums, with the inputs and weights that they need,
// spill (measured with panvk).

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getBifrostStrategy(target::DeviceAttr device) {
  FamilyStrategy strategy;
  GemvStrategy &gemv = strategy.gemv;
  // A byte of a word is converted in one instruction.
  if (device.hasFeature("i8_arithmetic"))
    gemv.decode = "bytes";
  // A load from a buffer is five instructions and takes registers for its
  // 64-bit address, one from workgroup memory two.
  gemv.staging = Staging::Always;
  // The sums of two linears, or of more rows, do not fit the 32 registers of
  // full occupancy.
  gemv.linearsInTurn = true;
  gemv.maxRows = 1;
  // A K-quant's scales are unpacked for two groups at once.
  gemv.maxHeaderStep = 64;
  // Nor do the scales that two groups share.
  gemv.maxHighStep = 16;
  strategy.gemm.decode = "bytes";
  strategy.gemm.maxSums = 16;
  // A whole group of scales, without an inner loop: in the same registers, a
  // twentieth of the instructions less.
  strategy.gemm.floatStep = 32;
  strategy.gemm.spareRegisters = 2;
  strategy.sdpa.tradesOccupancy = true;
  // A kernel that prepares its heads takes 42 to 54 registers, attention alone
  // 32 (panvk, Mesa 26.2.6): half the invocations while keys are read.
  strategy.sdpa.preparesHeads = false;
  return strategy;
}

} // namespace llmc::codegen
