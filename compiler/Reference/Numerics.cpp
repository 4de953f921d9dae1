// SPDX-License-Identifier: Apache-2.0
//
// The formulas, loop by loop.

#include "compiler/Reference/Numerics.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace llmc::reference {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename Accumulator, typename Number>
double dotIn(const double *x, const Number *y, int64_t size) {
  Accumulator sum = 0;
  for (int64_t k = 0; k < size; ++k)
    sum += static_cast<Accumulator>(x[k]) * static_cast<Accumulator>(y[k]);
  return sum;
}

template <typename Accumulator>
double sumIn(const double *x, int64_t size, int64_t stride) {
  Accumulator sum = 0;
  for (int64_t k = 0; k < size; ++k)
    sum += static_cast<Accumulator>(x[k * stride]);
  return sum;
}

double sum(const double *x, int64_t size, Precision precision,
           int64_t stride = 1) {
  return precision == Precision::Double ? sumIn<double>(x, size, stride)
                                        : sumIn<float>(x, size, stride);
}

template <typename Number>
double dot(const double *x, const Number *y, int64_t size,
           Precision precision) {
  return precision == Precision::Double ? dotIn<double>(x, y, size)
                                        : dotIn<float>(x, y, size);
}

/// Row-major distances between neighbours; 0 for dimensions of size 1, which
/// broadcast. `rank` leading dimensions may be missing.
Shape broadcastStrides(llvm::ArrayRef<int64_t> shape, size_t rank) {
  Shape strides(rank, 0);
  int64_t stride = 1;
  for (size_t i = 1; i <= shape.size(); ++i) {
    int64_t size = shape[shape.size() - i];
    strides[rank - i] = size == 1 ? 0 : stride;
    stride *= size;
  }
  return strides;
}

/// Steps a multi-index through `shape` in row-major order.
void advance(Shape &index, llvm::ArrayRef<int64_t> shape) {
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (++index[dim] < shape[dim])
      return;
    index[dim] = 0;
  }
}

int64_t offsetOf(llvm::ArrayRef<int64_t> index,
                 llvm::ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (size_t dim = 0; dim < index.size(); ++dim)
    offset += index[dim] * strides[dim];
  return offset;
}

/// The shape that two broadcast shapes have together.
Shape broadcastShape(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs) {
  Shape shape(std::max(lhs.size(), rhs.size()), 1);
  for (llvm::ArrayRef<int64_t> part : {lhs, rhs})
    for (size_t i = 1; i <= part.size(); ++i)
      if (part[part.size() - i] != 1)
        shape[shape.size() - i] = part[part.size() - i];
  return shape;
}

/// softmax of one row in place.
void softmaxRow(double *row, int64_t size, Precision precision) {
  double most = *std::max_element(row, row + size);
  if (most == -kInfinity) {
    std::fill(row, row + size, 0.0);
    return;
  }
  for (int64_t i = 0; i < size; ++i)
    row[i] = std::exp(row[i] - most);
  double total = sum(row, size, precision);
  for (int64_t i = 0; i < size; ++i)
    row[i] /= total;
}

} // namespace

Tensor linear(const Tensor &input, int64_t outputs, RowReader rowOf,
              Precision precision) {
  int64_t size = input.shape.back();
  int64_t rows = numElements(input.shape) / std::max<int64_t>(size, 1);
  Tensor result(input.shape);
  result.shape.back() = outputs;
  result.values.resize(rows * outputs);
  llvm::parallelFor(0, outputs, [&](size_t n) {
    std::vector<float> weights(size);
    rowOf(n, weights.data());
    for (int64_t t = 0; t < rows; ++t)
      result.values[t * outputs + n] =
          dot(&input.values[t * size], weights.data(), size, precision);
  });
  return result;
}

Tensor embedding(const Tensor &tokens, int64_t size, RowReader rowOf) {
  Tensor result({tokens.shape[0], size});
  std::vector<float> row(size);
  for (int64_t t = 0; t < tokens.shape[0]; ++t) {
    rowOf(static_cast<int64_t>(tokens.values[t]), row.data());
    std::copy(row.begin(), row.end(), result.values.begin() + t * size);
  }
  return result;
}

Tensor matmul(const Tensor &lhs, const Tensor &rhs, bool transposeRhs,
              Precision precision) {
  if (!transposeRhs) {
    Shape permutation(rhs.shape.size());
    for (size_t i = 0; i < permutation.size(); ++i)
      permutation[i] = static_cast<int64_t>(i);
    std::swap(permutation[permutation.size() - 1],
              permutation[permutation.size() - 2]);
    return matmul(lhs, transpose(rhs, permutation), /*transposeRhs=*/true,
                  precision);
  }
  int64_t m = lhs.fromBack(2), k = lhs.fromBack(1), n = rhs.fromBack(2);
  llvm::ArrayRef<int64_t> lhsBatch = llvm::ArrayRef(lhs.shape).drop_back(2);
  llvm::ArrayRef<int64_t> rhsBatch = llvm::ArrayRef(rhs.shape).drop_back(2);
  Shape batch = broadcastShape(lhsBatch, rhsBatch);
  Shape lhsStrides = broadcastStrides(lhsBatch, batch.size());
  Shape rhsStrides = broadcastStrides(rhsBatch, batch.size());
  Shape shape = batch;
  shape.append({m, n});
  Tensor result(shape);
  Shape index(batch.size(), 0);
  for (int64_t b = 0; b < numElements(batch); ++b, advance(index, batch)) {
    const double *x = lhs.values.data() + offsetOf(index, lhsStrides) * m * k;
    const double *y = rhs.values.data() + offsetOf(index, rhsStrides) * n * k;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        result.values[(b * m + i) * n + j] =
            dot(x + i * k, y + j * k, k, precision);
  }
  return result;
}

Tensor broadcast(const Tensor &lhs, const Tensor &rhs,
                 llvm::function_ref<double(double, double)> function) {
  Tensor result(broadcastShape(lhs.shape, rhs.shape));
  Shape lhsStrides = broadcastStrides(lhs.shape, result.shape.size());
  Shape rhsStrides = broadcastStrides(rhs.shape, result.shape.size());
  Shape index(result.shape.size(), 0);
  for (double &value : result.values) {
    value = function(lhs.values[offsetOf(index, lhsStrides)],
                     rhs.values[offsetOf(index, rhsStrides)]);
    advance(index, result.shape);
  }
  return result;
}

Tensor map(const Tensor &input, llvm::function_ref<double(double)> function) {
  Tensor result(input.shape);
  std::transform(input.values.begin(), input.values.end(),
                 result.values.begin(), function);
  return result;
}

Tensor rmsNorm(const Tensor &input, const Tensor &gain, double epsilon,
               Precision precision) {
  int64_t size = input.shape.back();
  Tensor result = input;
  for (size_t row = 0; row < result.values.size(); row += size) {
    double *x = &result.values[row];
    double mean = dot(x, x, size, precision) / static_cast<double>(size);
    double scale = 1 / std::sqrt(mean + epsilon);
    for (int64_t i = 0; i < size; ++i)
      x[i] *= scale * gain.values[i];
  }
  return result;
}

Tensor layerNorm(const Tensor &input, const Tensor &gain, const Tensor *bias,
                 double epsilon, Precision precision) {
  int64_t size = input.shape.back();
  Tensor result = input;
  for (size_t row = 0; row < result.values.size(); row += size) {
    double *x = &result.values[row];
    double mean = sum(x, size, precision) / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i)
      x[i] -= mean;
    double variance = dot(x, x, size, precision) / static_cast<double>(size);
    double scale = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = 0; i < size; ++i)
      x[i] = x[i] * scale * gain.values[i] + (bias ? bias->values[i] : 0);
  }
  return result;
}

Tensor l2Normalize(const Tensor &input, double epsilon, Precision precision) {
  int64_t size = input.shape.back();
  Tensor result = input;
  for (size_t row = 0; row < result.values.size(); row += size) {
    double *x = &result.values[row];
    double length = std::sqrt(dot(x, x, size, precision));
    for (int64_t i = 0; i < size; ++i)
      x[i] /= std::max(length, epsilon);
  }
  return result;
}

Tensor reduceMean(const Tensor &input, Precision precision) {
  int64_t size = input.shape.back();
  Tensor result(input.shape);
  result.shape.back() = 1;
  result.values.resize(numElements(result.shape));
  for (size_t row = 0; row < result.values.size(); ++row)
    result.values[row] = sum(&input.values[row * size], size, precision) /
                         static_cast<double>(size);
  return result;
}

Tensor pool(const Tensor &input, const Tensor &spans, PoolMode mode,
            Precision precision) {
  int64_t texts = spans.shape[0], size = input.shape[1];
  Tensor result({texts, size});
  for (int64_t s = 0; s < texts; ++s) {
    auto begin = static_cast<int64_t>(spans.values[2 * s]);
    auto end = static_cast<int64_t>(spans.values[2 * s + 1]);
    if (begin >= end)
      continue;
    int64_t first = mode == PoolMode::Last ? end - 1 : begin;
    int64_t rows = mode == PoolMode::Mean ? end - begin : 1;
    for (int64_t i = 0; i < size; ++i)
      result.values[s * size + i] =
          sum(&input.values[first * size + i], rows, precision, size) /
          static_cast<double>(rows);
  }
  return result;
}

Tensor shortConv(const Tensor &input, const Tensor &taps, const Tensor &past,
                 llvm::function_ref<RowRange(int64_t row)> seen, int64_t ahead,
                 Precision precision) {
  int64_t rows = input.shape[0], channels = input.shape[1];
  int64_t count = taps.shape[0] / channels;
  auto at = [&](int64_t row, int64_t channel) {
    return row >= 0 ? input.values[row * channels + channel]
                    : past.values[(count - 1 + row) * channels + channel];
  };
  Tensor result(input.shape);
  std::vector<double> x(count);
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t j = 0; j < count; ++j) {
        int64_t row = t - count + 1 + ahead + j;
        x[j] = row >= seen(t).begin && row < seen(t).end ? at(row, c) : 0;
      }
      result.values[t * channels + c] =
          dot(x.data(), &taps.values[c * count], count, precision);
    }
  return result;
}

Tensor softmax(const Tensor &input, Precision precision) {
  Tensor result = input;
  int64_t size = input.shape.back();
  for (size_t row = 0; row < result.values.size(); row += size)
    softmaxRow(&result.values[row], size, precision);
  return result;
}

Tensor rotary(const Tensor &input, int64_t position,
              const RotaryParameters &parameters) {
  Tensor result = input;
  int64_t size = input.shape.back(), rows = input.shape.front();
  int64_t half = parameters.dim / 2;
  int64_t headsPerRow =
      numElements(input.shape) / std::max<int64_t>(rows, 1) / size;
  for (int64_t i = 0; i < half; ++i) {
    double frequency =
        std::pow(parameters.base, -2.0 * static_cast<double>(i) /
                                      static_cast<double>(parameters.dim));
    if (parameters.factors)
      frequency /= parameters.factors->values[i];
    int64_t first = parameters.adjacentPairs ? 2 * i : i;
    int64_t second = parameters.adjacentPairs ? 2 * i + 1 : i + half;
    for (int64_t head = 0; head < rows * headsPerRow; ++head) {
      int64_t t = head / headsPerRow;
      double place = parameters.positions ? parameters.positions->values[t]
                                          : static_cast<double>(position + t);
      double angle = place * parameters.positionScale * frequency;
      double x = input.values[head * size + first];
      double y = input.values[head * size + second];
      result.values[head * size + first] =
          x * std::cos(angle) - y * std::sin(angle);
      result.values[head * size + second] =
          x * std::sin(angle) + y * std::cos(angle);
    }
  }
  return result;
}

Tensor transpose(const Tensor &input, llvm::ArrayRef<int64_t> permutation) {
  Shape inputStrides(input.shape.size(), 1);
  for (size_t dim = input.shape.size(); dim-- > 1;)
    inputStrides[dim - 1] = inputStrides[dim] * input.shape[dim];
  Shape shape, strides;
  for (int64_t dim : permutation) {
    shape.push_back(input.shape[dim]);
    strides.push_back(inputStrides[dim]);
  }
  Tensor result(shape);
  Shape index(shape.size(), 0);
  for (double &value : result.values) {
    value = input.values[offsetOf(index, strides)];
    advance(index, shape);
  }
  return result;
}

Tensor concat(llvm::ArrayRef<Tensor> inputs, int64_t dim) {
  Tensor result(inputs.front().shape);
  int64_t outer = numElements(llvm::ArrayRef(result.shape).take_front(dim));
  result.shape[dim] = 0;
  for (const Tensor &input : inputs)
    result.shape[dim] += input.shape[dim];
  result.values.clear();
  for (int64_t i = 0; i < outer; ++i)
    for (const Tensor &input : inputs) {
      int64_t size = numElements(llvm::ArrayRef(input.shape).drop_front(dim));
      auto begin = input.values.begin() + i * size;
      result.values.insert(result.values.end(), begin, begin + size);
    }
  return result;
}

Tensor slice(const Tensor &input, int64_t dim, int64_t offset, int64_t size) {
  llvm::ArrayRef<int64_t> shape(input.shape);
  int64_t inner = numElements(shape.drop_front(dim + 1));
  int64_t outer = numElements(shape.take_front(dim));
  Tensor result(shape);
  result.shape[dim] = size;
  result.values.clear();
  for (int64_t i = 0; i < outer; ++i) {
    auto begin = input.values.begin() + (i * input.shape[dim] + offset) * inner;
    result.values.insert(result.values.end(), begin, begin + size * inner);
  }
  return result;
}

/// Whether row t may see key j: the causal rule, and of the keys that it leaves
/// the last `window`, when that is not 0.
static bool isBeforeRow(int64_t j, int64_t row, int64_t window) {
  return j <= row && (window == 0 || j > row - window);
}

Tensor causalMask(const Tensor &input, int64_t position, int64_t window) {
  Tensor result = input;
  int64_t rows = input.fromBack(2), keys = input.fromBack(1);
  for (size_t i = 0; i < result.values.size(); ++i) {
    int64_t j = static_cast<int64_t>(i) % keys;
    int64_t t = static_cast<int64_t>(i) / keys % rows;
    if (!isBeforeRow(j, position + t, window))
      result.values[i] = -kInfinity;
  }
  return result;
}

/// The bias of key j for row t and head h of `heads`.
static double relativeBiasOf(const Tensor &table, int64_t heads, int64_t h,
                             int64_t t, int64_t j) {
  int64_t span = (table.shape[0] / heads - 1) / 2;
  return table.values[(j - t + span) * heads + h];
}

Tensor relativeBias(const Tensor &input, const Tensor &table) {
  Tensor result = input;
  int64_t rows = input.fromBack(2), keys = input.fromBack(1);
  int64_t heads = numElements(llvm::ArrayRef(input.shape).drop_back(2));
  for (size_t i = 0; i < result.values.size(); ++i) {
    int64_t j = static_cast<int64_t>(i) % keys;
    int64_t t = static_cast<int64_t>(i) / keys % rows;
    int64_t h = static_cast<int64_t>(i) / keys / rows;
    result.values[i] += relativeBiasOf(table, heads, h, t, j);
  }
  return result;
}

Tensor rangeMask(const Tensor &input, const Tensor &ranges) {
  Tensor result = input;
  int64_t rows = input.fromBack(2), keys = input.fromBack(1);
  for (size_t i = 0; i < result.values.size(); ++i) {
    double j = static_cast<double>(static_cast<int64_t>(i) % keys);
    int64_t t = static_cast<int64_t>(i) / keys % rows;
    if (j < ranges.values[2 * t] || j >= ranges.values[2 * t + 1])
      result.values[i] = -kInfinity;
  }
  return result;
}

/// The score of key j for row t and head h of `heads`, from the product of
/// query and key.
static double sdpaScore(double product, int64_t t, int64_t heads, int64_t h,
                        int64_t j, const SdpaParameters &parameters) {
  bool isSeen = !parameters.causal ||
                isBeforeRow(j, parameters.position + t, parameters.window);
  if (const Tensor *ranges = parameters.ranges)
    isSeen &= j >= ranges->values[2 * t] && j < ranges->values[2 * t + 1];
  double score = parameters.scale * product;
  if (parameters.softCap != 0)
    score = parameters.softCap * std::tanh(score / parameters.softCap);
  if (const Tensor *bias = parameters.bias) {
    int64_t planes = bias->shape[1], row = t * planes + (planes == 1 ? 0 : h);
    double addend = bias->values[row * bias->shape[2] + j];
    isSeen &= addend >= kHiddenBias;
    score += addend;
  }
  if (const Tensor *table = parameters.relative)
    score += relativeBiasOf(*table, heads, h, t, j);
  return isSeen ? score : -kInfinity;
}

Tensor sdpa(const Tensor &query, const Tensor &key, const Tensor &value,
            const SdpaParameters &parameters, Precision precision) {
  int64_t rows = query.shape[0], heads = query.shape[1], dim = query.shape[2];
  int64_t keys = key.shape[0], kvHeads = key.shape[1];
  Tensor result(query.shape);
  std::vector<double> scores(keys), column(keys);
  for (int64_t row = 0; row < rows * heads; ++row) {
    int64_t t = row / heads, h = row % heads, kvHead = h / (heads / kvHeads);
    for (int64_t j = 0; j < keys; ++j) {
      const double *k = &key.values[(j * kvHeads + kvHead) * dim];
      scores[j] = sdpaScore(dot(&query.values[row * dim], k, dim, precision), t,
                            heads, h, j, parameters);
    }
    softmaxRow(scores.data(), keys, precision);
    for (int64_t i = 0; i < dim; ++i) {
      for (int64_t j = 0; j < keys; ++j)
        column[j] = value.values[(j * kvHeads + kvHead) * dim + i];
      result.values[row * dim + i] =
          dot(scores.data(), column.data(), keys, precision);
    }
  }
  return result;
}

QuantizedTensor quantize(const Tensor &input, int64_t group) {
  constexpr int64_t kSumColumns = 32;
  int64_t rows = input.shape[0], columns = input.shape[1];
  int64_t size = group == 0 ? columns : group;
  QuantizedTensor result = {Tensor(input.shape), Tensor({rows}),
                            Tensor({rows, columns / kSumColumns})};
  if (group != 0)
    result.scales = Tensor({rows, columns / group});
  // Rows of a cache may be of any length, and need no sums.
  const bool hasSums = columns % kSumColumns == 0;
  for (int64_t first = 0; first < rows * columns; first += size) {
    double largest = 0;
    for (int64_t i = first; i < first + size; ++i)
      largest = std::max(largest, std::abs(input.values[i]));
    double scale = largest / 127;
    result.scales.values[first / size] = scale;
    for (int64_t i = first; i < first + size; ++i) {
      // The rounding mode is to nearest, halves to even.
      double code = scale == 0 ? 0 : std::nearbyint(input.values[i] / scale);
      result.codes.values[i] = code;
      if (hasSums)
        result.sums.values[i / kSumColumns] += scale * code;
    }
  }
  return result;
}

Tensor dequantize(const Tensor &codes, const Tensor &scales) {
  int64_t size = numElements(codes.shape) /
                 std::max<int64_t>(numElements(scales.shape), 1);
  Tensor result = codes;
  for (size_t i = 0; i < result.values.size(); ++i)
    result.values[i] *= scales.values[i / size];
  return result;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double silu(double x) { return x / (1 + std::exp(-x)); }

double gelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }

double geluTanh(double x) {
  const double slope = std::sqrt(2 / M_PI);
  return x / 2 * (1 + std::tanh(slope * (x + 0.044715 * x * x * x)));
}

} // namespace llmc::reference
