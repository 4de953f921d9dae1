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

Value narrowInRange(KernelBuilder &b, Value f32) {
  constexpr double kLargestHalf = 65504;
  Type type = f32.getType();
  return b.narrow(b.max(b.min(f32, b.constant(type, kLargestHalf)),
                        b.constant(type, -kLargestHalf)));
}

Value multiplyElements(KernelBuilder &b, Value lhs, Value rhs) {
  return gpu::SubgroupMmaElementwiseOp::create(
      b, lhs.getType(), ValueRange{lhs, rhs}, gpu::MMAElementwiseOp::MULF);
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
