// SPDX-License-Identifier: Apache-2.0
//
// KernelBuilder: each helper is one op, or a few.

#include "codegen/Lowering/KernelBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVAttributes.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace llmc::codegen {

namespace arith = mlir::arith;
namespace math = mlir::math;
namespace memref = mlir::memref;
namespace scf = mlir::scf;
namespace spirv = mlir::spirv;
namespace vector_ops = mlir::vector;

static bool isFloat(Value value) {
  return isa<FloatType>(mlir::getElementTypeOrSelf(value.getType()));
}

/// `shape` with f32 or i32 elements: the type of a conversion's result.
static Type withElement(Type shape, Type element) {
  if (auto vector = dyn_cast<VectorType>(shape))
    return vector.clone(element);
  return element;
}

static MemRefType memrefIn(spirv::StorageClass storageClass, int64_t size,
                           Type element) {
  auto space = spirv::StorageClassAttr::get(element.getContext(), storageClass);
  return MemRefType::get({size}, element, mlir::MemRefLayoutAttrInterface(),
                         space);
}

MemRefType KernelBuilder::bufferType(Type element) {
  return memrefIn(spirv::StorageClass::StorageBuffer, ShapedType::kDynamic,
                  element);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value KernelBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}
Value KernelBuilder::i32(int64_t value) {
  return constant(getI32Type(), static_cast<double>(value));
}
Value KernelBuilder::f32(double value) { return constant(getF32Type(), value); }

Value KernelBuilder::constant(Type type, double value) {
  Type element = mlir::getElementTypeOrSelf(type);
  mlir::TypedAttr attribute;
  if (isa<FloatType>(element))
    attribute = getFloatAttr(element, value);
  else if (element.isIndex())
    attribute = getIndexAttr(static_cast<int64_t>(value));
  else // Bit patterns of either sign are meant: 0xf0000000 as well as -1.
    attribute = IntegerAttr::get(
        element, llvm::APInt(element.getIntOrFloatBitWidth(),
                             static_cast<int64_t>(value),
                             /*isSigned=*/true, /*implicitTrunc=*/true));
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = mlir::DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(*this, attribute);
}

Value KernelBuilder::i32s(ArrayRef<int32_t> values) {
  auto type =
      VectorType::get(static_cast<int64_t>(values.size()), getI32Type());
  return arith::ConstantOp::create(*this,
                                   mlir::DenseElementsAttr::get(type, values));
}

Value KernelBuilder::opaqueIndex(int64_t value) {
  auto module =
      getInsertionBlock()->getParentOp()->getParentOfType<gpu::GPUModuleOp>();
  std::string name = "bound" + std::to_string(value);
  if (!module.lookupSymbol(name)) {
    int32_t id = llvm::range_size(module.getOps<spirv::SpecConstantOp>());
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(module.getBody());
    auto op = spirv::SpecConstantOp::create(*this, getStringAttr(name),
                                            getI32IntegerAttr(value));
    op->setAttr("spec_id", getI32IntegerAttr(id));
  }
  return toIndex(spirv::ReferenceOfOp::create(*this, getI32Type(), name));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value KernelBuilder::add(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::AddFOp::create(*this, lhs, rhs);
  return arith::AddIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::add(Value lhs, int64_t rhs) {
  return rhs == 0 ? lhs : add(lhs, constant(lhs.getType(), rhs));
}

Value KernelBuilder::sub(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::SubFOp::create(*this, lhs, rhs);
  return arith::SubIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::mul(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::MulFOp::create(*this, lhs, rhs);
  return arith::MulIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::mul(Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs : mul(lhs, constant(lhs.getType(), rhs));
}

Value KernelBuilder::div(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::DivFOp::create(*this, lhs, rhs);
  return arith::DivUIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::div(Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs : div(lhs, constant(lhs.getType(), rhs));
}

Value KernelBuilder::rem(Value lhs, int64_t rhs) {
  return arith::RemUIOp::create(*this, lhs, constant(lhs.getType(), rhs));
}

// GLSL's min and max, not arith's: those add selects for NaN, which no kernel
// here relies on.
Value KernelBuilder::min(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return spirv::GLFMinOp::create(*this, lhs, rhs);
  return arith::MinUIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::max(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return spirv::GLFMaxOp::create(*this, lhs, rhs);
  return arith::MaxUIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::fma(Value lhs, Value rhs, Value addend) {
  return math::FmaOp::create(*this, lhs, rhs, addend);
}
Value KernelBuilder::neg(Value operand) {
  return arith::NegFOp::create(*this, operand);
}
Value KernelBuilder::abs(Value operand) {
  return math::AbsFOp::create(*this, operand);
}
Value KernelBuilder::roundEven(Value operand) {
  return math::RoundEvenOp::create(*this, operand);
}
Value KernelBuilder::exp(Value operand) {
  return math::ExpOp::create(*this, operand);
}
Value KernelBuilder::tanh(Value operand) {
  return math::TanhOp::create(*this, operand);
}
Value KernelBuilder::sqrt(Value operand) {
  return math::SqrtOp::create(*this, operand);
}
Value KernelBuilder::sin(Value operand) {
  return math::SinOp::create(*this, operand);
}
Value KernelBuilder::cos(Value operand) {
  return math::CosOp::create(*this, operand);
}

Value KernelBuilder::shiftLeft(Value operand, int64_t bits) {
  return bits == 0 ? operand
                   : shiftLeft(operand, constant(operand.getType(), bits));
}

Value KernelBuilder::shiftLeft(Value operand, Value bits) {
  return arith::ShLIOp::create(*this, operand, bits);
}

Value KernelBuilder::shiftRight(Value operand, int64_t bits) {
  return bits == 0 ? operand
                   : shiftRight(operand, constant(operand.getType(), bits));
}

Value KernelBuilder::shiftRight(Value operand, Value bits) {
  return arith::ShRUIOp::create(*this, operand, bits);
}

Value KernelBuilder::shiftRightSigned(Value operand, int64_t bits) {
  return arith::ShRSIOp::create(*this, operand,
                                constant(operand.getType(), bits));
}

Value KernelBuilder::bitAnd(Value lhs, Value rhs) {
  return arith::AndIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::bitAnd(Value operand, int64_t mask) {
  return arith::AndIOp::create(*this, operand,
                               constant(operand.getType(), mask));
}

Value KernelBuilder::bitOr(Value lhs, Value rhs) {
  return arith::OrIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::bitXor(Value lhs, Value rhs) {
  return arith::XOrIOp::create(*this, lhs, rhs);
}

Value KernelBuilder::bitXor(Value operand, int64_t mask) {
  return arith::XOrIOp::create(*this, operand,
                               constant(operand.getType(), mask));
}

// Not the accumulating op: its saturation would have to be computed where the
// hardware has none.
Value KernelBuilder::dotBytes(Value lhs, Value rhs, Value addend) {
  auto format = spirv::PackedVectorFormatAttr::get(
      getContext(), spirv::PackedVectorFormat::PackedVectorFormat4x8Bit);
  return add(spirv::SDotOp::create(*this, getI32Type(), lhs, rhs, format),
             addend);
}

//===----------------------------------------------------------------------===//
// Comparison and conversion
//===----------------------------------------------------------------------===//

Value KernelBuilder::less(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, lhs, rhs);
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, lhs, rhs);
}

Value KernelBuilder::equal(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, lhs, rhs);
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, lhs, rhs);
}

Value KernelBuilder::logicalAnd(Value lhs, Value rhs) {
  return arith::AndIOp::create(*this, lhs, rhs);
}

// Before SPIR-V 1.4 a choice between vectors takes a vector of bools.
Value KernelBuilder::select(Value condition, Value whenTrue, Value whenFalse) {
  auto type = dyn_cast<VectorType>(whenTrue.getType());
  if (type && !isa<VectorType>(condition.getType()))
    condition = splat(condition, type.getNumElements());
  return arith::SelectOp::create(*this, condition, whenTrue, whenFalse);
}

Value KernelBuilder::toIndex(Value i32) {
  return arith::IndexCastOp::create(*this, getIndexType(), i32);
}
Value KernelBuilder::toI32(Value index) {
  return arith::IndexCastOp::create(*this, getI32Type(), index);
}

Value KernelBuilder::unsignedToF32(Value integer) {
  return arith::UIToFPOp::create(
      *this, withElement(integer.getType(), getF32Type()), integer);
}

Value KernelBuilder::signedToF32(Value integer) {
  return arith::SIToFPOp::create(
      *this, withElement(integer.getType(), getF32Type()), integer);
}

static Value bytesOf(KernelBuilder &b, Value i32) {
  return spirv::BitcastOp::create(b, VectorType::get(4, b.getI8Type()), i32);
}

Value KernelBuilder::unsignedBytesToF32(Value i32) {
  return unsignedToF32(bytesOf(*this, i32));
}

Value KernelBuilder::unsignedByteToF32(Value i32, int64_t byte) {
  return unsignedToF32(extract(bytesOf(*this, i32), byte));
}

Value KernelBuilder::signedBytesToF32(Value i32) {
  return signedToF32(bytesOf(*this, i32));
}

SmallVector<Value> KernelBuilder::shiftedBytesToF32(Value i32, bool isSigned) {
  SmallVector<Value> numbers;
  for (int64_t byte = 0; byte < 4; ++byte) {
    Value code;
    if (isSigned)
      code = shiftRightSigned(shiftLeft(i32, 24 - 8 * byte), 24);
    else if (byte == 3)
      code = shiftRight(i32, 24);
    else
      code = bitAnd(shiftRight(i32, 8 * byte), 255);
    numbers.push_back(signedToF32(code));
  }
  return numbers;
}

Value KernelBuilder::bitcastToF32(Value integer) {
  return arith::BitcastOp::create(
      *this, withElement(integer.getType(), getF32Type()), integer);
}

Value KernelBuilder::bitcastToI32(Value value) {
  return arith::BitcastOp::create(
      *this, withElement(value.getType(), getI32Type()), value);
}

Value KernelBuilder::unpackHalf2(Value i32) {
  return spirv::GLUnpackHalf2x16Op::create(
      *this, VectorType::get(2, getF32Type()), i32);
}

Value KernelBuilder::packHalf2(Value f32x2) {
  return spirv::GLPackHalf2x16Op::create(*this, getI32Type(), f32x2);
}

Value KernelBuilder::toSignedI32(Value number) {
  return arith::FPToSIOp::create(
      *this, withElement(number.getType(), getI32Type()), number);
}

Value KernelBuilder::bitcastToHalf2(Value i32) {
  return spirv::BitcastOp::create(*this, f16x2(), i32);
}

Value KernelBuilder::unsignedBytesToF16(Value i32) {
  return arith::UIToFPOp::create(*this, VectorType::get(4, getF16Type()),
                                 bytesOf(*this, i32));
}

Value KernelBuilder::signedBytesToF16(Value i32) {
  return arith::SIToFPOp::create(*this, VectorType::get(4, getF16Type()),
                                 bytesOf(*this, i32));
}

Value KernelBuilder::widen(Value f16) {
  return arith::ExtFOp::create(*this, getF32Type(), f16);
}

Value KernelBuilder::narrow(Value f32) {
  Type type = getF16Type();
  if (auto vector = dyn_cast<VectorType>(f32.getType()))
    type = vector.clone(type);
  return arith::TruncFOp::create(*this, type, f32);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value KernelBuilder::extract(Value vector, int64_t lane) {
  return vector_ops::ExtractOp::create(*this, vector, ArrayRef<int64_t>{lane});
}

Value KernelBuilder::extract(Value vector, Value laneIndex) {
  return vector_ops::ExtractOp::create(*this, vector,
                                       ArrayRef<mlir::OpFoldResult>{laneIndex});
}

Value KernelBuilder::insert(Value scalar, Value vector, int64_t lane) {
  return vector_ops::InsertOp::create(*this, scalar, vector,
                                      ArrayRef<int64_t>{lane});
}

Value KernelBuilder::pair(Value vector, int64_t first) {
  return vector_ops::ExtractStridedSliceOp::create(
      *this, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{2},
      ArrayRef<int64_t>{1});
}

Value KernelBuilder::splat(Value scalar, int64_t size) {
  return vector_ops::BroadcastOp::create(
      *this, VectorType::get(size, scalar.getType()), scalar);
}

Value KernelBuilder::vector(ValueRange scalars) {
  auto type = VectorType::get(static_cast<int64_t>(scalars.size()),
                              scalars.front().getType());
  return vector_ops::FromElementsOp::create(*this, type, scalars);
}

Value KernelBuilder::sumOfLanes(Value vector) {
  Value sum = extract(vector, 0);
  for (int64_t lane = 1;
       lane < cast<VectorType>(vector.getType()).getNumElements(); ++lane)
    sum = add(sum, extract(vector, lane));
  return sum;
}

//===----------------------------------------------------------------------===//
// Memory and invocations
//===----------------------------------------------------------------------===//

Value KernelBuilder::load(Value memref, Value index) {
  return memref::LoadOp::create(*this, memref, index);
}
void KernelBuilder::store(Value value, Value memref, Value index) {
  memref::StoreOp::create(*this, value, memref, index);
}

Value KernelBuilder::workgroupMemory(int64_t count, Type element) {
  int64_t elements = 1;
  if (auto vector = dyn_cast<VectorType>(element))
    elements = vector.getNumElements();
  workgroupMemoryBytes +=
      count * elements *
      mlir::getElementTypeOrSelf(element).getIntOrFloatBitWidth() / 8;
  return memref::AllocOp::create(
      *this, memrefIn(spirv::StorageClass::Workgroup, count, element));
}

Value KernelBuilder::atomicAdd(Value addend, Value memref, Value index) {
  return memref::AtomicRMWOp::create(*this, arith::AtomicRMWKind::addi, addend,
                                     memref, index);
}

void KernelBuilder::barrier() { gpu::BarrierOp::create(*this); }
void KernelBuilder::bufferBarrier() {
  spirv::ControlBarrierOp::create(*this, spirv::Scope::Workgroup,
                                  spirv::Scope::Workgroup,
                                  spirv::MemorySemantics::AcquireRelease |
                                      spirv::MemorySemantics::WorkgroupMemory |
                                      spirv::MemorySemantics::UniformMemory);
}
/// Two ops, as compilers of GLSL write it, which is what drivers see most.
void KernelBuilder::deviceBarrier() {
  spirv::MemoryBarrierOp::create(*this, spirv::Scope::Device,
                                 spirv::MemorySemantics::AcquireRelease |
                                     spirv::MemorySemantics::UniformMemory);
  bufferBarrier();
}
Value KernelBuilder::localId(gpu::Dimension dimension) {
  return gpu::ThreadIdOp::create(*this, dimension);
}
Value KernelBuilder::groupId(gpu::Dimension dimension) {
  return gpu::BlockIdOp::create(*this, dimension);
}
Value KernelBuilder::groupCount(gpu::Dimension dimension) {
  return gpu::GridDimOp::create(*this, dimension);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelBuilder::forLoop(Value lower, Value upper, Value step,
                                          ValueRange initial, LoopBody body) {
  auto loop = scf::ForOp::create(*this, lower, upper, step, initial);
  OpBuilder::InsertionGuard guard(*this);
  // A loop without carried values comes with its terminator.
  if (initial.empty()) {
    setInsertionPoint(loop.getBody()->getTerminator());
    body(loop.getInductionVar(), {});
    return {};
  }
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(*this, next);
  return loop.getResults();
}

void KernelBuilder::forLoop(Value lower, Value upper, Value step,
                            llvm::function_ref<void(Value)> body) {
  forLoop(lower, upper, step, ValueRange{},
          [&](Value induction, ValueRange) -> SmallVector<Value> {
            body(induction);
            return {};
          });
}

void KernelBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(op.thenYield());
  body();
}

SmallVector<Value>
KernelBuilder::ifElse(mlir::TypeRange types, Value condition,
                      llvm::function_ref<SmallVector<Value>()> thenBody,
                      llvm::function_ref<SmallVector<Value>()> elseBody) {
  auto op = scf::IfOp::create(*this, types, condition, /*addThenBlock=*/true,
                              /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(*this, thenBody());
  setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(*this, elseBody());
  return op.getResults();
}

} // namespace llmc::codegen
