// SPDX-License-Identifier: Apache-2.0
//
// Matrices of subgroups, as ops of upstream's gpu dialect.

#include "codegen/Lowering/SubgroupMatrix.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

namespace llmc::codegen {

static gpu::MMAMatrixType typeOf(KernelBuilder &b, MatrixUse use) {
  bool isSum = use == MatrixUse::Sum;
  Type element = isSum ? Type(b.getF32Type()) : Type(b.getF16Type());
  StringRef operand = isSum ? "COp" : use == MatrixUse::Left ? "AOp" : "BOp";
  return gpu::MMAMatrixType::get({kMatrixSize, kMatrixSize}, element, operand);
}

Value loadMatrix(KernelBuilder &b, MatrixUse use, Value memref, Value index,
                 int64_t stride, MatrixOrder order) {
  mlir::UnitAttr transposed =
      order == MatrixOrder::Columns ? b.getUnitAttr() : mlir::UnitAttr();
  return gpu::SubgroupMmaLoadMatrixOp::create(
      b, typeOf(b, use), memref, index, b.getIndexAttr(stride), transposed);
}

void storeMatrix(KernelBuilder &b, Value matrix, Value memref, Value index,
                 int64_t stride) {
  gpu::SubgroupMmaStoreMatrixOp::create(b, matrix, memref, index,
                                        b.getIndexAttr(stride),
                                        /*transpose=*/mlir::UnitAttr());
}

Value zeroMatrix(KernelBuilder &b) {
  return gpu::SubgroupMmaConstantMatrixOp::create(b, typeOf(b, MatrixUse::Sum),
                                                  b.f32(0.0));
}

Value multiplyAdd(KernelBuilder &b, Value left, Value right, Value sum) {
  return gpu::SubgroupMmaComputeOp::create(b, left, right, sum,
                                           /*a_transpose=*/mlir::UnitAttr(),
                                           /*b_transpose=*/mlir::UnitAttr());
}

/// The largest finite f16.
static constexpr double kLargestHalf = 65504;

Value exceedsHalf(KernelBuilder &b, Value magnitude) {
  return b.less(b.f32(kLargestHalf), magnitude);
}

HalfScale scaleToHalf(KernelBuilder &b, Value magnitude) {
  // To below 2^15, by exponents; that of 1 is kBias.
  constexpr int64_t kMantissaBits = 23, kBias = 127, kWanted = 14;
  Value exponent = b.shiftRight(b.bitcastToI32(magnitude), kMantissaBits);
  auto power = [&](Value biased) {
    return b.bitcastToF32(b.shiftLeft(biased, kMantissaBits));
  };
  Value isNeeded = exceedsHalf(b, magnitude), one = b.f32(1.0);
  return {b.select(isNeeded, power(b.sub(b.i32(2 * kBias + kWanted), exponent)),
                   one),
          b.select(isNeeded, power(b.sub(exponent, b.i32(kWanted))), one)};
}

Value largerMagnitude(KernelBuilder &b, Value vector, Value before) {
  Value magnitudes = b.abs(vector);
  for (int64_t lane = 0; lane < 4; ++lane)
    before = b.max(before, b.extract(magnitudes, lane));
  return before;
}

Value overLanes(KernelBuilder &b, Value mine, int64_t count,
                int64_t subgroupSize, CombineLanes combine) {
  for (int64_t distance = 1; distance < count; distance *= 2) {
    auto other = gpu::ShuffleOp::create(b, mine, static_cast<int32_t>(distance),
                                        static_cast<int32_t>(subgroupSize),
                                        gpu::ShuffleMode::XOR);
    mine = combine(b, mine, other.getShuffleResult());
  }
  return mine;
}

Value largerOf(KernelBuilder &b, Value lhs, Value rhs) {
  return b.max(lhs, rhs);
}

Value sumOf(KernelBuilder &b, Value lhs, Value rhs) { return b.add(lhs, rhs); }

Value multiplyElements(KernelBuilder &b, Value lhs, Value rhs) {
  return gpu::SubgroupMmaElementwiseOp::create(
      b, lhs.getType(), ValueRange{lhs, rhs}, gpu::MMAElementwiseOp::MULF);
}

Value addElements(KernelBuilder &b, Value lhs, Value rhs) {
  return gpu::SubgroupMmaElementwiseOp::create(
      b, lhs.getType(), ValueRange{lhs, rhs}, gpu::MMAElementwiseOp::ADDF);
}

void subgroupBarrier(KernelBuilder &b) {
  namespace spirv = mlir::spirv;
  spirv::ControlBarrierOp::create(b, spirv::Scope::Subgroup,
                                  spirv::Scope::Subgroup,
                                  spirv::MemorySemantics::AcquireRelease |
                                      spirv::MemorySemantics::WorkgroupMemory);
}

Value subgroupNumber(KernelBuilder &b) {
  return gpu::SubgroupIdOp::create(b, /*upper_bound=*/mlir::IntegerAttr());
}

Value laneNumber(KernelBuilder &b) {
  return gpu::LaneIdOp::create(b, /*upper_bound=*/mlir::IntegerAttr());
}

} // namespace llmc::codegen
