// SPDX-License-Identifier: Apache-2.0
//
// Sampling in double precision; all orders are total, so that a seed gives the
// same tokens everywhere.

#include "runtime/text/Sampler.h"

#include <algorithm>
#include <cmath>

namespace llmc::text {

namespace {

Status outOfRange(const char *option, const std::string &found,
                  const char *allowed) {
  return Status(StatusCode::InvalidArgument, std::string("sampler: ") + option +
                                                 " is " + found + ", allowed " +
                                                 allowed);
}

} // namespace

Status Sampler::check(const SamplerOptions &options) {
  // Written so that NaN fails.
  if (!(options.temperature >= 0.0f) || !std::isfinite(options.temperature))
    return outOfRange("temperature", std::to_string(options.temperature),
                      "are 0 (greedy) and above");
  if (options.topK < 0)
    return outOfRange("top-k", std::to_string(options.topK),
                      "are 0 (all) and above");
  if (!(options.topP > 0.0f && options.topP <= 1.0f))
    return outOfRange("top-p", std::to_string(options.topP),
                      "is more than 0 and at most 1");
  if (!(options.repetitionPenalty > 0.0f) ||
      !std::isfinite(options.repetitionPenalty))
    return outOfRange("repetition penalty",
                      std::to_string(options.repetitionPenalty),
                      "is more than 0");
  if (options.repetitionWindow < 0)
    return outOfRange("repetition window",
                      std::to_string(options.repetitionWindow),
                      "are 0 and above");
  return okStatus();
}

StatusOr<Sampler> Sampler::create(const SamplerOptions &options,
                                  int32_t vocabularySize) {
  LLMC_RETURN_IF_ERROR(check(options));
  if (vocabularySize < 1)
    return outOfRange("vocabulary size", std::to_string(vocabularySize),
                      "are 1 and above");
  return Sampler(options, vocabularySize);
}

Sampler::Sampler(const SamplerOptions &options, int32_t vocabularySize)
    : options(options), vocabularySize(vocabularySize), random(options.seed) {
  const size_t window = static_cast<size_t>(options.repetitionWindow),
               size = static_cast<size_t>(vocabularySize);
  if (penalizes()) {
    recent.reserve(window);
    distinct.reserve(window);
  }
  if (!isGreedy() || penalizes())
    candidates.reserve(size);
  if (!isGreedy())
    cumulative.reserve(size);
}

StatusOr<int32_t> Sampler::sample(const float *logits, size_t numLogits) {
  if (numLogits < static_cast<size_t>(vocabularySize))
    return Status(StatusCode::InvalidArgument,
                  "sampler: " + std::to_string(numLogits) +
                      " logits for a vocabulary of " +
                      std::to_string(vocabularySize));
  int32_t largest = 0;
  for (int32_t id = 0; id < vocabularySize; ++id) {
    if (!std::isfinite(logits[id]))
      return Status(StatusCode::NonFinite, "the logit of token " +
                                               std::to_string(id) + " is " +
                                               std::to_string(logits[id]) +
                                               ", expected a finite number");
    if (logits[id] > logits[largest])
      largest = id;
  }
  if (isGreedy() && !penalizes())
    return largest;
  candidates.clear();
  for (int32_t id = 0; id < vocabularySize; ++id)
    candidates.push_back({id, logits[id]});
  penalizeRecent();
  if (isGreedy())
    return likeliest();
  keepLikeliest();
  return draw();
}

int32_t Sampler::likeliest() const {
  return std::max_element(candidates.begin(), candidates.end(),
                          [](const Candidate &a, const Candidate &b) {
                            return a.logit < b.logit;
                          })
      ->id;
}

void Sampler::penalizeRecent() {
  if (!penalizes())
    return;
  distinct.assign(recent.begin(), recent.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (int32_t id : distinct) {
    double &logit = candidates[id].logit;
    logit = logit > 0.0 ? logit / options.repetitionPenalty
                        : logit * options.repetitionPenalty;
  }
}

void Sampler::keepLikeliest() {
  auto isLikelier = [](const Candidate &a, const Candidate &b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  if (options.topK > 0) {
    const size_t kept =
        std::min(candidates.size(), static_cast<size_t>(options.topK));
    // In order even if all are kept: what the device draws depends on it.
    std::partial_sort(candidates.begin(), candidates.begin() + kept,
                      candidates.end(), isLikelier);
    candidates.resize(kept);
  } else if (options.topP < 1.0f) {
    std::sort(candidates.begin(), candidates.end(), isLikelier);
  }
}

int32_t Sampler::draw() {
  double largest = candidates[0].logit;
  for (const Candidate &candidate : candidates)
    largest = std::max(largest, candidate.logit);
  cumulative.clear();
  double sum = 0.0;
  for (const Candidate &candidate : candidates) {
    sum += std::exp((candidate.logit - largest) / options.temperature);
    cumulative.push_back(sum);
  }
  if (options.topP < 1.0f) {
    // Candidates are in falling order here.
    auto enough = std::lower_bound(cumulative.begin(), cumulative.end(),
                                   options.topP * sum);
    if (enough != cumulative.end())
      cumulative.erase(enough + 1, cumulative.end());
  }
  double mark = random.nextUniform() * cumulative.back();
  size_t chosen = std::upper_bound(cumulative.begin(), cumulative.end(), mark) -
                  cumulative.begin();
  return candidates[std::min(chosen, cumulative.size() - 1)].id;
}

void Sampler::accept(int32_t id) {
  if (id < 0 || id >= vocabularySize)
    return;
  if (!penalizes() || options.repetitionWindow == 0)
    return;
  if (recent.size() < static_cast<size_t>(options.repetitionWindow)) {
    recent.push_back(id);
    return;
  }
  recent[oldest] = id;
  oldest = (oldest + 1) % recent.size();
}

} // namespace llmc::text
