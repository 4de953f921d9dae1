// SPDX-License-Identifier: Apache-2.0
//
// Probabilities are taken relative to the largest logit, so that no exponential
// overflows, and summed in double.

#include "runtime/text/TextScore.h"

#include <algorithm>
#include <cmath>

namespace llmc::text {

/// The logarithm of the sum of the exponentials.
static double logOfSum(const float *logits, size_t size) {
  const double largest = *std::max_element(logits, logits + size);
  double sum = 0;
  for (size_t i = 0; i < size; ++i)
    sum += std::exp(logits[i] - largest);
  return largest + std::log(sum);
}

void TextScore::add(const float *logits, size_t size, int32_t token) {
  ++count;
  surprise += logOfSum(logits, size) - logits[token];
}

void TextScore::add(const float *logits, const float *other, size_t size,
                    int32_t token) {
  const double total = logOfSum(logits, size),
               otherTotal = logOfSum(other, size);
  ++count;
  surprise += total - logits[token];
  otherSurprise += otherTotal - other[token];
  double sum = 0;
  for (size_t i = 0; i < size; ++i) {
    const double logP = other[i] - otherTotal;
    sum += std::exp(logP) * (logP - (logits[i] - total));
  }
  divergence += sum;
  mostDivergence = std::max(mostDivergence, sum);
  if (std::max_element(logits, logits + size) - logits ==
      std::max_element(other, other + size) - other)
    ++numSameBest;
}

double TextScore::perplexity() const {
  return std::exp(surprise / static_cast<double>(count));
}

double TextScore::otherPerplexity() const {
  return std::exp(otherSurprise / static_cast<double>(count));
}

double TextScore::meanDivergence() const {
  return divergence / static_cast<double>(count);
}

double TextScore::sameBest() const {
  return static_cast<double>(numSameBest) / static_cast<double>(count);
}

} // namespace llmc::text
