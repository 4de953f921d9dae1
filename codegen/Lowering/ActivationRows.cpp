// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores of activations.

#include "codegen/Lowering/ActivationRows.h"

namespace llmc::codegen {

Value packHalves(KernelBuilder &b, Value numbers) {
  SmallVector<Value> words;
  int64_t count = cast<VectorType>(numbers.getType()).getNumElements();
  for (int64_t i = 0; i < count; i += 2)
    words.push_back(b.packHalf2(
        b.vector({b.extract(numbers, i), b.extract(numbers, i + 1)})));
  return words.size() == 1 ? words.front() : b.vector(words);
}

Value unpackHalves(KernelBuilder &b, Value words) {
  auto type = dyn_cast<VectorType>(words.getType());
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < (type ? type.getNumElements() : 1); ++i) {
    Value pair = b.unpackHalf2(type ? b.extract(words, i) : words);
    numbers.append({b.extract(pair, 0), b.extract(pair, 1)});
  }
  return b.vector(numbers);
}

ActivationRows::ActivationRows(KernelUnit &unit, const View &view,
                               program::Access access, int64_t width)
    : builder(&unit.builder()), isHalf(view.isHalf) {
  assert((!isHalf || width != 1) && "a word holds two numbers of f16");
  KernelBuilder &b = *builder;
  Type word = isHalf ? Type(b.getI32Type()) : b.getF32Type();
  int64_t words = isHalf ? width / 2 : width;
  memref = unit.bind(view.slice,
                     words == 1 ? word : VectorType::get(words, word), access);
}

Value ActivationRows::load(Value index) const {
  Value loaded = builder->load(memref, index);
  return isHalf ? unpackHalves(*builder, loaded) : loaded;
}

void ActivationRows::store(Value numbers, Value index) {
  builder->store(isHalf ? packHalves(*builder, numbers) : numbers, memref,
                 index);
}

} // namespace llmc::codegen
