// SPDX-License-Identifier: Apache-2.0
//
// Packed scales taken apart for four rows at once.

#include "codegen/Lowering/PackedScales.h"

namespace llmc::codegen {

Value unpackHalf4(KernelBuilder &b, Value words) {
  Value low = b.unpackHalf2(b.extract(words, 0)),
        high = b.unpackHalf2(b.extract(words, 1));
  return b.vector({b.extract(low, 0), b.extract(low, 1), b.extract(high, 0),
                   b.extract(high, 1)});
}

Type packedScalesType(KernelBuilder &b, int64_t bytesPerElement) {
  if (bytesPerElement == 4)
    return b.getI32Type();
  return bytesPerElement == 8 ? b.i32x2() : VectorType::get(4, b.getF32Type());
}

Value unpackScales(KernelBuilder &b, Value element, int64_t bytesPerElement) {
  if (bytesPerElement == 16)
    return element;
  if (bytesPerElement == 8)
    return unpackHalf4(b, element);
  SmallVector<Value> scales;
  for (int64_t row = 0; row < 4; ++row) {
    Value exponent = b.bitAnd(b.shiftRight(element, 8 * row), 255);
    // The exponent of a float is 127 more than its power of two.
    Value biased = b.sub(b.max(exponent, b.i32(1)), b.i32(1));
    scales.push_back(b.bitcastToF32(b.shiftLeft(biased, 23)));
  }
  return b.vector(scales);
}

Value joinSixBits(KernelBuilder &b, Value nibbles, Value pairs) {
  nibbles = b.bitAnd(nibbles, 0xffff);
  nibbles = b.bitAnd(b.bitOr(nibbles, b.shiftLeft(nibbles, 8)), 0x00ff00ff);
  nibbles = b.bitAnd(b.bitOr(nibbles, b.shiftLeft(nibbles, 4)), 0x0f0f0f0f);
  pairs = b.bitAnd(pairs, 0xff);
  pairs = b.bitAnd(b.bitOr(pairs, b.shiftLeft(pairs, 12)), 0x000f000f);
  pairs = b.bitAnd(b.bitOr(pairs, b.shiftLeft(pairs, 6)), 0x03030303);
  return b.bitOr(nibbles, b.shiftLeft(pairs, 4));
}

std::array<Value, 2> joinScalesAndMinimums(KernelBuilder &b, Value nibbles,
                                           Value pairs) {
  // Pairs of scales to bits 0 … 7, of minimums to 16 … 23; then a second time
  // four bits higher, so that rows 2 and 3 come into the next byte.
  pairs =
      b.bitOr(b.bitAnd(pairs, 0xff), b.shiftLeft(b.bitAnd(pairs, 0xff00), 8));
  pairs = b.bitOr(pairs, b.shiftLeft(pairs, 4));
  auto join = [&](Value low, int64_t left) {
    return b.bitOr(b.bitAnd(low, 0x0f0f0f0f),
                   b.bitAnd(b.shiftLeft(pairs, left), 0x30303030));
  };
  return {join(nibbles, 4), join(b.shiftRight(nibbles, 4), 2)};
}

} // namespace llmc::codegen
