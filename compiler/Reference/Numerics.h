// SPDX-License-Identifier: Apache-2.0
//
// The formulas of the graph ops on plain tensors. Simple on purpose: they are
// the oracle that fast code is held against. Callers guarantee the shapes that
// the ops' documentation asks for.

#ifndef LLMC_COMPILER_REFERENCE_NUMERICS_H
#define LLMC_COMPILER_REFERENCE_NUMERICS_H

#include "compiler/Reference/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace llmc::reference {

/// In which type sums are formed. Either way the order is that of the index.
enum class Precision { Double, Single };

/// Gives row `index` of a matrix that is not held in memory whole.
using RowReader = llvm::function_ref<void(int64_t index, float *row)>;

/// y[.., n] = sum over k of x[.., k] * row n [k], for `outputs` rows.
Tensor linear(const Tensor &input, int64_t outputs, RowReader rowOf,
              Precision precision);

/// y[t, :] = row tokens[t]; every token must be a row.
Tensor embedding(const Tensor &tokens, int64_t size, RowReader rowOf);

/// y[.., m, n] = sum over k of lhs[.., m, k] * rhs[.., k, n] (or [.., n, k]);
/// leading dimensions are equal, or 1 on one side.
Tensor matmul(const Tensor &lhs, const Tensor &rhs, bool transposeRhs,
              Precision precision);

/// Dimensions of size 1 and missing leading dimensions of rhs broadcast, and
/// dimensions of size 1 of lhs.
Tensor broadcast(const Tensor &lhs, const Tensor &rhs,
                 llvm::function_ref<double(double, double)> function);

Tensor map(const Tensor &input, llvm::function_ref<double(double)> function);

Tensor rmsNorm(const Tensor &input, const Tensor &gain, double epsilon,
               Precision precision);

/// Over the last dimension; a row of nothing but -inf gives zeros.
Tensor softmax(const Tensor &input, Precision precision);

struct RotaryParameters {
  bool adjacentPairs;
  double base;
  int64_t dim;
  double positionScale;
  /// [dim / 2] or null.
  const Tensor *factors;
};

/// input [rows, .., D]; row t is turned for position + t.
Tensor rotary(const Tensor &input, int64_t position,
              const RotaryParameters &parameters);

Tensor transpose(const Tensor &input, llvm::ArrayRef<int64_t> permutation);

Tensor slice(const Tensor &input, int64_t dim, int64_t offset, int64_t size);

/// [.., t, j] stays where j <= position + t (and j > position + t - window, if
/// that is not 0) and becomes -inf elsewhere.
Tensor causalMask(const Tensor &input, int64_t position, int64_t window);

/// A bias below this hides its key.
inline constexpr double kHiddenBias = -1e38;

/// The attributes and optional operands of graph.sdpa.
struct SdpaParameters {
  double scale = 1;
  bool causal = false;
  int64_t position = 0;
  /// 0: no window, no cap.
  int64_t window = 0;
  double softCap = 0;
  /// [rows, 1 or heads, keys or more], and [rows, 2]; or null.
  const Tensor *bias = nullptr, *ranges = nullptr;
};

/// query [rows, heads, D], key and value [keys, KV heads, D]
/// → [rows, heads, D].
Tensor sdpa(const Tensor &query, const Tensor &key, const Tensor &value,
            const SdpaParameters &parameters, Precision precision);

/// A tensor [rows, k] as codes -127 … 127 of the same shape, scales [rows]
/// (group 0) or [rows, k / group], and scale * sum of codes [rows, k / 32].
struct QuantizedTensor {
  Tensor codes, scales, sums;
};

/// scale = max |x| / 127 over a row (group 0) or `group` columns, code = x /
/// scale rounded, halves to even; zeros where the scale is 0.
QuantizedTensor quantize(const Tensor &input, int64_t group);

/// scale * code; `scales` as in QuantizedTensor.
Tensor dequantize(const Tensor &codes, const Tensor &scales);

double silu(double x);
double gelu(double x);
double geluTanh(double x);

} // namespace llmc::reference

#endif // LLMC_COMPILER_REFERENCE_NUMERICS_H
