// SPDX-License-Identifier: Apache-2.0
//
// Quantization in registers, and through workgroup memory where 32 columns are
// spread over invocations.

#include "codegen/Lowering/QuantizedStore.h"

namespace llmc::codegen {

std::optional<QuantizedResult> findQuantizedResult(RegionContext &context) {
  Operation *yield = context.getRegion().getBody().front().getTerminator();
  QuantizedResult found;
  for (OpOperand &operand : yield->getOpOperands()) {
    auto op = operand.get().getDefiningOp<graph::QuantizeActivationsOp>();
    if (!op)
      continue;
    found.input = op.getInput();
    found.group = static_cast<int64_t>(op.getGroup());
    View view = context.resultView(operand.getOperandNumber());
    if (operand.get() == op.getCodes())
      found.codes = view;
    else if (operand.get() == op.getScales())
      found.scales = view;
    else
      found.sums = view;
  }
  return found.input ? std::optional(found) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Numbers to codes
//===----------------------------------------------------------------------===//

static constexpr double kLargestCode = 127;

CodeScale codeScale(KernelBuilder &b, Value largest) {
  Type type = largest.getType();
  // The inverse of anything smaller might be infinite.
  Value isZero = b.less(largest, b.constant(type, 1e-30));
  Value zero = b.constant(type, 0), most = b.constant(type, kLargestCode);
  return {b.select(isZero, zero, b.div(largest, most)),
          b.select(isZero, zero, b.div(most, largest))};
}

Value largestMagnitude(KernelBuilder &b, Value vec4) {
  Value magnitudes = b.abs(vec4);
  Value largest = b.extract(magnitudes, 0);
  for (int64_t lane = 1; lane < 4; ++lane)
    largest = b.max(largest, b.extract(magnitudes, lane));
  return largest;
}

/// Four codes, i32.
static Value codesOf(KernelBuilder &b, Value vec4, Value inverse) {
  return b.toSignedI32(b.roundEven(b.mul(vec4, b.splat(inverse))));
}

Value packBytes(KernelBuilder &b, Value numbers) {
  Value low = b.bitAnd(numbers, 255), word = b.extract(low, 0);
  int64_t count = cast<VectorType>(numbers.getType()).getNumElements();
  for (int64_t lane = 1; lane < count; ++lane)
    word = b.bitOr(word, b.shiftLeft(b.extract(low, lane), 8 * lane));
  return word;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

Value QuantizedStore::placeOf(Value row, Value item, int64_t width,
                              size_t numRows) {
  Value place = b.add(b.mul(b.div(row, 4), width), item);
  return numRows == 4 ? place : b.add(b.mul(place, 4), b.rem(row, 4));
}

void QuantizedStore::storeRows(const View &view, ArrayRef<Value> values,
                               Value row, Value item, int64_t width) {
  Value stored = values.size() == 4 ? b.vector(values) : values.front();
  b.store(stored,
          unit.bind(view.slice, stored.getType(), program::Access::Write),
          placeOf(row, item, width, values.size()));
}

Value QuantizedStore::storeCodes(Value row, Value quad, Value vec4,
                                 Value inverse) {
  Value codes = codesOf(b, vec4, inverse);
  storeRows(result.codes, packBytes(b, codes), row, quad,
            result.codes.columns() / 4);
  return b.sumOfLanes(codes);
}

void QuantizedStore::storeBlockSum(Value row, Value block, Value scale,
                                   Value sumOfCodes) {
  storeRows(result.sums, b.mul(scale, b.signedToF32(sumOfCodes)), row, block,
            result.numBlocks());
  if (!result.hasRowScales())
    storeRows(result.scales, scale, row, block, result.numBlocks());
}

void QuantizedStore::storeRowScale(Value row, Value scale) {
  b.store(
      scale,
      unit.bind(result.scales.slice, b.getF32Type(), program::Access::Write),
      row);
}

void QuantizedStore::storeBlock(Value row, Value block, ArrayRef<Value> quads) {
  Value largest;
  for (Value quad : quads) {
    Value magnitude = largestMagnitude(b, quad);
    largest = largest ? b.max(largest, magnitude) : magnitude;
  }
  CodeScale scale = codeScale(b, largest);
  Value sum, firstQuad = b.mul(block, kQuadsPerBlock);
  for (auto [number, quad] : llvm::enumerate(quads)) {
    Value part = storeCodes(row, b.add(firstQuad, static_cast<int64_t>(number)),
                            quad, scale.inverse);
    sum = sum ? b.add(sum, part) : part;
  }
  storeBlockSum(row, block, scale.scale, sum);
}

//===----------------------------------------------------------------------===//
// Quads spread over invocations
//===----------------------------------------------------------------------===//

/// The numbers of a slot's rows as one value: a scalar, or a vector of four.
static Value joinRows(KernelBuilder &b, ArrayRef<Value> rows) {
  return rows.size() == 1 ? rows.front() : b.vector(rows);
}

static Value rowOf(KernelBuilder &b, Value joined, size_t numRows, size_t row) {
  return numRows == 1 ? joined : b.extract(joined, static_cast<int64_t>(row));
}

/// `combine` over the eight slots of `slot`'s block, first slot first.
static Value overBlock(KernelBuilder &b, Value memory, Value slot,
                       llvm::function_ref<Value(Value, Value)> combine) {
  Value first = b.mul(b.div(slot, kQuadsPerBlock), kQuadsPerBlock);
  Value all = b.load(memory, first);
  for (int64_t i = 1; i < kQuadsPerBlock; ++i)
    all = combine(all, b.load(memory, b.add(first, i)));
  return all;
}

void QuantizedStore::shareMagnitudes(ArrayRef<SharedQuad> quads,
                                     int64_t numSlots) {
  size_t numRows = quads.front().values.size();
  auto typeFor = [&](Type element) -> Type {
    return numRows == 1 ? element : VectorType::get(4, element);
  };
  if (!magnitudes) {
    magnitudes = b.workgroupMemory(numSlots, typeFor(b.getF32Type()));
    codeSums = b.workgroupMemory(numSlots, typeFor(b.getI32Type()));
  }
  // What an earlier call put here has been read: magnitudes before its second
  // barrier, sums before the next one.
  for (const SharedQuad &quad : quads) {
    SmallVector<Value> rows;
    for (Value value : quad.values)
      rows.push_back(largestMagnitude(b, value));
    b.store(joinRows(b, rows), magnitudes, quad.slot);
  }
  b.barrier();
}

void QuantizedStore::storeShared(ArrayRef<SharedQuad> quads, int64_t numSlots) {
  shareMagnitudes(quads, numSlots);
  size_t numRows = quads.front().values.size();
  SmallVector<Value> scales;
  auto storeIf = [&](Value stores, llvm::function_ref<void()> store) {
    stores ? b.ifThen(stores, store) : store();
  };
  for (const SharedQuad &quad : quads) {
    CodeScale scale =
        codeScale(b, overBlock(b, magnitudes, quad.slot,
                               [&](Value x, Value y) { return b.max(x, y); }));
    scales.push_back(scale.scale);
    SmallVector<Value> words, sums;
    for (auto [row, value] : llvm::enumerate(quad.values)) {
      Value codes = codesOf(b, value, rowOf(b, scale.inverse, numRows, row));
      words.push_back(packBytes(b, codes));
      sums.push_back(b.sumOfLanes(codes));
    }
    b.store(joinRows(b, sums), codeSums, quad.slot);
    storeIf(quad.stores, [&] {
      storeRows(result.codes, words, quad.row, quad.quad,
                result.codes.columns() / 4);
    });
  }
  b.barrier();

  // The first quad of a block stores what belongs to the block.
  for (size_t place = 0; place < quads.size(); ++place) {
    const SharedQuad &quad = quads[place];
    Value scale = scales[place];
    Value isFirst = b.equal(b.rem(quad.slot, kQuadsPerBlock), b.index(0));
    storeIf(quad.stores ? b.logicalAnd(quad.stores, isFirst) : isFirst, [&] {
      Value total = overBlock(b, codeSums, quad.slot,
                              [&](Value x, Value y) { return b.add(x, y); });
      SmallVector<Value> sums, blockScales;
      Value scaled = b.mul(scale, b.signedToF32(total));
      for (size_t row = 0; row < numRows; ++row) {
        sums.push_back(rowOf(b, scaled, numRows, row));
        blockScales.push_back(rowOf(b, scale, numRows, row));
      }
      Value block = b.div(quad.quad, kQuadsPerBlock);
      storeRows(result.sums, sums, quad.row, block, result.numBlocks());
      storeRows(result.scales, blockScales, quad.row, block,
                result.numBlocks());
    });
  }
}

} // namespace llmc::codegen
