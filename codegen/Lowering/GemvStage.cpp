// SPDX-License-Identifier: Apache-2.0
//
// The GEMV kernel's input in workgroup memory.

#include "codegen/Lowering/GemvStage.h"

#include <algorithm>

namespace llmc::codegen {

GemvStage::GemvStage(KernelBuilder &builder, LinearInput &input,
                     const WeightDecoder &decoder, int64_t columns,
                     int64_t lanes, bool isHalf)
    : b(builder), input(input), lanes(lanes),
      quadsAtOnce(std::max<int64_t>(decoder.unitColumns() / 4, 1)),
      isHalf(isHalf),
      codeFactors({decoder.codeFactor(0), decoder.codeFactor(1)}) {
  memory = isHalf ? b.workgroupMemory(columns / 8, b.i32x4())
                  : b.workgroupMemory(columns / 4, b.f32x4());
}

void GemvStage::fill(Value rowBase, Value firstQuad, Value numQuads, Value lane,
                     Value factor) {
  SmallVector<Value> factors;
  for (int64_t number = 0; number < quadsAtOnce; ++number) {
    double inverse = 1 / codeFactors[number];
    if (inverse == 1)
      factors.push_back(factor);
    else
      factors.push_back(factor ? b.mul(factor, b.f32(inverse))
                               : b.f32(inverse));
  }
  Value base = b.add(rowBase, firstQuad);
  b.forLoop(
      lane, b.div(numQuads, quadsAtOnce), b.index(lanes), [&](Value turn) {
        SmallVector<Value> words;
        for (auto [number, scale] : llvm::enumerate(factors)) {
          Value quad =
              b.add(b.mul(turn, quadsAtOnce), static_cast<int64_t>(number));
          Value x = input.load(base, quad);
          if (Value gain = input.loadGain(b.add(firstQuad, quad)))
            x = b.mul(x, gain);
          if (scale)
            x = b.mul(x, b.splat(scale));
          if (isHalf)
            words.append(
                {b.packHalf2(b.pair(x, 0)), b.packHalf2(b.pair(x, 2))});
          else
            b.store(x, memory, quad);
        }
        if (isHalf)
          b.store(b.vector(words), memory, turn);
      });
}

std::array<Value, 4> GemvStage::loadPairs(Value element) {
  Value words = b.load(memory, element);
  std::array<Value, 4> pairs;
  for (int64_t number = 0; number < 4; ++number)
    pairs[number] = b.bitcastToHalf2(b.extract(words, number));
  return pairs;
}

} // namespace llmc::codegen
