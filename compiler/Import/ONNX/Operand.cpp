// SPDX-License-Identifier: Apache-2.0

#include "compiler/Import/ONNX/Operand.h"

#include "dialects/Graph/Encoding.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

namespace llmc::onnx {

namespace endian = llvm::support::endian;

namespace {

constexpr int64_t kMaxIntegers = int64_t{1} << 20;
constexpr int64_t kMaxReals = 4096;

Dims toDims(ArrayRef<int64_t> shape) {
  Dims dims;
  for (int64_t size : shape)
    dims.push_back(Dim::of(size));
  return dims;
}

bool isRealType(DataType type) {
  return type == DataType::Float || type == DataType::Double ||
         type == DataType::Float16 || type == DataType::BFloat16;
}

double readReal(DataType type, const uint8_t *bytes) {
  switch (type) {
  case DataType::Double:
    return llvm::bit_cast<double>(endian::read64le(bytes));
  case DataType::Float16:
    return graph::halfToFloat(endian::read16le(bytes));
  case DataType::BFloat16:
    return llvm::bit_cast<float>(uint32_t{endian::read16le(bytes)} << 16);
  default:
    return llvm::bit_cast<float>(endian::read32le(bytes));
  }
}

int64_t readInteger(DataType type, const uint8_t *bytes) {
  switch (type) {
  case DataType::Int8:
    return static_cast<int8_t>(*bytes);
  case DataType::UInt8:
    return *bytes;
  case DataType::Bool:
    return *bytes != 0;
  case DataType::Int16:
    return static_cast<int16_t>(endian::read16le(bytes));
  case DataType::UInt16:
    return endian::read16le(bytes);
  case DataType::Int32:
    return static_cast<int32_t>(endian::read32le(bytes));
  case DataType::UInt32:
    return endian::read32le(bytes);
  default:
    return static_cast<int64_t>(endian::read64le(bytes));
  }
}

} // namespace

Dims dimsOf(const Operand &operand) {
  return std::visit(
      [](const auto &value) -> Dims {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, HostTensor> ||
                      std::is_same_v<T, Constant>)
          return toDims(value.shape);
        else if constexpr (std::is_same_v<T, DynamicCodes>)
          return value.input.dims;
        else if constexpr (std::is_same_v<T, DynamicScale> ||
                           std::is_same_v<T, DynamicZero>)
          return {};
        else if constexpr (std::is_same_v<T, IntegerProduct>) {
          Dims dims = value.input.dims;
          dims.back() = Dim::of(value.weight.shape.back());
          return dims;
        } else
          return value.dims;
      },
      operand);
}

std::string describe(const Operand &operand) {
  static constexpr const char *kKinds[] = {
      "known numbers",         "a constant",         "a mask",
      "token or position ids", "an activation",      "int8 codes",
      "an int8 scale",         "an int8 zero point", "an int32 product",
      "lengths of texts",      "distances of keys",  "a bias by distance"};
  return std::string(kKinds[operand.index()]) + " " +
         describe(ArrayRef<Dim>(dimsOf(operand)));
}

std::string describe(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", number + 0.0); // no -0
  return text;
}

double realAt(const Tensor &tensor, int64_t index) {
  return readReal(tensor.type,
                  tensor.bytes.data() + index * dataTypeBits(tensor.type) / 8);
}

std::optional<HostTensor> readHostTensor(const Tensor &tensor) {
  HostTensor result;
  result.shape.assign(tensor.shape.begin(), tensor.shape.end());
  result.isReal = isRealType(tensor.type);
  result.tensor = &tensor;
  int64_t count = tensor.numElements(), bytes = dataTypeBits(tensor.type) / 8;
  if (bytes == 0 || count > (result.isReal ? kMaxReals : kMaxIntegers))
    return std::nullopt;
  for (int64_t i = 0; i != count; ++i) {
    const uint8_t *element = tensor.bytes.data() + i * bytes;
    if (result.isReal)
      result.reals.push_back(readReal(tensor.type, element));
    else
      result.integers.push_back({readInteger(tensor.type, element), 0, 0});
  }
  return result;
}

Operand constantOperand(const Tensor &tensor) {
  bool isNumber = tensor.type == DataType::Int64 ||
                  tensor.type == DataType::Int32 ||
                  tensor.type == DataType::Bool ||
                  (isRealType(tensor.type) && tensor.numElements() == 1);
  if (isNumber)
    if (std::optional<HostTensor> host = readHostTensor(tensor))
      return *host;
  Constant constant;
  constant.tensor = &tensor;
  constant.shape.assign(tensor.shape.begin(), tensor.shape.end());
  return constant;
}

std::optional<HostTensor> toHost(const Operand &operand) {
  if (const auto *host = std::get_if<HostTensor>(&operand))
    return *host;
  const auto *constant = std::get_if<Constant>(&operand);
  if (!constant || constant->isTransposed || constant->quantization ||
      constant->firstElement != 0 ||
      constant->tensor->numElements() !=
          numElements(dimsOf(operand))->coefficient)
    return std::nullopt;
  std::optional<HostTensor> host = readHostTensor(*constant->tensor);
  if (host)
    host->shape = constant->shape;
  return host;
}

std::optional<double> toScalar(const Operand &operand) {
  if (const auto *uniform = std::get_if<Uniform>(&operand))
    return uniform->visible == uniform->hidden ? std::optional(uniform->visible)
                                               : std::nullopt;
  std::optional<HostTensor> host = toHost(operand);
  if (!host || host->size() == 0)
    return std::nullopt;
  if (host->isReal)
    return llvm::all_equal(host->reals) ? std::optional(host->reals.front())
                                        : std::nullopt;
  SymbolicInt first = host->integers.front();
  bool isNumber = first.isNumber() && llvm::all_equal(host->integers);
  return isNumber ? std::optional(static_cast<double>(first.coefficient))
                  : std::nullopt;
}

} // namespace llmc::onnx
