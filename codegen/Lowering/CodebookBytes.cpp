// SPDX-License-Identifier: Apache-2.0
//
// The choice between a and b by a mask is a ^ ((a ^ b) & mask), of which the
// inner part is a constant at the leaves.

#include "codegen/Lowering/CodebookBytes.h"

#include "dialects/Graph/Codebooks.h"

namespace llmc::codegen {

ArrayRef<int8_t> codebookNumbers(Codebook codebook) {
  return codebook == Codebook::Iq4 ? ArrayRef<int8_t>(graph::kIq4Codes)
                                   : ArrayRef<int8_t>(graph::kMxfp4Codes);
}

/// The byte in all four places of a word.
static int64_t inEveryByte(int8_t number) {
  return int64_t{static_cast<uint8_t>(number)} * 0x01010101;
}

Value codebookBytes(KernelBuilder &b, Value nibbles, Codebook codebook) {
  ArrayRef<int8_t> numbers = codebookNumbers(codebook);
  auto maskOfBit = [&](int64_t bit) {
    Value ones = b.bitAnd(b.shiftRight(nibbles, bit), 0x01010101);
    return b.sub(b.shiftLeft(ones, 8), ones); // 255 where the bit is set
  };
  Value mask = maskOfBit(0);
  SmallVector<Value> choices;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    int64_t even = inEveryByte(numbers[i]), odd = inEveryByte(numbers[i + 1]);
    choices.push_back(b.bitXor(b.bitAnd(mask, even ^ odd), even));
  }
  for (int64_t bit = 1; choices.size() > 1; ++bit) {
    mask = maskOfBit(bit);
    SmallVector<Value> chosen;
    for (size_t i = 0; i < choices.size(); i += 2) {
      Value difference = b.bitXor(choices[i], choices[i + 1]);
      chosen.push_back(b.bitXor(choices[i], b.bitAnd(difference, mask)));
    }
    choices = std::move(chosen);
  }
  return choices.front();
}

} // namespace llmc::codegen
