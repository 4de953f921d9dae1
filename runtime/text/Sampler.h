// SPDX-License-Identifier: Apache-2.0
//
// Chooses the next token from logits.

#ifndef LLMC_RUNTIME_TEXT_SAMPLER_H
#define LLMC_RUNTIME_TEXT_SAMPLER_H

#include "runtime/format/Status.h"
#include "runtime/text/Random.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace llmc::text {

/// Applied in this order: repetition penalty, temperature, top-k, top-p.
struct SamplerOptions {
  /// 0: greedy. Otherwise logits are divided by it.
  float temperature = 0.0f;
  /// Only the k largest logits; 0: all.
  int32_t topK = 0;
  /// Only the fewest most probable tokens whose probabilities sum to at least
  /// this; 1: all.
  float topP = 1.0f;
  /// Positive logits of recent tokens are divided by it, others multiplied;
  /// 1: no penalty.
  float repetitionPenalty = 1.0f;
  /// How many accepted tokens count as recent.
  int32_t repetitionWindow = 64;
  uint64_t seed = 0;
};

/// Not thread-safe: it keeps recent tokens and the random state.
class Sampler {
public:
  /// InvalidArgument for options out of range: temperature < 0, top-k < 0,
  /// top-p not in (0, 1], penalty ≤ 0, window < 0.
  static Status check(const SamplerOptions &options);
  /// Fails as `check` does, and for a vocabulary < 1. Takes room for the whole
  /// vocabulary, unless all that is to do is to find the largest logit.
  static StatusOr<Sampler> create(const SamplerOptions &options,
                                  int32_t vocabularySize);

  /// Chooses an id below the vocabulary's size from `numLogits` logits; more
  /// than the vocabulary has are padding and are not looked at. Of equal logits
  /// the lowest id counts as the largest. Fails if there are fewer, or if one
  /// is not finite. The choice is not accepted automatically.
  StatusOr<int32_t> sample(const float *logits, size_t numLogits);

  /// Tells that `id` is now part of the text.
  void accept(int32_t id);

private:
  struct Candidate {
    int32_t id;
    double logit; // double: the penalty may not overflow
  };

  Sampler(const SamplerOptions &options, int32_t vocabularySize);

  bool isGreedy() const { return options.temperature == 0.0f; }
  bool penalizes() const { return options.repetitionPenalty != 1.0f; }
  void penalizeRecent();
  int32_t likeliest() const;
  void keepLikeliest();
  int32_t draw();

  SamplerOptions options;
  int32_t vocabularySize;
  Random random;
  /// At most a window of them; the oldest is replaced first.
  std::vector<int32_t> recent;
  size_t oldest = 0;
  /// Of one call; kept, so that a token costs no allocation.
  std::vector<Candidate> candidates;
  std::vector<double> cumulative;
  std::vector<int32_t> distinct;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_SAMPLER_H
