// SPDX-License-Identifier: Apache-2.0
//
// Qualcomm's Adreno GPUs. Of a GEMM of floats, a body of 8 k: one of 16 saves a
// thirtieth of the instructions and costs two of ten waves (measured with
// turnip).

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getAdrenoStrategy(target::DeviceAttr device) {
  FamilyStrategy strategy;
  // A mask and an or are one instruction, so that a nibble in a float's
  // mantissa costs half of a shift and one instruction.
  strategy.gemv.decode = "exponent";
  // For eight waves: 32 registers of four. Two linears with high bits side by
  // side take 42; so do eight rows, and more than 6 KiB of sums in workgroup
  // memory, which leave the compiler no reason to save registers.
  strategy.gemv.highBitsInTurn = true;
  strategy.gemv.maxRows = 4;
  strategy.gemv.maxHighRows = 2; // four take 42 registers
  strategy.gemv.maxVectors = 4;
  // As far as 16 registers of four cost no occupancy, and beyond.
  strategy.gemv.loadsEarly = true;
  // Two groups of scales in the body cost no register and save a twentieth.
  strategy.gemv.maxStep = 64;
  // A gain in the loop is 0.31 instructions per multiply-add for one tile.
  strategy.gemv.normTiles = 2;
  strategy.gemm.fillsOccupancyStep = true;
  // A whole group of scales, without an inner loop: a tenth to a sixth of the
  // instructions less, in the same registers.
  strategy.gemm.int8Step = 32;
  // The rows' scales and the results of both linears meet at the end: 192
  // registers for 32 sums, which leave 4 waves.
  strategy.gemm.maxInt8PairSums = 16;
  // Eight sums take half as many instructions again as 32: no faster on twice
  // as many compute units than 16.
  strategy.gemm.leastEfficiencyPercent = 80;
  // With heads it takes 21 to 25 registers of four instead of 16: 10 to 12
  // waves, more than a row's workgroups are.
  strategy.sdpa.loadsEarly = true;
  // 16 instructions instead of 60 (turnip, Mesa 26.2.6).
  if (device.hasFeature("subgroup_arithmetic"))
    strategy.reduction = "subgroup";
  return strategy;
}

} // namespace llmc::codegen
