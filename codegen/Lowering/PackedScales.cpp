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

Value joinSixBits(KernelBuilder &b, Value nibbles, Value pairs) {
  nibbles = b.bitAnd(nibbles, 0xffff);
  nibbles = b.bitAnd(b.bitOr(nibbles, b.shiftLeft(nibbles, 8)), 0x00ff00ff);
  nibbles = b.bitAnd(b.bitOr(nibbles, b.shiftLeft(nibbles, 4)), 0x0f0f0f0f);
  pairs = b.bitAnd(pairs, 0xff);
  pairs = b.bitAnd(b.bitOr(pairs, b.shiftLeft(pairs, 12)), 0x000f000f);
  pairs = b.bitAnd(b.bitOr(pairs, b.shiftLeft(pairs, 6)), 0x03030303);
  return b.bitOr(nibbles, b.shiftLeft(pairs, 4));
}

} // namespace llmc::codegen
