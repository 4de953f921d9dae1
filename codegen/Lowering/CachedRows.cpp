// SPDX-License-Identifier: Apache-2.0
//
// Loads of keys and values: f32 as it is, f16 and codes of i8 as words that are
// unpacked, which needs no feature of either type.

#include "codegen/Lowering/CachedRows.h"

#include "codegen/Lowering/ActivationRows.h"

namespace llmc::codegen {

/// 32-bit words of one load at most.
static constexpr int64_t kWordsPerLoad = 4;

CachedRows::CachedRows(KernelUnit &unit, const View &view,
                       const SdpaShape &shape, int64_t quads)
    : unit(unit), shape(shape), slice(view.slice) {
  if (view.isHalf)
    bits = 16;
  else if (view.stateType)
    bits = view.stateType.getElementTypeBitWidth();
  offset = view.stateType ? 0 : view.offset / 4;
  keyStride = view.stateType ? shape.quads() : view.rowStride / 4;
  headStride = view.stateType ? shape.capacity * shape.quads() : shape.quads();
  int64_t wordsPerQuad = bits / 8;
  while (2 * perLoad * wordsPerQuad <= kWordsPerLoad &&
         quads % (2 * perLoad) == 0)
    perLoad *= 2;
  KernelBuilder &b = unit.builder();
  int64_t words = perLoad * wordsPerQuad;
  Type word = bits == 32 ? Type(b.getF32Type()) : b.getI32Type();
  loadType = words == 1 ? word : VectorType::get(words, word);
  memref = unit.bind(slice, loadType, program::Access::Read);
}

Value CachedRows::firstLoad(Value kvHead) const {
  KernelBuilder &b = unit.builder();
  return b.add(b.mul(kvHead, headStride / perLoad), offset / perLoad);
}

Value CachedRows::unpackCodes(Value word) {
  KernelBuilder &b = unit.builder();
  if (unit.getContext().getConfig().getDecode() == "bytes")
    return b.signedBytesToF32(word);
  return b.vector(b.shiftedBytesToF32(word, /*isSigned=*/true));
}

Value CachedRows::loadPacked(Value index) {
  return unit.builder().load(memref, index);
}

SmallVector<Value> CachedRows::unpack(Value loaded) {
  KernelBuilder &b = unit.builder();
  if (bits == 32)
    return {loaded};
  auto wordOf = [&](int64_t number) {
    return isa<VectorType>(loaded.getType()) ? b.extract(loaded, number)
                                             : loaded;
  };
  SmallVector<Value> quads;
  for (int64_t quad = 0; quad < perLoad; ++quad)
    quads.push_back(bits == 16
                        ? unpackHalves(b, b.vector({wordOf(2 * quad),
                                                    wordOf(2 * quad + 1)}))
                        : unpackCodes(wordOf(quad)));
  return quads;
}

Value CachedRows::rounded(Value quad) const {
  KernelBuilder &b = unit.builder();
  return bits == 16 ? unpackHalves(b, packHalves(b, quad)) : quad;
}

void CachedRows::store(ArrayRef<Value> quads, Value index) const {
  KernelBuilder &b = unit.builder();
  (void)unit.bind(slice, loadType, program::Access::Write);
  if (bits == 32)
    return b.store(quads.front(), memref, index);
  SmallVector<Value> words;
  for (Value quad : quads) {
    Value packed = packHalves(b, quad);
    words.append({b.extract(packed, 0), b.extract(packed, 1)});
  }
  b.store(b.vector(words), memref, index);
}

Value CachedRows::scale(Value kvHead, Value key) {
  KernelBuilder &b = unit.builder();
  Value scales = unit.bind(slice, b.getF32Type(), program::Access::Read);
  int64_t firstScale = shape.kvHeads * headStride;
  return b.load(scales,
                b.add(b.add(b.mul(kvHead, shape.capacity), key), firstScale));
}

} // namespace llmc::codegen
