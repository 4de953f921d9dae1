// SPDX-License-Identifier: Apache-2.0
//
// Segments of x become words of matrices, which wait for all subgroups.

#include "codegen/Lowering/GemvMatrixInput.h"

#include "codegen/Lowering/SubgroupMatrix.h"

namespace llmc::codegen {

/// Columns that share a power of two.
static constexpr int64_t kBlockColumns = kGemvMatrixBlockColumns;

GemvMatrixInput::GemvMatrixInput(KernelBuilder &builder, LinearInput &input,
                                 int64_t groupColumns, int64_t subgroupSize,
                                 Value lane)
    : b(builder), input(input), groupColumns(groupColumns),
      subgroupSize(subgroupSize), lane(lane) {}

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
Value GemvMatrixInput::wordOf(Value first, Value second, bool isRest) {
  constexpr int64_t kBitsOfHalf = 0xffffe000;
  SmallVector<Value> numbers;
  for (Value number : {first, second}) {
    Value cut = b.bitcastToF32(b.bitAnd(b.bitcastToI32(number), kBitsOfHalf));
    numbers.push_back(isRest ? b.sub(number, cut) : cut);
  }
  return b.packHalf2(b.vector(numbers));
}

/// As ChunkInput::Words, one after the other. Upper nibbles stay where they
/// are, sixteen times too large.
Value GemvMatrixInput::wordsOf(const Unit &unit, Value scale, bool isRest) {
  Value scaled[2] = {b.mul(unit.lower, b.splat(scale)),
                     b.mul(unit.upper, b.splat(b.mul(scale, b.f32(1.0 / 16))))};
  SmallVector<Value> all;
  for (int64_t odd = 0; odd < 2; ++odd)
    for (Value half : scaled)
      all.push_back(
          wordOf(b.extract(half, odd), b.extract(half, odd + 2), isRest));
  return b.vector(all);
}

/// The lane's unit of segment `number`.
GemvMatrixInput::Unit GemvMatrixInput::loadUnit(Value base, Value number,
                                                Value &squares) {
  constexpr int64_t kQuads = kUnitColumns / 4;
  Value first = b.add(b.mul(number, segmentColumns() / 4), b.mul(lane, kQuads));
  Value magnitude = b.f32(0.0);
  SmallVector<Value> quads;
  for (int64_t quad = 0; quad < kQuads; ++quad) {
    Value at = b.add(first, quad), x = input.load(base, at);
    if (Value gain = input.loadGain(at)) {
      squares = b.add(squares, b.sumOfLanes(b.mul(x, x)));
      x = b.mul(x, gain);
    }
    magnitude = largerMagnitude(b, x, magnitude);
    quads.push_back(x);
  }
  Value sum = b.sumOfLanes(b.add(quads[0], quads[1]));
  return {quads[0], quads[1], magnitude, sum};
}

void GemvMatrixInput::makeRoom(int64_t columns) {
  zeros = columns / kUnitColumns * 2;
  words = b.workgroupMemory(zeros + wordsPerChunk(), b.i32x4());
  sums = b.workgroupMemory(columns / groupColumns, b.getF32Type());
  factors = b.workgroupMemory(columns / kBlockColumns, b.getF32Type());
}

void GemvMatrixInput::keep(Value base, Value number, Value &squares) {
  constexpr int64_t kLanesOfBlock = kBlockColumns / kUnitColumns;
  int64_t lanesOfGroup = numSteps();
  Unit mine = loadUnit(base, number, squares);
  std::array<Value, 2> scales = scaleOf(
      overLanes(b, mine.magnitude, kLanesOfBlock, subgroupSize, largerOf));
  Value sum = overLanes(b, mine.sum, lanesOfGroup, subgroupSize, sumOf);
  auto numberOf = [&](int64_t lanes) {
    return b.add(b.mul(number, subgroupSize / lanes), b.div(lane, lanes));
  };
  Value group = numberOf(lanesOfGroup), step = b.rem(lane, lanesOfGroup);
  // The two columns of the group.
  Value place =
      b.add(b.mul(b.add(b.mul(b.div(group, kChunkGroups), numSteps()), step),
                  kFragmentGroups),
            b.mul(b.rem(group, kChunkGroups), 2));
  for (bool isRest : {false, true})
    b.store(wordsOf(mine, scales[0], isRest), words,
            b.add(place, isRest ? 1 : 0));
  b.ifThen(b.equal(step, b.index(0)), [&] { b.store(sum, sums, group); });
  b.ifThen(b.equal(b.rem(lane, kLanesOfBlock), b.index(0)), [&] {
    b.store(b.mul(scales[1], b.f32(kCodeDivisor)), factors,
            numberOf(kLanesOfBlock));
  });
}

void GemvMatrixInput::keepZeros(Value thread) {
  b.ifThen(b.less(thread, b.index(wordsPerChunk())), [&] {
    b.store(b.constant(b.i32x4(), 0.0), words, b.add(thread, zeros));
  });
}

/// Lanes outside of their column's group read zeros.
ChunkInput GemvMatrixInput::kept(Value number, int64_t after) {
  Value column = b.div(lane, kFragmentLanes), t = b.rem(lane, kFragmentLanes);
  auto behind = [&](Value first, int64_t perChunk) {
    return b.add(b.add(b.mul(number, perChunk), first), after * perChunk);
  };
  Value place = b.select(b.equal(b.div(column, 2), t),
                         behind(column, wordsPerChunk()), b.index(zeros));
  ChunkInput chunk;
  for (int64_t step = 0; step < numSteps(); ++step) {
    Value all = b.load(words, b.add(place, step * kFragmentGroups));
    ChunkInput::Words &right = chunk.steps.emplace_back();
    for (int64_t odd = 0; odd < 2; ++odd)
      for (int64_t half = 0; half < 2; ++half)
        right[odd][half] = b.extract(all, 2 * odd + half);
  }
  chunk.sum = b.load(sums, behind(t, kChunkGroups));
  int64_t groupsOfBlock = kBlockColumns / groupColumns;
  chunk.factor = b.load(
      factors, behind(b.div(t, groupsOfBlock), kChunkGroups / groupsOfBlock));
  return chunk;
}

} // namespace llmc::codegen
