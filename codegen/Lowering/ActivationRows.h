// SPDX-License-Identifier: Apache-2.0
//
// Activations as kernels see them: vectors of f32, whatever lies in memory.

#ifndef LLMC_CODEGEN_LOWERING_ACTIVATIONROWS_H
#define LLMC_CODEGEN_LOWERING_ACTIVATIONROWS_H

#include "codegen/Lowering/RegionLowering.h"

namespace llmc::codegen {

/// The memory of a view, `width` neighbouring numbers at an index: 4, 2 or, of
/// f32, 1. Numbers of f16 are packed into and taken out of words, which needs
/// no 16-bit type; what f16 cannot hold becomes infinite.
class ActivationRows {
public:
  ActivationRows(KernelUnit &unit, const View &view, program::Access access,
                 int64_t width = 4);

  /// A vector of f32, a scalar for a width of 1.
  Value load(Value index) const;
  void store(Value numbers, Value index);

private:
  KernelBuilder *builder;
  bool isHalf;
  Value memref;
};

/// Two or four f32 as f16 in one or two i32 words, and back.
Value packHalves(KernelBuilder &builder, Value numbers);
Value unpackHalves(KernelBuilder &builder, Value words);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_ACTIVATIONROWS_H
