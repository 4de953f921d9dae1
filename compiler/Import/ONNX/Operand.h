// SPDX-License-Identifier: Apache-2.0
//
// What a value of an ONNX graph is while the graph is imported. Most of an
// exported graph computes shapes, positions and masks; those are followed here,
// and only what is left becomes ops of the graph dialect.

#ifndef LLMC_COMPILER_IMPORT_ONNX_OPERAND_H
#define LLMC_COMPILER_IMPORT_ONNX_OPERAND_H

#include "compiler/Import/ONNX/OnnxReader.h"
#include "compiler/Import/ONNX/SymbolicShape.h"

#include "mlir/IR/Value.h"

#include <limits>
#include <variant>
#include <vector>

namespace llmc::onnx {

/// Numbers that are known, such as shapes, axes and scales.
struct HostTensor {
  SmallVector<int64_t, 4> shape;
  bool isReal = false;
  std::vector<SymbolicInt> integers;
  std::vector<double> reals;
  /// The tensor of the file that holds just these numbers; null for others.
  const Tensor *tensor = nullptr;

  size_t size() const { return isReal ? reals.size() : integers.size(); }
};

/// Codes of a quantized constant are (code - zero) * scale.
struct Quantization {
  /// Of one element, or one for each output.
  const Tensor *scale;
  /// As many, of the codes' type; null for zero.
  const Tensor *zero;
  /// The dimension of the file's matrix that the scales are for, where the file
  /// says it; else it is that of the outputs.
  std::optional<size_t> axis;
};

/// Numbers that stay in the file until the weight is packed: all of a tensor,
/// or one of its rows, or its rows from one on.
struct Constant {
  const Tensor *tensor = nullptr;
  SmallVector<int64_t, 4> shape;
  /// Elements of the tensor before the first one.
  int64_t firstElement = 0;
  /// Of a matrix: the shape is the tensor's, turned.
  bool isTransposed = false;
  std::optional<Quantization> quantization;
};

/// A tensor of one number for all tokens, and another one for padding: what is
/// computed from the attention mask alone. There is no padding in llmc, so the
/// first one counts; the second one tells whether it really is a mask.
struct Uniform {
  Dims dims;
  double visible = 0;
  double hidden = 0;
};

/// The number of tokens of each text, plus an offset: what is computed from
/// sums of the attention mask.
struct Length {
  Dims dims;
  int64_t offset = 0;
};

/// Of texts that relative positions are followed for; rows of the largest
/// bucket.
inline constexpr int64_t kLongestText = 512;

/// A number for each row and key, which depends on their distance key - row
/// alone: values[distance + kLongestText - 1]. The keys are the later dimension
/// of the two that have the sequence.
struct Distances {
  Dims dims;
  bool isReal = false;
  std::vector<double> values;
};

/// A bias for each head, row and key by their distance; `table` as
/// graph.relative_bias has it.
struct RelativeBias {
  mlir::Value table;
  Dims dims;
};

/// Integers per token: the tokens, or positions plus an offset.
struct Index {
  Value value;
  Dims dims;
  bool isPosition = false;
  int64_t offset = 0;
};

/// A tensor that is computed; `value` has the shape `storedShape(dims)`.
struct Activation {
  Value value;
  Dims dims;
  /// Zero where rows of two texts meet, as behind a masked softmax.
  bool isBlockDiagonal = false;
  /// Stands for numerator / value: a reciprocal, which only a product may read.
  std::optional<double> numerator;
};

/// Results of DynamicQuantizeLinear of `input`: codes, scale and zero point.
/// The input stays as it is, for the target chooses how it multiplies.
struct DynamicCodes {
  Activation input;
};
struct DynamicScale {
  Activation input;
  /// Times the weight's scales; null at first.
  const Tensor *weightScale = nullptr;
};
struct DynamicZero {
  Activation input;
};

/// MatMulInteger of dynamic codes and a constant, which lacks both scales.
struct IntegerProduct {
  Activation input;
  Constant weight;
  const Tensor *zero = nullptr;
};

using Operand = std::variant<HostTensor, Constant, Uniform, Index, Activation,
                             DynamicCodes, DynamicScale, DynamicZero,
                             IntegerProduct, Length, Distances, RelativeBias>;

/// The dimensions of any operand.
Dims dimsOf(const Operand &operand);

/// "a constant", "an activation [batch, sequence, 384]": for messages.
std::string describe(const Operand &operand);

/// A number for a message: "0.5", "-10000".
std::string describe(double number);

/// Integers and bools of at most 2^20 elements, floats of at most 4096, as
/// numbers; none for others. float16 and bfloat16 are converted exactly.
std::optional<HostTensor> readHostTensor(const Tensor &tensor);

/// What a tensor of the file is: numbers when they are integers or one real
/// number, else a constant that stays in the file.
Operand constantOperand(const Tensor &tensor);

/// The constant when it is small enough to be read, see above.
std::optional<HostTensor> toHost(const Operand &operand);

/// Element `index` of a tensor of reals.
double realAt(const Tensor &tensor, int64_t index);

/// The number of an operand of one element, or of which all are equal.
std::optional<double> toScalar(const Operand &operand);

} // namespace llmc::onnx

#endif // LLMC_COMPILER_IMPORT_ONNX_OPERAND_H
