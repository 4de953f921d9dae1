// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic: on known numbers, on masks, on positions, and what is left.

#include "compiler/Import/ONNX/HostArithmetic.h"
#include "compiler/Import/ONNX/NodeImporter.h"

namespace llmc::onnx {

namespace {

/// A mask must push scores of padding below this, so that softmax makes them
/// zero.
constexpr double kHiddenScore = -1000;

bool isComparison(StringRef op) {
  return isHostBinary(op) && op != "Add" && op != "Sub" && op != "Mul" &&
         op != "Div" && op != "Pow" && op != "Max" && op != "Min";
}

/// The operand's two numbers where it is a mask or a known number.
std::optional<Uniform> asUniform(const Operand &operand) {
  if (const auto *uniform = std::get_if<Uniform>(&operand))
    return *uniform;
  std::optional<double> scalar = toScalar(operand);
  if (!scalar)
    return std::nullopt;
  return Uniform{dimsOf(operand), *scalar, *scalar};
}

bool isMask(const Operand &operand) {
  return std::holds_alternative<Uniform>(operand);
}

//===----------------------------------------------------------------------===//
// Two activations
//===----------------------------------------------------------------------===//

Value emitBinary(GraphEmitter &emit, StringRef op, Value lhs, Value rhs) {
  if (op == "Add")
    return emit.binary<graph::AddOp>(lhs, rhs);
  if (op == "Sub")
    return emit.binary<graph::SubOp>(lhs, rhs);
  if (op == "Mul")
    return emit.binary<graph::MulOp>(lhs, rhs);
  return emit.binary<graph::DivOp>(lhs, rhs);
}

/// lhs and rhs exchanged: a - b = b * -1 + a. Null for a quotient.
Value emitExchanged(GraphEmitter &emit, StringRef op, Value lhs, Value rhs) {
  if (op == "Div")
    return {};
  if (op == "Sub")
    return emit.binary<graph::AddOp>(
        emit.binary<graph::MulOp>(rhs, emit.constant(-1)), lhs);
  return emitBinary(emit, op, rhs, lhs);
}

llvm::Error importArithmetic(NodeImporter &n, StringRef op, const Operand &lhs,
                             const Operand &rhs) {
  llvm::Expected<Activation> result = combine(n, op, lhs, rhs);
  return result ? n.set(*result) : result.takeError();
}

/// c / x, kept until a product reads it; x * (c / y) = x * c / y.
llvm::Error importReciprocal(NodeImporter &n, double numerator,
                             const Activation &value) {
  if (value.numerator)
    return n.fail("divides by a reciprocal, which is not supported");
  Activation result = value;
  result.numerator = numerator;
  result.isBlockDiagonal = false;
  return n.set(std::move(result));
}

llvm::Error importProductWithReciprocal(NodeImporter &n, const Operand &other,
                                        const Activation &reciprocal) {
  Operand factor = other;
  if (*reciprocal.numerator != 1) {
    llvm::Expected<Activation> value = n.activation(other);
    if (!value)
      return value.takeError();
    value->value = n.emit.binary<graph::MulOp>(
        value->value, n.emit.constant(*reciprocal.numerator));
    factor = *value;
  }
  Activation divisor = reciprocal;
  divisor.numerator.reset();
  return importArithmetic(n, "Div", factor, divisor);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// x op mask: padding is not there, so the mask's number for tokens counts.
/// That it hides padding is checked where it is added to scores.
llvm::Error importMasked(NodeImporter &n, StringRef op, const Operand &value,
                         const Uniform &mask) {
  bool isNeutral =
      (op == "Add" && mask.visible == 0) || (op == "Mul" && mask.visible == 1);
  bool hides = op != "Add" || mask.hidden <= kHiddenScore;
  if (mask.visible == mask.hidden)
    return importArithmetic(n, op, value,
                            HostTensor{{}, true, {}, {mask.visible}});
  if (!isNeutral || !hides)
    return n.fail("a mask of " + describe(mask.visible) + " for tokens and " +
                  describe(mask.hidden) +
                  " for padding; allowed are sums with 0 and at most " +
                  describe(kHiddenScore) + ", and products with 1");
  llvm::Expected<Activation> result = n.activation(value);
  if (!result)
    return result.takeError();
  std::optional<Dims> dims = broadcast(result->dims, mask.dims);
  if (!dims || storedShape(*dims) != storedShape(result->dims))
    return n.fail("a mask " + describe(ArrayRef(mask.dims)) +
                  " is wider than " + describe(value));
  return n.set(*result);
}

llvm::Error importUniform(NodeImporter &n, StringRef op, const Uniform &lhs,
                          const Uniform &rhs) {
  std::optional<Dims> dims = broadcast(lhs.dims, rhs.dims);
  if (!dims)
    return n.fail("can't combine masks " + describe(ArrayRef(lhs.dims)) +
                  " and " + describe(ArrayRef(rhs.dims)));
  return n.set(Uniform{std::move(*dims),
                       computeReals(op, lhs.visible, rhs.visible),
                       computeReals(op, lhs.hidden, rhs.hidden)});
}

//===----------------------------------------------------------------------===//
// Ids
//===----------------------------------------------------------------------===//

/// Positions plus a number; tokens compared with a number, which is the padding
/// token: no token is.
llvm::Error importIndex(NodeImporter &n, StringRef op, const Index &index,
                        const Operand &other, bool isLeft) {
  std::optional<Uniform> number = asUniform(other);
  std::optional<Dims> dims = broadcast(index.dims, dimsOf(other));
  if (number && dims && op == "Equal" && !index.isPosition)
    return n.set(Uniform{std::move(*dims), 0, 1});
  bool isShift = op == "Add" || (op == "Sub" && isLeft);
  if (number && dims && op == "Mul" && number->visible == 1)
    return n.set(
        Index{index.value, std::move(*dims), index.isPosition, index.offset});
  if (!number || !dims || !isShift || !index.isPosition)
    return n.fail("combines " + describe(Operand(index)) + " and " +
                  describe(other) + ", which is not supported");
  auto shift = static_cast<int64_t>(number->visible);
  return n.set(Index{index.value, std::move(*dims), true,
                     index.offset + (op == "Add" ? shift : -shift)});
}

/// Lengths plus or minus a number.
llvm::Error importLength(NodeImporter &n, StringRef op, const Length &length,
                         const Operand &other, bool isLeft) {
  std::optional<double> number = toScalar(other);
  std::optional<Dims> dims = broadcast(length.dims, dimsOf(other));
  bool isShift = op == "Add" || (op == "Sub" && isLeft);
  constexpr double kMost = 1 << 30;
  if (!number || !(std::abs(*number) < kMost) || !dims || !isShift)
    return n.fail("combines " + describe(Operand(length)) + " and " +
                  describe(other) + ", which is not supported");
  auto shift = static_cast<int64_t>(*number);
  return n.set(
      Length{std::move(*dims), length.offset + (op == "Add" ? shift : -shift)});
}

/// Scores plus a bias; a mask added to the bias itself hides nothing else.
llvm::Error importRelativeSum(NodeImporter &n, const Operand &other,
                              const RelativeBias &bias) {
  if (const auto *mask = std::get_if<Uniform>(&other)) {
    if (mask->visible != 0 || mask->hidden > kHiddenScore)
      return n.fail("adds " + describe(other) + " to a bias by distance");
    return n.set(bias);
  }
  llvm::Expected<Activation> scores = n.activation(other);
  if (!scores)
    return scores.takeError();
  llvm::Expected<Activation> sum = addRelativeBias(n, *scores, bias);
  return sum ? n.set(*sum) : sum.takeError();
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

/// The tensor of the file that an operand is; null for others.
const Tensor *tensorOf(const Operand &operand) {
  if (const auto *host = std::get_if<HostTensor>(&operand))
    return host->tensor;
  const auto *constant = std::get_if<Constant>(&operand);
  return constant ? constant->tensor : nullptr;
}

/// The scale of DynamicQuantizeLinear times those of the weight, and that times
/// MatMulInteger. Gives false when the operands are none of these.
llvm::Expected<bool> importQuantizedProduct(NodeImporter &n) {
  for (size_t i : {0, 1}) {
    const auto *scale = n.as<DynamicScale>(i);
    const Operand &other = n.operand(1 - i);
    const auto *product = std::get_if<IntegerProduct>(&other);
    if (!scale)
      continue;
    if (!scale->weightScale && tensorOf(other)) {
      (void)n.set(DynamicScale{scale->input, tensorOf(other)});
      return true;
    }
    if (!scale->weightScale || !product)
      return n.fail("multiplies a scale of int8 activations by " +
                    describe(other));
    Constant weight = product->weight;
    weight.quantization =
        Quantization{scale->weightScale, product->zero, std::nullopt};
    llvm::Expected<Activation> result = multiply(n, product->input, weight);
    if (!result)
      return result.takeError();
    (void)n.set(*result);
    return true;
  }
  return false;
}

llvm::Error importBinary(NodeImporter &n, StringRef op) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  const Operand &lhs = n.operand(0), &rhs = n.operand(1);
  llvm::Expected<bool> isByDistance = importDistances(n, op);
  if (!isByDistance || *isByDistance)
    return isByDistance.takeError();
  for (size_t i : {0, 1}) {
    if (const auto *length = n.as<Length>(i))
      return importLength(n, op, *length, n.operand(1 - i), i == 0);
    const auto *bias = n.as<RelativeBias>(i);
    if (bias && op == "Add")
      return importRelativeSum(n, n.operand(1 - i), *bias);
  }
  if (op == "Mul") {
    llvm::Expected<bool> isDone = importQuantizedProduct(n);
    if (!isDone || *isDone)
      return isDone.takeError();
  }
  for (size_t i : {0, 1})
    if (const auto *index = n.as<Index>(i))
      return importIndex(n, op, *index, n.operand(1 - i), i == 0);
  if (!isMask(lhs) && !isMask(rhs)) {
    std::optional<HostTensor> left = toHost(lhs), right = toHost(rhs);
    auto result = left && right ? computeHost(op, *left, *right) : std::nullopt;
    if (result)
      return n.set(std::move(*result));
  }
  std::optional<Uniform> left = asUniform(lhs), right = asUniform(rhs);
  if (left && right && (isMask(lhs) || isMask(rhs)))
    return importUniform(n, op, *left, *right);
  if (isComparison(op) || op == "Max" || op == "Min" || op == "Pow")
    return n.fail("of " + describe(lhs) + " and " + describe(rhs) +
                  " is not supported");
  for (size_t i : {0, 1}) {
    const auto *value = n.as<Activation>(i);
    if (value && value->numerator && op == "Mul")
      return importProductWithReciprocal(n, n.operand(1 - i), *value);
  }
  const auto *divisor = std::get_if<Activation>(&rhs);
  if (op == "Div" && divisor && toScalar(lhs))
    return importReciprocal(n, *toScalar(lhs), *divisor);
  if (isMask(rhs))
    return importMasked(n, op, lhs, std::get<Uniform>(rhs));
  if (isMask(lhs) && (op == "Add" || op == "Mul"))
    return importMasked(n, op, rhs, std::get<Uniform>(lhs));
  return importArithmetic(n, op, lhs, rhs);
}

llvm::Error importBinaryByName(NodeImporter &n) {
  return importBinary(n, n.node.opType);
}

/// Powers that encoders use.
llvm::Error importPow(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  const auto *base = n.as<Activation>(0);
  std::optional<double> exponent = toScalar(n.operand(1));
  if (!base || !exponent)
    return importBinary(n, "Pow");
  llvm::Expected<Activation> value = n.activation(0);
  if (!value)
    return value.takeError();
  Value x = value->value;
  if (*exponent == 0.5)
    return n.setActivation(n.emit.unary<graph::SqrtOp>(x), value->dims);
  if (*exponent != 2 && *exponent != 3)
    return n.fail("has exponent " + describe(*exponent) +
                  ", allowed are 0.5, 2 and 3");
  Value square = n.emit.binary<graph::MulOp>(x, x);
  return n.setActivation(
      *exponent == 2 ? square : n.emit.binary<graph::MulOp>(square, x),
      value->dims);
}

/// The number of a known value or a mask; an error for others.
llvm::Error importHostUnary(NodeImporter &n) {
  StringRef op = n.node.opType;
  const Operand &input = n.operand(0);
  llvm::Expected<bool> isByDistance = importDistances(n, op);
  if (!isByDistance || *isByDistance)
    return isByDistance.takeError();
  if (const auto *mask = std::get_if<Uniform>(&input))
    return n.set(Uniform{mask->dims, computeReal(op, mask->visible),
                         computeReal(op, mask->hidden)});
  std::optional<HostTensor> host = toHost(input);
  std::optional<HostTensor> result =
      host ? computeHost(op, *host) : std::nullopt;
  if (!result)
    return n.fail("of " + describe(input) + " is not supported");
  return n.set(std::move(*result));
}

template <typename OpT>
llvm::Error importUnary(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  if (!n.as<Activation>(0) && isHostUnary(n.node.opType))
    return importHostUnary(n);
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  return n.setActivation(n.emit.unary<OpT>(input->value), input->dims);
}

llvm::Error importNeg(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  if (!n.as<Activation>(0))
    return importHostUnary(n);
  return importArithmetic(n, "Mul", n.operand(0),
                          HostTensor{{}, true, {}, {-1}});
}

llvm::Error importReciprocalOp(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  const auto *input = n.as<Activation>(0);
  return input ? importReciprocal(n, 1, *input) : importHostUnary(n);
}

llvm::Error importKnownUnary(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  return importHostUnary(n);
}

/// A row that sees no key gives zeros here, never NaN.
llvm::Error importIsNan(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  return n.set(Uniform{dimsOf(n.operand(0)), 0, 0});
}

/// Gelu of ai.onnx (opset 20) and com.microsoft; BiasGelu and FastGelu add a
/// bias first.
llvm::Error importGelu(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  llvm::Expected<Activation> input =
      n.has(1) ? combine(n, "Add", n.operand(0), n.operand(1))
               : n.activation(0);
  if (!input)
    return input.takeError();
  bool isTanh =
      n.node.opType == "FastGelu" || n.text("approximate", "none") == "tanh";
  Value result = isTanh ? n.emit.unary<graph::GeluTanhOp>(input->value)
                        : n.emit.unary<graph::GeluOp>(input->value);
  return n.setActivation(result, input->dims);
}

/// x * sigmoid(alpha * x)
llvm::Error importQuickGelu(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  Value scaled = n.emit.binary<graph::MulOp>(
      input->value, n.emit.constant(n.real("alpha", 1.702f)));
  Value gate = n.emit.unary<graph::SigmoidOp>(scaled);
  return n.setActivation(n.emit.binary<graph::MulOp>(input->value, gate),
                         input->dims);
}

//===----------------------------------------------------------------------===//
// Where
//===----------------------------------------------------------------------===//

/// Keeps one of the values for tokens. What padding would get must hide it.
llvm::Error importMaskedChoice(NodeImporter &n, const Uniform &condition) {
  const Operand &chosen = n.operand(condition.visible != 0 ? 1 : 2);
  const Operand &other = n.operand(condition.hidden != 0 ? 1 : 2);
  std::optional<Uniform> kept = asUniform(chosen), hidden = asUniform(other);
  std::optional<Dims> dims = broadcast(dimsOf(chosen), condition.dims);
  if (dims)
    dims = broadcast(*dims, dimsOf(n.operand(condition.visible != 0 ? 2 : 1)));
  if (!dims)
    return n.fail("has operands of different dimensions");
  if (kept && hidden)
    return n.set(Uniform{std::move(*dims), kept->visible, hidden->hidden});
  bool isSame = condition.visible == condition.hidden;
  bool hides =
      isSame ||
      (hidden && (hidden->hidden <= kHiddenScore || hidden->hidden == 0));
  if (!hides)
    return n.fail("gives padding " + describe(other) + ", allowed is at most " +
                  describe(kHiddenScore) + ", or 0");
  if (storedShape(*dims) != storedShape(dimsOf(chosen)))
    return n.fail("is wider than " + describe(chosen));
  return n.set(chosen);
}

llvm::Error importWhere(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(3))
    return error;
  llvm::Expected<bool> isByDistance = importDistances(n, "Where");
  if (!isByDistance || *isByDistance)
    return isByDistance.takeError();
  std::optional<HostTensor> condition = toHost(n.operand(0));
  std::optional<HostTensor> lhs = toHost(n.operand(1));
  std::optional<HostTensor> rhs = toHost(n.operand(2));
  if (condition && lhs && rhs)
    if (std::optional<HostTensor> result = selectHost(*condition, *lhs, *rhs))
      return n.set(std::move(*result));
  std::optional<Uniform> mask = asUniform(n.operand(0));
  if (!mask)
    return n.fail("chooses by " + describe(n.operand(0)) +
                  ", allowed are masks and known numbers");
  return importMaskedChoice(n, *mask);
}

constexpr OpEntry kOps[] = {
    {"", "Add", importBinaryByName},
    {"", "Sub", importBinaryByName},
    {"", "Mul", importBinaryByName},
    {"", "Div", importBinaryByName},
    {"", "Max", importBinaryByName},
    {"", "Min", importBinaryByName},
    {"", "Equal", importBinaryByName},
    {"", "Greater", importBinaryByName},
    {"", "GreaterOrEqual", importBinaryByName},
    {"", "Less", importBinaryByName},
    {"", "LessOrEqual", importBinaryByName},
    {"", "And", importBinaryByName},
    {"", "Or", importBinaryByName},
    {"", "Pow", importPow},
    {"", "Where", importWhere},
    {"", "Not", importKnownUnary},
    {"", "Abs", importKnownUnary},
    {"", "Log", importKnownUnary},
    {"", "Floor", importKnownUnary},
    {"", "Ceil", importKnownUnary},
    {"", "IsNaN", importIsNan},
    {"", "Neg", importNeg},
    {"", "Reciprocal", importReciprocalOp},
    {"", "Sqrt", importUnary<graph::SqrtOp>},
    {"", "Exp", importUnary<graph::ExpOp>},
    {"", "Erf", importUnary<graph::ErfOp>},
    {"", "Tanh", importUnary<graph::TanhOp>},
    {"", "Relu", importUnary<graph::ReluOp>},
    {"", "Sigmoid", importUnary<graph::SigmoidOp>},
    {"", "Gelu", importGelu},
    {"com.microsoft", "Gelu", importGelu},
    {"com.microsoft", "BiasGelu", importGelu},
    {"com.microsoft", "FastGelu", importGelu},
    {"com.microsoft", "QuickGelu", importQuickGelu},
};

} // namespace

llvm::Expected<Activation> combine(NodeImporter &n, StringRef op,
                                   const Operand &left, const Operand &right) {
  llvm::Expected<Activation> lhs = n.activation(left);
  if (!lhs)
    return lhs.takeError();
  llvm::Expected<Activation> rhs = n.activation(right);
  if (!rhs)
    return rhs.takeError();
  std::optional<Dims> dims = broadcast(lhs->dims, rhs->dims);
  if (!dims)
    return n.fail("can't combine " + describe(left) + " and " +
                  describe(right));
  llvm::Expected<SmallVector<int64_t>> shape = n.stored(*dims);
  if (!shape)
    return shape.takeError();
  llvm::Expected<Value> lhsValue = n.aligned(*lhs, *dims);
  if (!lhsValue)
    return lhsValue.takeError();
  llvm::Expected<Value> rhsValue = n.aligned(*rhs, *dims);
  if (!rhsValue)
    return rhsValue.takeError();
  Value result;
  if (GraphEmitter::shapeOf(*lhsValue) == ArrayRef(*shape))
    result = emitBinary(n.emit, op, *lhsValue, *rhsValue);
  else if (GraphEmitter::shapeOf(*rhsValue) == ArrayRef(*shape))
    result = emitExchanged(n.emit, op, *lhsValue, *rhsValue);
  if (!result)
    return n.fail("widens both operands, " + describe(left) + " and " +
                  describe(right) + ", or divides by the wider one");
  bool keepsZeros = op == "Mul" || op == "Div";
  return Activation{result, std::move(*dims),
                    keepsZeros && lhs->isBlockDiagonal, std::nullopt};
}

ArrayRef<OpEntry> elementwiseOps() { return kOps; }

} // namespace llmc::onnx
