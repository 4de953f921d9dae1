// SPDX-License-Identifier: Apache-2.0
//
// A chunk of x, and where it waits for tiles in turn.

#include "codegen/Lowering/GemvMatrixInput.h"

#include "codegen/Lowering/SubgroupMatrix.h"

namespace llmc::codegen {

GemvMatrixInput::GemvMatrixInput(KernelBuilder &builder, LinearInput &input,
                                 int64_t groupColumns, int64_t subgroupSize,
                                 Value lane)
    : b(builder), input(input), groupColumns(groupColumns),
      subgroupSize(subgroupSize), lane(lane) {
  Value column = b.div(lane, kFragmentLanes), group = b.div(column, 2);
  unit = b.rem(lane, kFragmentLanes);
  block = b.div(group, groupsPerBlock());
  isRest = b.equal(b.rem(column, 2), b.index(1));
  if (groupsPerBlock() > 1)
    isInGroup = b.equal(b.div(unit, kFragmentLanes / groupsPerBlock()),
                        b.rem(group, groupsPerBlock()));
  laneOfGroup = b.toI32(b.mul(unit, 2 * kFragmentLanes));
}

/// A power of two that brings numbers up to `magnitude` below 2^14, and its
/// inverse. Magnitudes that are so small that the inverse would not be normal
/// count as larger ones.
std::array<Value, 2> GemvMatrixInput::scaleOf(Value magnitude) {
  constexpr int64_t kMantissaBits = 23, kBias = 127, kWanted = 13;
  Value smallest = b.f32(0x1p-90);
  Value exponent = b.bitAnd(b.bitcastToI32(b.max(magnitude, smallest)),
                            int64_t{0xff} << kMantissaBits);
  auto shifted = [](int64_t biased) { return biased << kMantissaBits; };
  return {b.bitcastToF32(b.sub(b.i32(shifted(2 * kBias + kWanted)), exponent)),
          b.bitcastToF32(b.sub(exponent, b.i32(shifted(kWanted))))};
}

/// Cut off, not rounded, since the compiler takes the conversion back and forth
/// for nothing: the eleven bits of f16, or the next eleven.
Value GemvMatrixInput::wordOf(Value first, Value second) {
  constexpr int64_t kBitsOfHalf = 0xffffe000;
  SmallVector<Value> numbers;
  for (Value number : {first, second}) {
    Value cut = b.bitcastToF32(b.bitAnd(b.bitcastToI32(number), kBitsOfHalf));
    numbers.push_back(b.select(isRest, b.sub(number, cut), cut));
  }
  Value word = b.packHalf2(b.vector(numbers));
  return isInGroup ? b.select(isInGroup, word, b.i32(0)) : word;
}

ChunkInput GemvMatrixInput::load(Value base, Value chunk) {
  Value quad = b.add(b.mul(chunk, chunkColumns() / 4),
                     b.add(b.mul(block, kBlockColumns / 4), b.mul(unit, 2)));
  ChunkInput loaded;
  std::array<Value, 2> x;
  Value magnitude = b.f32(0.0), sum;
  for (int64_t half = 0; half < 2; ++half) {
    Value at = b.add(quad, half);
    x[half] = input.load(base, at);
    if (Value gain = input.loadGain(at)) {
      Value squares = b.sumOfLanes(b.mul(x[half], x[half]));
      loaded.squares =
          loaded.squares ? b.add(loaded.squares, squares) : squares;
      x[half] = b.mul(x[half], gain);
    }
    magnitude = largerMagnitude(b, x[half], magnitude);
  }
  sum = b.sumOfLanes(b.add(x[0], x[1]));
  if (isInGroup)
    sum = b.select(isInGroup, sum, b.f32(0.0));
  auto [scale, inverse] =
      scaleOf(overLanes(b, magnitude, kFragmentLanes, subgroupSize, largerOf));
  sum = overLanes(b, sum, kFragmentLanes, subgroupSize, sumOf);
  auto ofGroup = [&](Value mine) -> Value {
    return gpu::ShuffleOp::create(b, mine, laneOfGroup, b.i32(subgroupSize),
                                  gpu::ShuffleMode::IDX)
        .getShuffleResult();
  };
  loaded.sum = ofGroup(sum);
  loaded.factor = ofGroup(inverse);
  for (int64_t half = 0; half < 2; ++half) {
    // Upper nibbles stay where they are, sixteen times too large.
    Value scaled = b.mul(
        x[half], b.splat(half == 0 ? scale : b.mul(scale, b.f32(1.0 / 16))));
    for (int64_t odd = 0; odd < 2; ++odd)
      loaded.words[odd][half] =
          wordOf(b.extract(scaled, odd), b.extract(scaled, odd + 2));
  }
  return loaded;
}

void GemvMatrixInput::makeRoom(int64_t numChunks) {
  words = b.workgroupMemory(numChunks * subgroupSize, b.i32x4());
  sums = b.workgroupMemory(numChunks * kChunkGroups, b.getF32Type());
  factors = b.workgroupMemory(numChunks * kChunkGroups, b.getF32Type());
}

void GemvMatrixInput::keep(const ChunkInput &chunk, Value number) {
  Value all = b.vector({chunk.words[0][0], chunk.words[0][1], chunk.words[1][0],
                        chunk.words[1][1]});
  b.store(all, words, b.add(b.mul(number, subgroupSize), lane));
  b.ifThen(b.less(lane, b.index(kChunkGroups)), [&] {
    Value place = b.add(b.mul(number, kChunkGroups), unit);
    b.store(chunk.sum, sums, place);
    b.store(chunk.factor, factors, place);
  });
}

ChunkInput GemvMatrixInput::kept(Value number) {
  Value all = b.load(words, b.add(b.mul(number, subgroupSize), lane)),
        place = b.add(b.mul(number, kChunkGroups), unit);
  ChunkInput chunk;
  for (int64_t odd = 0; odd < 2; ++odd)
    for (int64_t half = 0; half < 2; ++half)
      chunk.words[odd][half] = b.extract(all, 2 * odd + half);
  chunk.sum = b.load(sums, place);
  chunk.factor = b.load(factors, place);
  return chunk;
}

std::array<Value, 2> GemvMatrixInput::ofBlock(const ChunkInput &chunk,
                                              int64_t odd, int64_t number) {
  Value isHere = b.equal(block, b.index(number)), zero = b.i32(0);
  return {b.select(isHere, chunk.words[odd][0], zero),
          b.select(isHere, chunk.words[odd][1], zero)};
}

} // namespace llmc::codegen
