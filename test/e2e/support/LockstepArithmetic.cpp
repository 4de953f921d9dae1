// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of lanes, of 32 bits at most: indices have 32 bits as in SPIR-V.

#include "test/e2e/support/LockstepArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

#include <cmath>
#include <cstring>

namespace llmc::test {

namespace arith = mlir::arith;
namespace math = mlir::math;
namespace spirv = mlir::spirv;

float halfToFloat(uint32_t bits) {
  static const std::vector<float> numbers = [] {
    std::vector<float> all(1U << 16);
    for (uint32_t number = 0; number < all.size(); ++number) {
      auto half = static_cast<uint16_t>(number);
      _Float16 value;
      std::memcpy(&value, &half, sizeof(value));
      all[number] = static_cast<float>(value);
    }
    return all;
  }();
  return numbers[bits & 0xffff];
}

uint32_t floatToHalfBits(double number) {
  auto value = static_cast<_Float16>(number);
  uint16_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

namespace {

/// Bits of an element; an index has 32.
unsigned widthOf(mlir::Value value) {
  mlir::Type type = mlir::getElementTypeOrSelf(value.getType());
  return type.isIndex() ? 32 : type.getIntOrFloatBitWidth();
}

int32_t signExtend(uint32_t bits, unsigned width) {
  return static_cast<int32_t>(bits << (32 - width)) >> (32 - width);
}

/// What a conversion gives of numbers out of range is undefined; here the
/// nearest in range, of NaN zero.
template <typename Integer>
uint32_t toInteger(float number) {
  auto least = static_cast<double>(std::numeric_limits<Integer>::min()),
       largest = static_cast<double>(std::numeric_limits<Integer>::max());
  if (std::isnan(number))
    return 0;
  return static_cast<uint32_t>(static_cast<Integer>(
      std::min(std::max(static_cast<double>(number), least), largest)));
}

/// Which of two operands a minimum or maximum gives is not said where one is
/// NaN; here it is NaN, so that nothing hides it.
template <typename Function>
auto orNoNumber(Function function) {
  return [=](float a, float b) {
    return std::isnan(a) || std::isnan(b) ? a + b : function(a, b);
  };
}

/// Makes the step of one op.
class Maker {
public:
  Maker(mlir::Operation &op, LockstepSlot result,
        llvm::ArrayRef<LockstepSlot> operands)
      : op(op), result(result), operands(operands.begin(), operands.end()) {}

  LockstepStep make();

private:
  template <typename Function>
  LockstepStep words(Function function) const {
    static_assert(
        std::is_invocable_r_v<uint32_t, Function, uint32_t> ||
        std::is_invocable_r_v<uint32_t, Function, uint32_t, uint32_t> ||
        std::is_invocable_r_v<uint32_t, Function, uint32_t, uint32_t,
                              uint32_t>);
    LockstepSlot out = result;
    std::vector<LockstepSlot> in = operands;
    return [=](LockstepMachine &machine) {
      uint32_t *to = machine.at(out);
      const uint32_t *a = machine.at(in[0]);
      if constexpr (std::is_invocable_v<Function, uint32_t>) {
        for (size_t i = 0; i < out.words; ++i)
          to[i] = function(a[i]);
      } else if constexpr (std::is_invocable_v<Function, uint32_t, uint32_t>) {
        const uint32_t *b = machine.at(in[1]);
        for (size_t i = 0; i < out.words; ++i)
          to[i] = function(a[i], b[i]);
      } else {
        const uint32_t *b = machine.at(in[1]), *c = machine.at(in[2]);
        for (size_t i = 0; i < out.words; ++i)
          to[i] = function(a[i], b[i], c[i]);
      }
    };
  }

  /// Of integers; the result's bits beyond its width are dropped.
  template <typename Function>
  LockstepStep integers(Function function) const {
    unsigned width = widthOf(op.getResult(0));
    uint32_t mask = width == 32 ? ~0U : (1U << width) - 1;
    return words([=](uint32_t a, uint32_t b) -> uint32_t {
      return static_cast<uint32_t>(function(a, b)) & mask;
    });
  }

  template <typename Function>
  LockstepStep floats1(Function function) const {
    if (widthOf(op.getResult(0)) == 16)
      return words([=](uint32_t a) -> uint32_t {
        return floatToHalfBits(function(halfToFloat(a)));
      });
    return words([=](uint32_t a) -> uint32_t {
      return toBits(static_cast<float>(function(toFloat(a))));
    });
  }
  /// An f16 result is that of f32 rounded once more, which is the same for
  /// sums, products and quotients.
  template <typename Function>
  LockstepStep floats2(Function function) const {
    if (widthOf(op.getResult(0)) == 16)
      return words([=](uint32_t a, uint32_t b) -> uint32_t {
        return floatToHalfBits(function(halfToFloat(a), halfToFloat(b)));
      });
    return words([=](uint32_t a, uint32_t b) -> uint32_t {
      return toBits(function(toFloat(a), toFloat(b)));
    });
  }
  LockstepStep multiplyAdd() const {
    if (widthOf(op.getResult(0)) == 16)
      return words([](uint32_t a, uint32_t b, uint32_t c) -> uint32_t {
        return floatToHalfBits(double(halfToFloat(a)) * halfToFloat(b) +
                               halfToFloat(c));
      });
    return words([](uint32_t a, uint32_t b, uint32_t c) -> uint32_t {
      return toBits(std::fma(toFloat(a), toFloat(b), toFloat(c)));
    });
  }

  LockstepStep compareIntegers(arith::CmpIOp compare) const;
  LockstepStep compareFloats(arith::CmpFOp compare) const;
  LockstepStep fromInteger(bool isSigned) const;
  LockstepStep ofIntegers() const;
  LockstepStep ofFloats() const;
  LockstepStep conversion() const;

  mlir::Operation &op;
  LockstepSlot result;
  std::vector<LockstepSlot> operands;
};

LockstepStep Maker::compareIntegers(arith::CmpIOp compare) const {
  unsigned width = widthOf(compare.getLhs());
  auto compareSigned = [&](auto function) {
    return words([=](uint32_t a, uint32_t b) -> uint32_t {
      return function(signExtend(a, width), signExtend(b, width));
    });
  };
  auto compareUnsigned = [&](auto function) {
    return words(
        [=](uint32_t a, uint32_t b) -> uint32_t { return function(a, b); });
  };
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::eq:
    return compareUnsigned(std::equal_to<>());
  case arith::CmpIPredicate::ne:
    return compareUnsigned(std::not_equal_to<>());
  case arith::CmpIPredicate::ult:
    return compareUnsigned(std::less<>());
  case arith::CmpIPredicate::ule:
    return compareUnsigned(std::less_equal<>());
  case arith::CmpIPredicate::ugt:
    return compareUnsigned(std::greater<>());
  case arith::CmpIPredicate::uge:
    return compareUnsigned(std::greater_equal<>());
  case arith::CmpIPredicate::slt:
    return compareSigned(std::less<>());
  case arith::CmpIPredicate::sle:
    return compareSigned(std::less_equal<>());
  case arith::CmpIPredicate::sgt:
    return compareSigned(std::greater<>());
  case arith::CmpIPredicate::sge:
    return compareSigned(std::greater_equal<>());
  }
  return {};
}

LockstepStep Maker::compareFloats(arith::CmpFOp compare) const {
  bool isHalf = widthOf(compare.getLhs()) == 16;
  auto numbers = [&](auto function) {
    return words([=](uint32_t a, uint32_t b) -> uint32_t {
      return isHalf ? function(halfToFloat(a), halfToFloat(b))
                    : function(toFloat(a), toFloat(b));
    });
  };
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OEQ:
    return numbers(std::equal_to<>());
  case arith::CmpFPredicate::OLT:
    return numbers(std::less<>());
  default:
    return {};
  }
}

LockstepStep Maker::fromInteger(bool isSigned) const {
  unsigned width = widthOf(op.getOperand(0));
  bool isHalf = widthOf(op.getResult(0)) == 16;
  return words([=](uint32_t a) -> uint32_t {
    double number = isSigned ? double(signExtend(a, width)) : double(a);
    return isHalf ? floatToHalfBits(number)
                  : toBits(static_cast<float>(number));
  });
}

LockstepStep Maker::ofIntegers() const {
  if (isa<arith::AddIOp>(op))
    return integers(std::plus<>());
  if (isa<arith::SubIOp>(op))
    return integers(std::minus<>());
  if (isa<arith::MulIOp>(op))
    return integers(std::multiplies<>());
  // Lanes that are not active divide by what they happen to have.
  if (isa<arith::DivUIOp>(op))
    return integers([](uint32_t a, uint32_t b) { return b == 0 ? 0 : a / b; });
  if (isa<arith::RemUIOp>(op))
    return integers([](uint32_t a, uint32_t b) { return b == 0 ? 0 : a % b; });
  if (isa<arith::AndIOp>(op))
    return integers(std::bit_and<>());
  if (isa<arith::OrIOp>(op))
    return integers(std::bit_or<>());
  if (isa<arith::XOrIOp>(op))
    return integers(std::bit_xor<>());
  if (isa<arith::ShLIOp>(op))
    return integers([](uint32_t a, uint32_t b) { return b < 32 ? a << b : 0; });
  if (isa<arith::ShRUIOp>(op))
    return integers([](uint32_t a, uint32_t b) { return b < 32 ? a >> b : 0; });
  if (isa<arith::ShRSIOp>(op))
    return integers([width = widthOf(op.getResult(0))](uint32_t a, uint32_t b) {
      return signExtend(a, width) >> std::min(b, 31U);
    });
  if (isa<arith::MinUIOp>(op))
    return integers([](uint32_t a, uint32_t b) { return std::min(a, b); });
  if (isa<arith::MaxUIOp>(op))
    return integers([](uint32_t a, uint32_t b) { return std::max(a, b); });
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare);
  if (isa<spirv::SDotOp>(op))
    return integers([](uint32_t a, uint32_t b) {
      int32_t sum = 0;
      for (unsigned byte = 0; byte < 4; ++byte)
        sum += signExtend(a >> 8 * byte & 0xff, 8) *
               signExtend(b >> 8 * byte & 0xff, 8);
      return sum;
    });
  return {};
}

LockstepStep Maker::ofFloats() const {
  if (isa<arith::AddFOp>(op))
    return floats2(std::plus<>());
  if (isa<arith::SubFOp>(op))
    return floats2(std::minus<>());
  if (isa<arith::MulFOp>(op))
    return floats2(std::multiplies<>());
  if (isa<arith::DivFOp>(op))
    return floats2(std::divides<>());
  if (isa<spirv::GLFMinOp>(op))
    return floats2(orNoNumber([](float a, float b) { return std::min(a, b); }));
  if (isa<spirv::GLFMaxOp>(op))
    return floats2(orNoNumber([](float a, float b) { return std::max(a, b); }));
  if (isa<math::FmaOp>(op))
    return multiplyAdd();
  if (isa<arith::NegFOp>(op))
    return floats1(std::negate<>());
  if (isa<math::AbsFOp>(op))
    return floats1([](float a) { return std::fabs(a); });
  if (isa<math::FloorOp>(op))
    return floats1([](float a) { return std::floor(a); });
  if (isa<math::RoundEvenOp>(op))
    return floats1([](float a) { return std::nearbyint(a); });
  if (isa<math::ExpOp>(op))
    return floats1([](float a) { return std::exp(double(a)); });
  if (isa<math::TanhOp>(op))
    return floats1([](float a) { return std::tanh(double(a)); });
  if (isa<math::SqrtOp>(op))
    return floats1([](float a) { return std::sqrt(a); });
  if (isa<math::SinOp>(op))
    return floats1([](float a) { return std::sin(double(a)); });
  if (isa<math::CosOp>(op))
    return floats1([](float a) { return std::cos(double(a)); });
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareFloats(compare);
  return {};
}

LockstepStep Maker::conversion() const {
  if (isa<arith::IndexCastOp, arith::BitcastOp>(op))
    return words([](uint32_t a) { return a; });
  if (isa<arith::UIToFPOp>(op))
    return fromInteger(/*isSigned=*/false);
  if (isa<arith::SIToFPOp>(op))
    return fromInteger(/*isSigned=*/true);
  if (isa<arith::FPToUIOp>(op))
    return words([](uint32_t a) { return toInteger<uint32_t>(toFloat(a)); });
  if (isa<arith::FPToSIOp>(op))
    return words([](uint32_t a) { return toInteger<int32_t>(toFloat(a)); });
  if (isa<arith::ExtFOp>(op))
    return words([](uint32_t a) { return toBits(halfToFloat(a)); });
  if (isa<arith::TruncFOp>(op))
    return words([](uint32_t a) { return floatToHalfBits(toFloat(a)); });
  if (isa<arith::SelectOp>(op))
    return words([](uint32_t condition, uint32_t a, uint32_t b) {
      return condition ? a : b;
    });
  return {};
}

LockstepStep Maker::make() {
  // Conditions of choices between vectors are vectors, but for upstream's own.
  for (LockstepSlot operand : operands)
    if (operand.words != result.words)
      return {};
  for (LockstepStep step : {ofIntegers(), ofFloats(), conversion()})
    if (step)
      return step;
  return {};
}

/// Of i32, two f16 or four i8 to one of these of as many bits: components of a
/// smaller type are parts of one of a larger one, lowest first.
LockstepStep castBits(spirv::BitcastOp cast, LockstepSlot to,
                      LockstepSlot from) {
  unsigned toWidth = widthOf(cast.getResult()),
           fromWidth = widthOf(cast.getOperand());
  return [=](LockstepMachine &machine) {
    size_t lanes = machine.lanes;
    uint32_t *out = machine.at(to);
    const uint32_t *in = machine.at(from);
    unsigned width = std::min(toWidth, fromWidth);
    uint32_t mask = width == 32 ? ~0U : (1U << width) - 1;
    std::fill_n(out, to.words, 0U);
    size_t parts = std::max(to.words, from.words) / lanes;
    for (size_t part = 0; part < parts; ++part) {
      size_t fromBit = part * width, toBit = part * width;
      for (size_t lane = 0; lane < lanes; ++lane) {
        uint32_t bits =
            in[fromBit / fromWidth * lanes + lane] >> fromBit % fromWidth &
            mask;
        out[toBit / toWidth * lanes + lane] |= bits << toBit % toWidth;
      }
    }
  };
}

LockstepStep unpackHalves(LockstepSlot to, LockstepSlot from) {
  return [=](LockstepMachine &machine) {
    uint32_t *out = machine.at(to);
    const uint32_t *in = machine.at(from);
    for (size_t lane = 0; lane < from.words; ++lane) {
      out[lane] = toBits(halfToFloat(in[lane]));
      out[from.words + lane] = toBits(halfToFloat(in[lane] >> 16));
    }
  };
}

LockstepStep packHalves(LockstepSlot to, LockstepSlot from) {
  return [=](LockstepMachine &machine) {
    uint32_t *out = machine.at(to);
    const uint32_t *in = machine.at(from);
    for (size_t lane = 0; lane < to.words; ++lane)
      out[lane] = floatToHalfBits(toFloat(in[lane])) |
                  floatToHalfBits(toFloat(in[to.words + lane])) << 16;
  };
}

} // namespace

LockstepStep arithmeticStep(mlir::Operation &op, LockstepSlot result,
                            llvm::ArrayRef<LockstepSlot> operands) {
  if (auto cast = dyn_cast<spirv::BitcastOp>(op))
    return castBits(cast, result, operands[0]);
  if (isa<spirv::GLUnpackHalf2x16Op>(op))
    return unpackHalves(result, operands[0]);
  if (isa<spirv::GLPackHalf2x16Op>(op))
    return packHalves(result, operands[0]);
  return Maker(op, result, operands).make();
}

} // namespace llmc::test
