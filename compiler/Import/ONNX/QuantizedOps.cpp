// SPDX-License-Identifier: Apache-2.0
//
// Weights of 8 and 4 bits. They stay so until the device; activations that the
// file quantizes while it runs stay floats in the graph, and the target says
// whether linears read them as int8.

#include "compiler/Import/ONNX/NodeImporter.h"

namespace llmc::onnx {

namespace {

bool isByte(DataType type) {
  return type == DataType::Int8 || type == DataType::UInt8;
}

/// The tensor of the file behind a scale or zero point.
const Tensor *parameter(NodeImporter &n, size_t index) {
  if (const auto *host = n.as<HostTensor>(index))
    return host->tensor;
  const auto *constant = n.as<Constant>(index);
  return constant && constant->firstElement == 0 && !constant->quantization
             ? constant->tensor
             : nullptr;
}

/// Known integers times a scale: biases of int32.
llvm::Error dequantizeHost(NodeImporter &n, const HostTensor &codes) {
  std::optional<HostTensor> scale = toHost(n.operand(1));
  bool fits = scale && scale->isReal &&
              (scale->size() == 1 || scale->size() == codes.size());
  if (!fits || codes.isReal)
    return n.fail("of " + describe(n.operand(0)) + " with scales " +
                  describe(n.operand(1)) + " is not supported");
  std::optional<double> zero =
      n.has(2) ? toScalar(n.operand(2)) : std::optional(0.0);
  if (!zero)
    return n.fail("of int32 with several zero points is not supported");
  HostTensor result{codes.shape, true, {}, {}};
  for (auto [index, code] : llvm::enumerate(codes.integers))
    result.reals.push_back(
        static_cast<float>((static_cast<double>(code.coefficient) - *zero) *
                           scale->reals[scale->size() == 1 ? 0 : index]));
  return n.set(std::move(result));
}

llvm::Error importDequantizeLinear(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  if (const auto *value = n.as<Activation>(0))
    return n.set(*value); // of QuantizeLinear
  if (n.integer("block_size", 0) != 0)
    return n.fail("with a block_size is not supported");
  const auto *codes = n.as<Constant>(0);
  if (!codes || !isByte(codes->tensor->type)) {
    std::optional<HostTensor> host = toHost(n.operand(0));
    if (host)
      return dequantizeHost(n, *host);
    return n.fail("of " + describe(n.operand(0)) +
                  " is not supported, allowed are INT8 and UINT8");
  }
  if (codes->shape.size() != 2) {
    std::optional<HostTensor> host = toHost(n.operand(0));
    if (host && codes->shape.size() == 1)
      return dequantizeHost(n, *host);
    return n.fail("of a constant of rank " + Twine(codes->shape.size()) +
                  " is not supported, allowed are 1 and 2");
  }
  const Tensor *scale = parameter(n, 1);
  const Tensor *zero = n.has(2) ? parameter(n, 2) : nullptr;
  if (n.has(2) && !zero)
    return n.fail("the zero point must be a tensor of the file");
  llvm::Expected<size_t> axis = n.axis(n.integer("axis", 1), 2);
  if (!axis)
    return axis.takeError();
  if (!scale)
    return n.fail("the scales must be a tensor of the file");
  Constant result = *codes;
  result.quantization =
      Quantization{scale, zero, codes->isTransposed ? 1 - *axis : *axis};
  return n.set(std::move(result));
}

/// The rounding of activations to a fixed grid is left out: they stay floats.
llvm::Error importQuantizeLinear(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  const auto *value = n.as<Activation>(0);
  if (!value)
    return n.fail("of " + describe(n.operand(0)) +
                  " is not supported, allowed are activations");
  return n.set(*value);
}

llvm::Error importDynamicQuantizeLinear(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  (void)n.set(DynamicCodes{*input}, 0);
  (void)n.set(DynamicScale{*input, nullptr}, 1);
  return n.set(DynamicZero{*input}, 2);
}

llvm::Error importMatMulInteger(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  const auto *codes = n.as<DynamicCodes>(0);
  const auto *weight = n.as<Constant>(1);
  if (!codes || !n.as<DynamicZero>(2))
    return n.fail("is supported for the results of DynamicQuantizeLinear");
  if (!weight || !isByte(weight->tensor->type) || weight->quantization ||
      weight->shape.size() != 2)
    return n.fail("is supported for a constant matrix of INT8 or UINT8");
  const Tensor *zero = n.has(3) ? parameter(n, 3) : nullptr;
  if (n.has(3) && !zero)
    return n.fail("the weight's zero point must be a tensor of the file");
  return n.set(IntegerProduct{codes->input, *weight, zero});
}

/// y = x * W^T, W of 4 bits in blocks along K.
llvm::Error importMatMulNBits(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(3))
    return error;
  int64_t columns = n.integer("K", 0), rows = n.integer("N", 0);
  int64_t bits = n.integer("bits", 4), group = n.integer("block_size", 0);
  bool isDivided = group == 32 || group == 64 || group % 128 == 0;
  if (bits != 4 || group < 1 || !isDivided)
    return n.fail("has " + Twine(bits) + " bits in blocks of " + Twine(group) +
                  ", allowed are 4 bits in blocks of 32, 64 or multiples of "
                  "128");
  constexpr int64_t kMaxSize = int64_t{1} << 24;
  if (rows < 1 || rows > kMaxSize || columns < 1 || columns > kMaxSize ||
      columns % group != 0)
    return n.fail("has N = " + Twine(rows) + " and K = " + Twine(columns) +
                  ", allowed are positive numbers, K a multiple of " +
                  Twine(group));
  if (n.has(4))
    return n.fail("with g_idx (reordered columns) is not supported");
  const Tensor *codes = parameter(n, 1), *scales = parameter(n, 2);
  const Tensor *zeros = n.has(3) ? parameter(n, 3) : nullptr;
  int64_t groups = columns / group;
  bool fits =
      codes && codes->type == DataType::UInt8 &&
      codes->numElements() == rows * columns / 2 && scales &&
      scales->numElements() == rows * groups &&
      (scales->type == DataType::Float || scales->type == DataType::Float16);
  bool zerosFit =
      !n.has(3) || (zeros && zeros->type == DataType::UInt8 &&
                    zeros->numElements() == rows * ((groups + 1) / 2));
  if (!fits || !zerosFit)
    return n.fail("B, scales or zero_points have another type or number of "
                  "elements than N, K and block_size say");
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  if (input->dims.empty() || input->dims.back().number() != columns)
    return n.fail("of " + describe(n.operand(0)) + ", but K is " +
                  Twine(columns));
  Value weight =
      n.emit.nbitsWeight(*codes, *scales, zeros, {rows, columns}, group);
  llvm::Expected<Activation> result = multiplyTurned(n, *input, weight);
  if (result && n.has(5))
    result = combine(n, "Add", *result, n.operand(5));
  return result ? n.set(*result) : result.takeError();
}

constexpr OpEntry kOps[] = {
    {"", "DequantizeLinear", importDequantizeLinear},
    {"", "QuantizeLinear", importQuantizeLinear},
    {"", "DynamicQuantizeLinear", importDynamicQuantizeLinear},
    {"", "MatMulInteger", importMatMulInteger},
    {"com.microsoft", "MatMulNBits", importMatMulNBits},
};

} // namespace

ArrayRef<OpEntry> quantizedOps() { return kOps; }

} // namespace llmc::onnx
