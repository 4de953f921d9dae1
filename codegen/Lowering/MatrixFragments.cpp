// SPDX-License-Identifier: Apache-2.0
//
// Fragments of matrices, as ops of upstream's gpu dialect.

#include "codegen/Lowering/MatrixFragments.h"

namespace llmc::codegen {

static gpu::MMAMatrixType sumType(KernelBuilder &b) {
  return gpu::MMAMatrixType::get({16, 8}, b.getF32Type(), "COp");
}

Value zeroFragment(KernelBuilder &b) {
  return gpu::SubgroupMmaConstantMatrixOp::create(b, sumType(b), b.f32(0.0));
}

/// A matrix of f16 that is made of the lanes' words.
static Value fromWords(KernelBuilder &b, gpu::MMAMatrixType type,
                       ArrayRef<Value> words) {
  Value matrix = gpu::SubgroupMmaConstantMatrixOp::create(
      b, type, b.constant(b.getF16Type(), 0.0));
  for (auto [number, word] : llvm::enumerate(words)) {
    Value halves = b.bitcastToHalf2(word);
    for (int64_t half = 0; half < 2; ++half)
      matrix = gpu::SubgroupMmaInsertThreadLocalOp::create(
          b, type, b.extract(halves, half), matrix,
          ValueRange{b.index(2 * static_cast<int64_t>(number) + half)});
  }
  return matrix;
}

Value multiplyFragments(KernelBuilder &b, const std::array<Value, 4> &left,
                        const std::array<Value, 2> &right, Value sum) {
  Type half = b.getF16Type();
  return gpu::SubgroupMmaComputeOp::create(
      b, fromWords(b, gpu::MMAMatrixType::get({16, 16}, half, "AOp"), left),
      fromWords(b, gpu::MMAMatrixType::get({16, 8}, half, "BOp"), right), sum,
      /*a_transpose=*/mlir::UnitAttr(), /*b_transpose=*/mlir::UnitAttr());
}

std::array<Value, 4> numbersOf(KernelBuilder &b, Value sum) {
  std::array<Value, 4> numbers;
  for (auto [number, value] : llvm::enumerate(numbers))
    value = gpu::SubgroupMmaExtractThreadLocalOp::create(
        b, b.getF32Type(), sum,
        ValueRange{b.index(static_cast<int64_t>(number))});
  return numbers;
}

} // namespace llmc::codegen
