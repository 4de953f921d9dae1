// SPDX-License-Identifier: Apache-2.0
//
// What the strategies of roots do differently from one family of devices to
// the next. A family's file says why; limits and features are the device's.

#ifndef LLMC_CODEGEN_STRATEGY_FAMILYSTRATEGY_H
#define LLMC_CODEGEN_STRATEGY_FAMILYSTRATEGY_H

#include "dialects/Target/Target.h"

#include <cstdint>

namespace llmc::codegen {

/// When the input of a GEMV of one row is put into workgroup memory first, or
/// where else it waits.
enum class Staging {
  Never,
  /// When every number of it is changed before it is used: by a norm's gain, or
  /// a conversion to half precision.
  Changed,
  Always,
  /// In registers of the lanes that read the same columns: each loads a part,
  /// and the subgroup hands it on (any number of rows).
  Lanes
};

/// How a family takes linears of few rows.
struct GemvStrategy {
  /// Of a lowering config. The arithmetic is that of codes of 4 to 6 bits and
  /// staged input; others are computed in f32.
  StringRef arithmetic = "f32", reduction = "workgroup", decode = "convert";
  Staging staging = Staging::Never;
  /// The most bytes that are staged at once, a power of two.
  int64_t stagedBytes = 16384;
  /// The most rows of the input that a tile takes, and that a linear may have:
  /// one of more is taken as a GEMM.
  int64_t maxRows = 8, maxShapeRows = 8;
  /// The most rows of a tile where weights have high bits and a minimum (Q5_K).
  int64_t maxHighRows = 8;
  /// The most rows that are not for matrix units where the device has them.
  int64_t maxMatrixlessRows = 8;
  /// The most k in the body of the loop, for one row of the input.
  int64_t maxStep = 32;
  /// Likewise where codes have high bits in another plane.
  int64_t maxHighStep = 32;
  /// Likewise of Q4_K, whose header holds the scales of two groups together; if
  /// more than maxStep.
  int64_t maxHeaderStep = 0;
  /// The most invocations of a workgroup.
  int64_t maxLanes = 64;
  /// Whether two linears of one input are computed one after the other, with
  /// the registers of one, instead of side by side: always, or where codes have
  /// high bits in another plane.
  bool linearsInTurn = false, highBitsInTurn = false;
  /// The most vectors of sums of an invocation: rows times linears side by
  /// side.
  int64_t maxVectors = 16;
  /// Tiles of one linear side by side for one row with a norm, if there are
  /// workgroups for half of the compute units (as fast as twice as many with
  /// half of the work): they share the products of the input and
  /// the norm's gain. Not where codes have high bits in another plane.
  int64_t normTiles = 1;
  /// The same for any linear of one row: the most tiles.
  int64_t rowTiles = 1;
  /// Whether one row's shares are parts of a group of scales and small weights'
  /// tiles are dealt to several workgroups, so that all of a small weight is in
  /// flight at once. Asks for reduction in subgroups.
  bool dealsTiles = false;
  /// Whether the lanes of a subgroup of 32 hold matrices as MatrixFragments.h
  /// says, so that codes are multiplied in matrix units as they are loaded.
  bool matrixFragments = false;
  /// Whether the driver's compiler moves loads ahead and decodes a unit of
  /// codes at once, with as many registers as full occupancy leaves or somewhat
  /// more.
  bool loadsEarly = false;
};

/// How a family takes linears of many rows.
struct GemmStrategy {
  /// Of a lowering config.
  StringRef decode = "convert";
  /// The most sums of an invocation for one linear.
  int64_t maxSums = 32;
  /// The same for a pair with quantized activations.
  int64_t maxInt8PairSums = 32;
  /// k in the body of the innermost loop, for each type of the input.
  int64_t floatStep = 8, int8Step = 8;
  /// Registers that a tile leaves of the most there are: where the estimate is
  /// close to the cap, kernels spill.
  int64_t spareRegisters = 0;
  /// Of the multiply-adds per instruction of the best tile, per cent that a
  /// smaller one must reach which gives more compute units a workgroup.
  int64_t leastEfficiencyPercent = 0;
  /// Whether the compiler uses registers up to the next step of occupancy
  /// rather than as few as it can.
  bool fillsOccupancyStep = false;
};

/// How a family takes attention; see SdpaDevice.
struct SdpaStrategy {
  bool loadsEarly = false, tradesOccupancy = false;
  int64_t loadsAtOnce = 1;
  bool preparesHeads = true;
  /// The most invocations of a workgroup for one row whose subgroups share keys
  /// by shuffles (kind sdpa_row); 0: no such kernel.
  int64_t rowLanes = 0;
};

/// The choices of one family for one device.
struct FamilyStrategy {
  GemvStrategy gemv;
  GemmStrategy gemm;
  SdpaStrategy sdpa;
  /// How invocations add their sums in norms; of a lowering config.
  StringRef reduction = "workgroup";
};

/// By the device's family.
FamilyStrategy getFamilyStrategy(target::DeviceAttr device);

FamilyStrategy getAdrenoStrategy(target::DeviceAttr device);
FamilyStrategy getBifrostStrategy(target::DeviceAttr device);
FamilyStrategy getValhallStrategy(target::DeviceAttr device);
FamilyStrategy getCpuStrategy(target::DeviceAttr device);
FamilyStrategy getNvidiaStrategy(target::DeviceAttr device);
/// For devices of which nothing is known.
FamilyStrategy getGenericStrategy(target::DeviceAttr device);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_FAMILYSTRATEGY_H
