// SPDX-License-Identifier: Apache-2.0
//
// What a lowering config says of a GEMV kernel, by name.

#ifndef LLMC_CODEGEN_LOWERING_GEMVCONFIG_H
#define LLMC_CODEGEN_LOWERING_GEMVCONFIG_H

#include "codegen/Lowering/LinearRegion.h"

namespace llmc::codegen {

struct GemvConfig {
  /// Of the context's config, whose tile has at least three sizes.
  GemvConfig(RegionContext &context, LinearRegion &parts);

  /// Emits an error for a config that does not fit the region.
  LogicalResult verify(RegionContext &context, LinearRegion &parts) const;

  /// Of a workgroup.
  int64_t lanes;
  /// Rows of the input, and tiles of each of so many linears, that one loop
  /// takes; columns of a share: a part of a group of scales, or one or two.
  int64_t tileRows, tilesAtOnce, linearsAtOnce, kStep;
  /// Quads of a tile that a workgroup takes: all of them, unless the config
  /// deals them to several workgroups (its splits).
  int64_t quadsAtOnce;
  /// Workgroups that go over all tiles, each over every so-manieth, with the
  /// lane's inputs in registers; 0 for a workgroup a tile.
  int64_t tileWorkgroups;
  /// The columns that are staged at once, in workgroup memory; 0 for none.
  int64_t stagedColumns;
  bool isStagedOnce, isHalf;
  /// Whether a share's columns are staged by its lanes instead, of a subgroup.
  bool exchangesInput;
  CodeDecode decode;
  /// Lanes that add up among themselves by subgroup operations, or 0.
  int64_t subgroup;
  /// Whether each lane has one share of the only row, of all linears side by
  /// side, so that no loop goes over shares.
  bool takesOneTurn;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMVCONFIG_H
