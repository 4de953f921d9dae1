// SPDX-License-Identifier: Apache-2.0
//
// Keys and values as attention reads them.

#ifndef LLMC_CODEGEN_LOWERING_CACHEDROWS_H
#define LLMC_CODEGEN_LOWERING_CACHEDROWS_H

#include "codegen/Lowering/SdpaShape.h"

namespace llmc::codegen {

/// Keys or values in memory: f32, f16 or codes with scales in a state, f32 or
/// f16 in rows of an activation.
class CachedRows {
public:
  /// An invocation takes `quads` quads of a row at a time, or a multiple: a
  /// load gives several of these where they lie in 16 bytes or less.
  CachedRows(KernelUnit &unit, const View &view, const SdpaShape &shape,
             int64_t quads);

  /// Quads that one load gives.
  int64_t quadsPerLoad() const { return perLoad; }
  /// Loads from one key to the next.
  int64_t loadsPerKey() const { return keyStride / perLoad; }
  /// Index of the first load of key 0 of a KV head.
  Value firstLoad(Value kvHead) const;
  /// quadsPerLoad() vectors of f32: numbers, or codes that miss their scale.
  SmallVector<Value> load(Value index) { return unpack(loadPacked(index)); }
  /// The same in two steps: as it lies in memory, and from that.
  Value loadPacked(Value index);
  SmallVector<Value> unpack(Value packed);
  /// A quad as it would be read after it was written; not of codes.
  Value rounded(Value quad) const;
  /// Writes what such a load gives; not of codes.
  void store(ArrayRef<Value> quads, Value index) const;

  /// Whether rows are codes, to be multiplied with `scale`.
  bool hasScales() const { return bits == 8; }
  /// The scale of a key's codes.
  Value scale(Value kvHead, Value key);

private:
  Value unpackCodes(Value word);

  KernelUnit &unit;
  const SdpaShape &shape;
  Value slice;
  /// Of a number; what it takes of a quad in 32-bit words follows.
  int64_t bits = 32, perLoad = 1;
  /// In quads.
  int64_t offset, headStride, keyStride;
  Type loadType;
  Value memref;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_CACHEDROWS_H
