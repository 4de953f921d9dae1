// SPDX-License-Identifier: Apache-2.0
//
// Loads of keys and values: f32 as it is, f16 as words that are unpacked, which
// needs no f16 feature.

#include "codegen/Lowering/CachedRows.h"

namespace llmc::codegen {

CachedRows::CachedRows(KernelUnit &unit, const View &view,
                       const SdpaShape &shape, bool pairsQuads)
    : unit(unit), loadsTwo(pairsQuads) {
  isHalf = view.stateType && view.stateType.getElementType().isF16();
  offset = view.stateType ? 0 : view.offset / 4;
  keyStride = view.stateType ? shape.quads() : view.rowStride / 4;
  headStride = view.stateType ? shape.capacity * shape.quads() : shape.quads();
  KernelBuilder &b = unit.builder();
  Type element = b.f32x4();
  if (isHalf)
    element = loadsTwo ? b.i32x4() : b.i32x2();
  memref = unit.bind(view.slice, element, program::Access::Read);
}

Value CachedRows::firstLoad(Value kvHead) {
  KernelBuilder &b = unit.builder();
  return b.add(b.mul(kvHead, headStride / quadsPerLoad()),
               offset / quadsPerLoad());
}

SmallVector<Value> CachedRows::load(Value index) {
  KernelBuilder &b = unit.builder();
  Value loaded = b.load(memref, index);
  if (!isHalf)
    return {loaded};
  SmallVector<Value> quads;
  for (int64_t quad = 0; quad < quadsPerLoad(); ++quad) {
    SmallVector<Value> numbers;
    for (int64_t word = 2 * quad; word < 2 * quad + 2; ++word) {
      Value pair = b.unpackHalf2(b.extract(loaded, word));
      numbers.append({b.extract(pair, 0), b.extract(pair, 1)});
    }
    quads.push_back(b.vector(numbers));
  }
  return quads;
}

} // namespace llmc::codegen
