// SPDX-License-Identifier: Apache-2.0
//
// The GEMV kernel's input in the registers of lanes that read the same columns:
// where a load takes the device's compiler some instructions for every lane,
// and a shuffle of the subgroup one for all.

#ifndef LLMC_CODEGEN_LOWERING_GEMVEXCHANGE_H
#define LLMC_CODEGEN_LOWERING_GEMVEXCHANGE_H

#include "codegen/Lowering/LinearRegion.h"

namespace llmc::codegen {

/// The kQuadsPerTile lanes of a share, neighbours in a subgroup, have a quad of
/// the weight each and need the same vectors of four columns. Vector number n
/// is loaded by lane n % kQuadsPerTile of them, times the norm's gain.
class GemvExchange {
public:
  /// `subgroup` is the subgroup's size, a multiple of kQuadsPerTile.
  GemvExchange(KernelBuilder &builder, LinearInput &input, int64_t subgroup);

  /// What the lane has of `count` vectors (a multiple of kQuadsPerTile), from
  /// number `first` of the row that begins at `rowBase` on; both are indices.
  SmallVector<Value> load(Value rowBase, Value first, int64_t count);
  /// Vector `number` of those, given to all lanes of the share. `own` is what
  /// each of them loaded.
  Value vector(ArrayRef<Value> own, int64_t number);

private:
  KernelBuilder &b;
  LinearInput &input;
  int64_t subgroup;
  /// The lane's number among those of the share, an index, and the number of
  /// their first one in the subgroup, an i32.
  Value inShare, firstLane;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMVEXCHANGE_H
