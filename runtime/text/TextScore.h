// SPDX-License-Identifier: Apache-2.0
//
// How well logits predict a text, and how far two models' logits are apart.

#ifndef LLMC_RUNTIME_TEXT_TEXTSCORE_H
#define LLMC_RUNTIME_TEXT_TEXTSCORE_H

#include <cstddef>
#include <cstdint>

namespace llmc::text {

/// Sums over the tokens of a text; natural logarithms.
class TextScore {
public:
  /// Adds one prediction: |size| finite logits, and the token that came, one of
  /// them.
  void add(const float *logits, size_t size, int32_t token);
  /// Adds a prediction of two models: |logits| as above, and those of the
  /// |other| one, to which the first is compared.
  void add(const float *logits, const float *other, size_t size, int32_t token);

  size_t numTokens() const { return count; }
  /// exp of the mean of -log p(token).
  double perplexity() const;
  double otherPerplexity() const;
  /// Mean and largest of sum p log(p / q), p of the other model, q of this one.
  double meanDivergence() const;
  double largestDivergence() const { return mostDivergence; }
  /// Part of the predictions whose best id is the other model's.
  double sameBest() const;

private:
  size_t count = 0, numSameBest = 0;
  double surprise = 0, otherSurprise = 0, divergence = 0, mostDivergence = 0;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_TEXTSCORE_H
