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

/// (x - mean) / sqrt(variance + epsilon) * gain + bias over the last dimension;
/// no bias when it is null.
Tensor layerNorm(const Tensor &input, const Tensor &gain, const Tensor *bias,
                 double epsilon, Precision precision);

/// x / max(length, epsilon) over the last dimension.
Tensor l2Normalize(const Tensor &input, double epsilon, Precision precision);

/// Over the last dimension, which becomes 1.
Tensor reduceMean(const Tensor &input, Precision precision);

/// How rows of a text become one.
enum class PoolMode { Mean, First, Last };

/// input [rows, size], spans [texts, 2] of rows → [texts, size]; zeros where a
/// span is empty.
Tensor pool(const Tensor &input, const Tensor &spans, PoolMode mode,
            Precision precision);

/// Rows from `begin` to before `end`.
struct RowRange {
  int64_t begin, end;
};

/// y[t, c] = sum over j of taps[c * n + j] * x[t - n + 1 + ahead + j, c]. input
/// [rows, channels]; of other rows, those in `seen(t)` count, of which those
/// with negative indices are in `past` [n - 1, channels], the latest last.
Tensor shortConv(const Tensor &input, const Tensor &taps, const Tensor &past,
                 llvm::function_ref<RowRange(int64_t row)> seen, int64_t ahead,
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
  /// [rows] or null.
  const Tensor *positions = nullptr;
};

/// input [rows, .., D]; row t is turned for position + t, or positions[t].
Tensor rotary(const Tensor &input, int64_t position,
              const RotaryParameters &parameters);

Tensor transpose(const Tensor &input, llvm::ArrayRef<int64_t> permutation);

/// Behind one another along `dim`; the inputs' other sizes are equal.
Tensor concat(llvm::ArrayRef<Tensor> inputs, int64_t dim);

Tensor slice(const Tensor &input, int64_t dim, int64_t offset, int64_t size);

/// [.., t, j] stays where j <= position + t (and j > position + t - window, if
/// that is not 0) and becomes -inf elsewhere.
Tensor causalMask(const Tensor &input, int64_t position, int64_t window);

/// [.., t, j] stays where ranges[t, 0] <= j < ranges[t, 1] and becomes -inf
/// elsewhere.
Tensor rangeMask(const Tensor &input, const Tensor &ranges);

/// [h, t, j] + table[(j - t + span) * heads + h]; the heads are all dimensions
/// before the last two, rows and keys at most span + 1.
Tensor relativeBias(const Tensor &input, const Tensor &table);

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
  /// As in relativeBias, or null.
  const Tensor *relative = nullptr;
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

/// The `chosen` experts of a row with the highest scores, the highest first, of
/// equal ones the lower index first, and their shares of softmax(scores), which
/// add up to 1 when they are normalized. scores [rows, experts], both results
/// [rows, chosen].
struct Routes {
  Tensor weights, experts;
};
Routes route(const Tensor &scores, int64_t chosen, bool isNormalized,
             Precision precision);

/// y[t, j, n] = x[t, j] * row experts[t, j] * outputs + n, of a matrix of
/// `numExperts` times `outputs` rows; x is [rows, chosen, k] or [rows, k], the
/// same for all j. An expert beyond the last one counts as the last one.
Tensor expertLinear(const Tensor &input, const Tensor &experts,
                    int64_t numExperts, int64_t outputs, RowReader rowOf,
                    Precision precision);

/// y[t, :] = sum over j of weights[t, j] * x[t, j, :].
Tensor weightedSum(const Tensor &input, const Tensor &weights,
                   Precision precision);

double silu(double x);
double gelu(double x);
double geluTanh(double x);
double sigmoid(double x);

} // namespace llmc::reference

#endif // LLMC_COMPILER_REFERENCE_NUMERICS_H
