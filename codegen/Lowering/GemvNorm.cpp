// SPDX-License-Identifier: Apache-2.0
//
// What the GEMV kernel does to its input: the norm's factor, and the power of
// two that brings it into the range of half precision; staging it.

#include "codegen/Lowering/GemvKernel.h"
#include "codegen/Lowering/Reduction.h"

namespace llmc::codegen {

/// `add` over the lane's share of a row of the input, four columns at a time.
Value GemvKernel::overRow(Value base, Value initial,
                          llvm::function_ref<Value(Value, Value)> add) {
  int64_t quads = parts.layout().paddedColumns / 4;
  return b.forLoop(lane, b.opaqueIndex(quads), b.index(lanes), initial,
                   [&](Value quad, ValueRange carried) {
                     return SmallVector<Value>{
                         add(input->load(base, quad), carried.front())};
                   })[0];
}

/// Of the lane's only share.
void GemvKernel::preloadInput() {
  for (int64_t number = 0; number < kStep / 4; ++number) {
    Value at = b.add(b.mul(share, kStep / 4), number);
    rows.preloaded.push_back(input->load(rows.rowBases.front(), at));
    if (Value gain = input->loadGain(at))
      rows.preloadedGains.push_back(gain);
  }
}

static Value addSquares(KernelBuilder &b, Value x, Value sum) {
  for (int64_t i = 0; i < 4; ++i)
    sum = b.fma(b.extract(x, i), b.extract(x, i), sum);
  return sum;
}

/// What the norm multiplies a row of the input by; the same for every lane. The
/// lanes of a share have preloaded the same numbers.
Value GemvKernel::inverseRoot(Value base) {
  Value squares = b.f32(0.0);
  for (Value x : rows.preloaded)
    squares = addSquares(b, x, squares);
  int64_t copies = rows.preloaded.empty() ? 1 : quadsAtOnce;
  if (rows.preloaded.empty())
    squares = overRow(base, squares, [&](Value x, Value sum) {
      return addSquares(b, x, sum);
    });
  double share = 1.0 / static_cast<double>(copies * parts.layout().columns);
  Value mean =
      b.mul(sumOverWorkgroup(b, squares, lane, lanes, subgroup), b.f32(share));
  Value root =
      b.sqrt(b.add(mean, b.f32(parts.norm.getEpsilon().convertToFloat())));
  return b.div(b.f32(1.0), root);
}

/// Half precision: sets the power of two that the input is multiplied by, and
/// returns the factor of the result. With a norm, it is the one next to the
/// norm's own factor; numbers are then of the size of the gains. Else it brings
/// the largest number of the row between a quarter and half of the largest one
/// allowed.
Value GemvKernel::scaleStage() {
  constexpr int64_t kExponent = 0x7f800000;
  double half = GemvGroup::halfFactor(decoders.front());
  Value base = rows.rowBases.front();
  if (parts.norm) {
    Value inverse = inverseRoot(base);
    Value power = b.bitcastToF32(b.bitAnd(b.bitcastToI32(inverse), kExponent));
    stageFactor = b.mul(power, b.f32(half));
    return b.div(inverse, stageFactor);
  }
  constexpr double kTarget = 2048;
  static_assert(2 * kTarget <= GemvGroup::kLargestHalfInput);
  Value largest = overRow(base, b.f32(0.0), [&](Value x, Value most) {
    for (int64_t i = 0; i < 4; ++i)
      most = b.max(most, b.abs(b.extract(x, i)));
    return most;
  });
  largest = maxOverWorkgroup(b, largest, lane, lanes);
  // Of a row of zeros or tiny numbers, as if they were a little larger, so that
  // the factor is finite.
  Value power = b.bitcastToF32(
      b.bitAnd(b.bitcastToI32(b.max(largest, b.f32(0x1p-100))), kExponent));
  stageFactor = b.div(b.f32(kTarget * half), power);
  return b.div(power, b.f32(kTarget * half));
}

/// Before the loops. What is needed after them only waits in workgroup memory:
/// it would be registers in them.
void GemvKernel::prepareStage() {
  stage.emplace(b, *input, decoders.front(), stagedColumns, lanes, isHalf);
  rows.stage = &*stage;
  waitingPlace = b.workgroupMemory(lanes, b.i32x4());
  SmallVector<Value> place;
  for (Value number : {quad, share, firstRow, begin})
    place.push_back(b.toI32(number));
  b.store(b.vector(place), waitingPlace, lane);
  if (isHalf) {
    waitingFactors = b.workgroupMemory(2, b.getF32Type());
    Value resultFactor = scaleStage();
    b.ifThen(b.equal(lane, b.index(0)), [&] {
      b.store(stageFactor, waitingFactors, b.index(0));
      b.store(resultFactor, waitingFactors, b.index(1));
    });
  }
  if (isStagedOnce)
    fillStage(b.index(0), b.opaqueIndex(stagedColumns / 4));
  else
    b.barrier();
}

/// What waits, behind a barrier: compilers would keep what they loaded before.
void GemvKernel::takePlace() {
  b.barrier();
  Value place = b.load(waitingPlace, lane);
  int64_t number = 0;
  for (Value *index : {&quad, &share, &firstRow, &begin})
    *index = b.toIndex(b.extract(place, number++));
  firstQuad =
      b.mul(experts ? b.groupId(gpu::Dimension::x) : b.div(quad, kQuadsPerTile),
            kQuadsPerTile);
  rows.rowBases.front() = input->rowBase(firstRow, 0);
  if (isHalf)
    stageFactor = b.load(waitingFactors, b.index(0));
}

/// Sets what the results of each row are multiplied by.
void GemvKernel::normalize() {
  for (Value base : rows.rowBases)
    if (parts.norm)
      resultFactors.push_back(inverseRoot(base));
}

} // namespace llmc::codegen
