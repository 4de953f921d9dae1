// SPDX-License-Identifier: Apache-2.0
//
// An op builder with short names for what kernels are made of: scalars and
// vectors of four, memory, loops. It decides nothing about tiles or devices;
// the lowerings of regions do.

#ifndef LLMC_CODEGEN_LOWERING_KERNELBUILDER_H
#define LLMC_CODEGEN_LOWERING_KERNELBUILDER_H

#include "dialects/Support/LLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llmc::codegen {

namespace gpu = mlir::gpu;

/// Arithmetic helpers take index, integer, float and vector values alike; both
/// operands have one type. Integer division, remainder, comparison and right
/// shift are unsigned unless the name says otherwise.
class KernelBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  // Types.
  VectorType f32x4() { return VectorType::get(4, getF32Type()); }
  VectorType f16x2() { return VectorType::get(2, getF16Type()); }
  VectorType i32x4() { return VectorType::get(4, getI32Type()); }
  VectorType i32x2() { return VectorType::get(2, getI32Type()); }
  /// Rank-1 memref of `element` in a storage buffer.
  MemRefType bufferType(Type element);

  // Constants.
  Value index(int64_t value);
  Value i32(int64_t value);
  Value f32(double value);
  /// A constant of `type` (index, integer, float or vector of them) whose every
  /// element is `value`.
  Value constant(Type type, double value);
  /// A vector of `values`.
  Value i32s(ArrayRef<int32_t> values);
  /// An index that the driver's compiler does not see as a literal, so that it
  /// does not unroll the loop it bounds. It is a specialization constant with
  /// that default.
  Value opaqueIndex(int64_t value);

  // Arithmetic.
  Value add(Value lhs, Value rhs);
  Value add(Value lhs, int64_t rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value mul(Value lhs, int64_t rhs);
  Value div(Value lhs, Value rhs);
  Value div(Value lhs, int64_t rhs);
  Value rem(Value lhs, int64_t rhs);
  Value min(Value lhs, Value rhs);
  Value max(Value lhs, Value rhs);
  /// Floats: lhs * rhs + addend with one rounding where the device has it.
  Value fma(Value lhs, Value rhs, Value addend);
  Value neg(Value operand);
  Value abs(Value operand);
  /// To the nearest integer, halves to the even one.
  Value roundEven(Value operand);
  Value exp(Value operand);
  Value tanh(Value operand);
  Value sqrt(Value operand);
  Value sin(Value operand);
  Value cos(Value operand);
  Value shiftLeft(Value operand, int64_t bits);
  Value shiftLeft(Value operand, Value bits);
  Value shiftRight(Value operand, int64_t bits);
  Value shiftRight(Value operand, Value bits);
  Value shiftRightSigned(Value operand, int64_t bits);
  Value bitAnd(Value lhs, Value rhs);
  Value bitAnd(Value operand, int64_t mask);
  Value bitOr(Value lhs, Value rhs);
  Value bitXor(Value lhs, Value rhs);
  Value bitXor(Value operand, int64_t mask);
  /// addend + the dot product of two i32 as four signed bytes each; needs
  /// int_dot.
  Value dotBytes(Value lhs, Value rhs, Value addend);

  // Comparison (bool results) and choice.
  Value less(Value lhs, Value rhs);
  Value equal(Value lhs, Value rhs);
  Value logicalAnd(Value lhs, Value rhs);
  Value select(Value condition, Value whenTrue, Value whenFalse);

  // Conversion.
  Value toIndex(Value i32);
  Value toI32(Value index);
  /// Unsigned and signed integers to f32, scalars and vectors.
  Value unsignedToF32(Value integer);
  Value signedToF32(Value integer);
  /// The four bytes of an i32, lowest first, as vector<4xf32>; needs
  /// i8_arithmetic.
  Value unsignedBytesToF32(Value i32);
  Value signedBytesToF32(Value i32);
  /// One of them, 0 … 3.
  Value unsignedByteToF32(Value i32, int64_t byte);
  /// The same by shifts and masks, one number a byte: without arithmetic on
  /// bytes.
  SmallVector<Value> shiftedBytesToF32(Value i32, bool isSigned);
  /// Same bits: i32 to f32 and back, scalars and vectors.
  Value bitcastToF32(Value integer);
  Value bitcastToI32(Value value);
  /// Two f16 in an i32 (low half first) to vector<2xf32> and back; needs no f16
  /// feature.
  Value unpackHalf2(Value i32);
  Value packHalf2(Value f32x2);
  /// f32 of a whole number to i32, scalars and vectors.
  Value toSignedI32(Value number);
  // These need f16_arithmetic; the bytes i8_arithmetic too.
  /// The two f16 in an i32 as vector<2xf16>: the same bits.
  Value bitcastToHalf2(Value i32);
  /// The four bytes of an i32, lowest first, as vector<4xf16>.
  Value unsignedBytesToF16(Value i32);
  Value signedBytesToF16(Value i32);
  /// An f16 as f32.
  Value widen(Value f16);
  /// f32 rounded to f16, scalars and vectors.
  Value narrow(Value f32);

  // Vectors.
  Value extract(Value vector, int64_t lane);
  Value extract(Value vector, Value laneIndex);
  Value insert(Value scalar, Value vector, int64_t lane);
  /// Lanes `first` and `first + 1`.
  Value pair(Value vector, int64_t first);
  Value splat(Value scalar, int64_t size = 4);
  Value vector(ValueRange scalars);
  /// ((v0 + v1) + v2) + v3.
  Value sumOfLanes(Value vector);

  // Memory.
  Value load(Value memref, Value index);
  void store(Value value, Value memref, Value index);
  /// Workgroup memory for `count` elements; counted in `workgroupBytes`.
  Value workgroupMemory(int64_t count, Type element);
  int64_t workgroupBytes() const { return workgroupMemoryBytes; }
  /// For the invocations of a workgroup and its memory.
  void barrier();
  /// Likewise, and what an invocation wrote to buffers is seen by the others.
  void bufferBarrier();
  /// Likewise, and by other workgroups that learn of it by an atomic.
  void deviceBarrier();
  /// Adds `addend`, an i32, to an element and returns what it was before.
  Value atomicAdd(Value addend, Value memref, Value index);

  // Invocations, as indices.
  Value localId(gpu::Dimension dimension = gpu::Dimension::x);
  Value groupId(gpu::Dimension dimension = gpu::Dimension::x);
  /// Workgroups of the dispatch in that dimension.
  Value groupCount(gpu::Dimension dimension);

  // Control flow. Bodies emit at the current insertion point and return the
  // values for the next round.
  using LoopBody = llvm::function_ref<SmallVector<Value>(Value induction,
                                                         ValueRange carried)>;
  SmallVector<Value> forLoop(Value lower, Value upper, Value step,
                             ValueRange initial, LoopBody body);
  void forLoop(Value lower, Value upper, Value step,
               llvm::function_ref<void(Value induction)> body);
  void ifThen(Value condition, llvm::function_ref<void()> body);
  /// Both bodies return values of `types`.
  SmallVector<Value> ifElse(mlir::TypeRange types, Value condition,
                            llvm::function_ref<SmallVector<Value>()> thenBody,
                            llvm::function_ref<SmallVector<Value>()> elseBody);

private:
  int64_t workgroupMemoryBytes = 0;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_KERNELBUILDER_H
