// SPDX-License-Identifier: Apache-2.0
//
// Keys and values as attention reads them.

#ifndef LLMC_CODEGEN_LOWERING_CACHEDROWS_H
#define LLMC_CODEGEN_LOWERING_CACHEDROWS_H

#include "codegen/Lowering/SdpaShape.h"

namespace llmc::codegen {

/// Keys or values in memory: f32 or f16, in a state or in rows of an
/// activation.
class CachedRows {
public:
  /// Two quads of f16 may be loaded at a time when `pairsQuads`.
  CachedRows(KernelUnit &unit, const View &view, const SdpaShape &shape,
             bool pairsQuads);

  /// Quads that one load gives.
  int64_t quadsPerLoad() const { return isHalf && loadsTwo ? 2 : 1; }
  /// Loads from one key to the next.
  int64_t loadsPerKey() const { return keyStride / quadsPerLoad(); }
  /// Index of the first load of key 0 of a KV head.
  Value firstLoad(Value kvHead);
  /// quadsPerLoad() vectors of f32.
  SmallVector<Value> load(Value index);

private:
  KernelUnit &unit;
  bool isHalf, loadsTwo;
  /// In quads.
  int64_t offset, headStride, keyStride;
  Value memref;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_CACHEDROWS_H
