// SPDX-License-Identifier: Apache-2.0
//
// Packed scales taken apart for four rows at once, or for two.

#include "codegen/Lowering/PackedScales.h"

namespace llmc::codegen {

Value unpackRowHalves(KernelBuilder &b, Value words) {
  if (!isa<VectorType>(words.getType()))
    return b.unpackHalf2(words);
  Value low = b.unpackHalf2(b.extract(words, 0)),
        high = b.unpackHalf2(b.extract(words, 1));
  return b.vector({b.extract(low, 0), b.extract(low, 1), b.extract(high, 0),
                   b.extract(high, 1)});
}

Type packedScalesType(KernelBuilder &b, int64_t bytesPerElement,
                      int64_t numRows) {
  if (bytesPerElement == 16)
    return VectorType::get(numRows, b.getF32Type());
  bool isWord = bytesPerElement * numRows == 16;
  return isWord ? Type(b.getI32Type()) : Type(b.i32x2());
}

Value unpackScales(KernelBuilder &b, Value element, int64_t bytesPerElement) {
  if (bytesPerElement == 16)
    return element;
  if (bytesPerElement == 8)
    return unpackRowHalves(b, element);
  SmallVector<Value> scales;
  for (int64_t row = 0; row < 4; ++row) {
    Value exponent = b.bitAnd(b.shiftRight(element, 8 * row), 255);
    // The exponent of a float is 127 more than its power of two.
    Value biased = b.sub(b.max(exponent, b.i32(1)), b.i32(1));
    scales.push_back(b.bitcastToF32(b.shiftLeft(biased, 23)));
  }
  return b.vector(scales);
}

std::array<Value, 2> joinScalesAndMinimums(KernelBuilder &b,
                                           const PackedKScales &words,
                                           int64_t group) {
  auto join = [&](Value low, int64_t highLeft) {
    highLeft -= 4 * group;
    Value high = highLeft < 0 ? b.shiftRight(words.high, -highLeft)
                              : b.shiftLeft(words.high, highLeft);
    return b.bitOr(b.bitAnd(b.shiftRight(low, 4 * group), 0x0f0f0f0f),
                   b.bitAnd(high, 0x30303030));
  };
  return {join(words.scales, 4), join(words.minimums, 2)};
}

} // namespace llmc::codegen
