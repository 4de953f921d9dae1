// SPDX-License-Identifier: Apache-2.0
//
// The formulas of mixtures of experts (Numerics.h).

#include "compiler/Reference/Numerics.h"

#include <algorithm>
#include <numeric>

namespace llmc::reference {

Routes route(const Tensor &scores, int64_t chosen, bool isNormalized,
             Precision precision) {
  int64_t rows = scores.shape[0], numExperts = scores.shape[1];
  Tensor shares = softmax(scores, precision);
  Routes routes{Tensor({rows, chosen}), Tensor({rows, chosen})};
  std::vector<int64_t> order(numExperts);
  for (int64_t t = 0; t < rows; ++t) {
    const double *score = &scores.values[t * numExperts];
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return score[a] > score[b]; });
    double total = 0;
    for (int64_t j = 0; j < chosen; ++j) {
      double share = shares.values[t * numExperts + order[j]];
      routes.experts.values[t * chosen + j] = static_cast<double>(order[j]);
      routes.weights.values[t * chosen + j] = share;
      total += share;
    }
    for (int64_t j = 0; j < chosen && isNormalized; ++j)
      routes.weights.values[t * chosen + j] /= total;
  }
  return routes;
}

Tensor expertLinear(const Tensor &input, const Tensor &experts,
                    int64_t numExperts, int64_t outputs, RowReader rowOf,
                    Precision precision) {
  int64_t rows = experts.shape[0], chosen = experts.shape[1];
  int64_t size = input.shape.back();
  bool isShared = input.rank() == 2;
  Tensor result({rows, chosen, outputs});
  for (int64_t place = 0; place < rows * chosen; ++place) {
    auto expert = static_cast<int64_t>(experts.values[place]);
    if (expert < 0 || expert >= numExperts)
      expert = numExperts - 1;
    auto x = input.values.begin() + (isShared ? place / chosen : place) * size;
    Tensor y = linear(
        Tensor({1, size}, {x, x + size}), outputs,
        [&](int64_t n, float *row) { rowOf(expert * outputs + n, row); },
        precision);
    std::copy(y.values.begin(), y.values.end(),
              result.values.begin() + place * outputs);
  }
  return result;
}

Tensor weightedSum(const Tensor &input, const Tensor &weights,
                   Precision precision) {
  int64_t rows = input.shape[0], chosen = input.shape[1], size = input.shape[2];
  // [rows, 1, chosen] * [rows, chosen, size]
  Tensor result = matmul(Tensor({rows, 1, chosen}, weights.values), input,
                         /*transposeRhs=*/false, precision);
  result.shape = {rows, size};
  return result;
}

} // namespace llmc::reference
