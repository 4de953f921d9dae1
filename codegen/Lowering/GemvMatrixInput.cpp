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
  column = b.div(lane, kFragmentLanes);
  group = b.div(column, 2);
  unit = b.rem(lane, kFragmentLanes);
  isRest = b.equal(b.rem(column, 2), b.index(1));
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
  return b.packHalf2(b.vector(numbers));
}

/// Of a unit's columns. Upper nibbles stay where they are, sixteen times too
/// large.
ChunkInput::Words GemvMatrixInput::wordsOf(Value lower, Value upper,
                                           Value scale) {
  Value scaled[2] = {b.mul(lower, b.splat(scale)),
                     b.mul(upper, b.splat(b.mul(scale, b.f32(1.0 / 16))))};
  ChunkInput::Words result;
  for (int64_t odd = 0; odd < 2; ++odd)
    for (int64_t half = 0; half < 2; ++half)
      result[odd][half] = wordOf(b.extract(scaled[half], odd),
                                 b.extract(scaled[half], odd + 2));
  return result;
}

GemvMatrixInput::Columns GemvMatrixInput::loadColumns(Value base, Value first,
                                                      int64_t numQuads,
                                                      Value &squares) {
  Columns columns;
  columns.magnitude = b.f32(0.0);
  Value sums;
  for (int64_t number = 0; number < numQuads; ++number) {
    Value at = b.add(first, number), x = input.load(base, at);
    if (Value gain = input.loadGain(at)) {
      squares = b.add(squares, b.sumOfLanes(b.mul(x, x)));
      x = b.mul(x, gain);
    }
    columns.magnitude = largerMagnitude(b, x, columns.magnitude);
    sums = sums ? b.add(sums, x) : x;
    columns.quads.push_back(x);
  }
  columns.sum = b.sumOfLanes(sums);
  return columns;
}

ChunkInput GemvMatrixInput::load(Value base, Value number, Value &squares) {
  int64_t groups = groupsPerBlock();
  Value block = b.div(group, groups),
        first = b.add(b.mul(number, chunkColumns() / 4),
                      b.add(b.mul(block, kBlockColumns / 4), b.mul(unit, 2)));
  Columns x = loadColumns(base, first, 2, squares);
  // Whether the lane's unit is in the group of its column.
  Value isInGroup;
  if (groups > 1) {
    isInGroup =
        b.equal(b.div(unit, kFragmentLanes / groups), b.rem(group, groups));
    x.sum = b.select(isInGroup, x.sum, b.f32(0.0));
  }
  auto [scale, inverse] = scaleOf(
      overLanes(b, x.magnitude, kFragmentLanes, subgroupSize, largerOf));
  x.sum = overLanes(b, x.sum, kFragmentLanes, subgroupSize, sumOf);
  Value laneOfGroup = b.toI32(b.mul(unit, 2 * kFragmentLanes));
  auto ofGroup = [&](Value mine) -> Value {
    return gpu::ShuffleOp::create(b, mine, laneOfGroup, b.i32(subgroupSize),
                                  gpu::ShuffleMode::IDX)
        .getShuffleResult();
  };
  ChunkInput chunk;
  chunk.sum = ofGroup(x.sum);
  chunk.factor = ofGroup(inverse);
  ChunkInput::Words mine = wordsOf(x.quads[0], x.quads[1], scale);
  for (int64_t step = 0; step < numSteps(); ++step) {
    Value isHere = b.equal(block, b.index(step));
    if (isInGroup)
      isHere = b.logicalAnd(isHere, isInGroup);
    ChunkInput::Words &right = chunk.steps.emplace_back();
    for (auto [ofOdd, from] : llvm::zip_equal(right, mine))
      for (auto [word, mineWord] : llvm::zip_equal(ofOdd, from))
        word = b.select(isHere, mineWord, b.i32(0));
  }
  return chunk;
}

void GemvMatrixInput::makeRoom(int64_t numChunks) {
  words =
      b.workgroupMemory(numChunks * numSteps() * kFragmentGroups, b.i32x4());
  sums = b.workgroupMemory(numChunks * kChunkGroups, b.getF32Type());
  factors = b.workgroupMemory(numChunks * kChunkGroups, b.getF32Type());
}

/// A lane has all of group t, and stores it for the two columns of that group.
void GemvMatrixInput::keep(Value base, Value number, Value &squares) {
  Value ofGroup = b.add(b.mul(number, kChunkGroups), unit);
  Columns x = loadColumns(base, b.mul(ofGroup, groupColumns / 4),
                          groupColumns / 4, squares);
  std::array<Value, 2> scales = scaleOf(x.magnitude);
  for (int64_t step = 0; step < numSteps(); ++step) {
    ChunkInput::Words mine =
        wordsOf(x.quads[2 * step], x.quads[2 * step + 1], scales[0]);
    Value all = b.vector({mine[0][0], mine[0][1], mine[1][0], mine[1][1]});
    Value place = b.add(
        b.mul(b.add(b.mul(number, numSteps()), step), kFragmentGroups), column);
    b.ifThen(b.equal(group, unit), [&] { b.store(all, words, place); });
  }
  b.ifThen(b.less(lane, b.index(kChunkGroups)), [&] {
    b.store(x.sum, sums, ofGroup);
    b.store(scales[1], factors, ofGroup);
  });
}

ChunkInput GemvMatrixInput::kept(Value number) {
  Value ofGroup = b.add(b.mul(number, kChunkGroups), unit),
        isHere = b.equal(group, unit);
  ChunkInput chunk;
  for (int64_t step = 0; step < numSteps(); ++step) {
    Value place = b.add(
        b.mul(b.add(b.mul(number, numSteps()), step), kFragmentGroups), column);
    Value all = b.load(words, place);
    ChunkInput::Words &right = chunk.steps.emplace_back();
    for (int64_t odd = 0; odd < 2; ++odd)
      for (int64_t half = 0; half < 2; ++half)
        right[odd][half] =
            b.select(isHere, b.extract(all, 2 * odd + half), b.i32(0));
  }
  chunk.sum = b.load(sums, ofGroup);
  chunk.factor = b.load(factors, ofGroup);
  return chunk;
}

} // namespace llmc::codegen
