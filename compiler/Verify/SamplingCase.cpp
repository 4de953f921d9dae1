// SPDX-License-Identifier: Apache-2.0
//
// runtime/text/Sampler chooses in doubles, the device in floats. So the penalty
// is a power of two, and of the sampler's draws only those count whose
// neighbours, and a little more or less of top-p, give the same token.

#include "compiler/Verify/SamplingCase.h"

#include "codegen/Lowering/SamplingKernels.h"
#include "dialects/Program/Program.h"
#include "dialects/Program/SelfTestFunctions.h"
#include "runtime/format/SelfTestFormula.h"
#include "runtime/text/Sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace llmc::verify {

using codegen::kNumSamplingWords;
using codegen::kNumTestedTokens;
using codegen::kSamplingRing;
using codegen::SamplingWord;
using serialization::SelfTestCase;
using serialization::SelfTestExpectation;
using serialization::SelfTestStep;

namespace {

constexpr int64_t kNumGreedy = kNumTestedTokens / 2;
constexpr int64_t kNumDrawn = kNumTestedTokens - kNumGreedy;
/// Places of rings are positions without their high bits.
constexpr int64_t kFirstPosition = kSamplingRing;
constexpr int32_t kWindow = 3;
constexpr float kPenalty = 2;
constexpr int32_t kTopK = 40;
constexpr float kTopP = 0.875F, kTopPMargin = 0.01F;
constexpr uint64_t kNumSeeds = 256;
constexpr double kDrawMargin = 1e-3;
/// Tokens that can be among the candidates whatever has a penalty.
constexpr size_t kMostLikely = 2 * kSamplingRing;

int32_t bitsOf(float number) {
  int32_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

/// A draw, and the place in the row that it chooses.
struct Trial {
  double draw;
  int32_t place;
};

class SamplingCaseMaker {
public:
  explicit SamplingCaseMaker(int64_t vocabularySize) {
    takeRow(static_cast<size_t>(vocabularySize));
  }

  std::optional<SelfTestCase> make();

private:
  void takeRow(size_t vocabularySize);
  std::vector<int32_t> ring() const;
  std::vector<int32_t> words(const text::SamplerOptions &options) const;
  std::optional<int32_t> sample(const text::SamplerOptions &options) const;
  std::optional<Trial> findDraw(double wanted) const;
  void addStep(const text::SamplerOptions &options, int32_t place);
  std::optional<SelfTestCase> finish();

  /// The likeliest tokens, and one whose logit is negative, by id. Others are
  /// never chosen, and the sampler need not look at them.
  std::vector<int32_t> ids;
  std::vector<float> logits;
  float temperature = 1;
  /// Places in the row, in the order of the text.
  std::vector<int32_t> recent;
  std::vector<int32_t> draws = std::vector<int32_t>(kSamplingRing, 0);
  std::vector<double> chosen;
  SelfTestCase result;
};

/// Recent are the likeliest token and the one whose negative logit is nearest
/// to zero: the penalty makes the first one small and the second one smaller.
void SamplingCaseMaker::takeRow(size_t vocabularySize) {
  uint32_t seed = format::selfTestSeed("logits", 0);
  auto logitOf = [&](int32_t id) {
    return format::selfTestInput(seed, static_cast<uint64_t>(id));
  };
  std::vector<int32_t> order(vocabularySize);
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int32_t one, int32_t other) {
    return std::pair(-logitOf(one), one) < std::pair(-logitOf(other), other);
  });
  auto negative =
      llvm::find_if(order, [&](int32_t id) { return logitOf(id) < 0; });
  ids.assign(order.begin(),
             order.begin() + std::min(order.size(), kMostLikely));
  if (negative - order.begin() >= static_cast<ptrdiff_t>(ids.size()) &&
      negative != order.end())
    ids.push_back(*negative);
  float spread = logitOf(ids.front()) -
                 logitOf(ids[std::min<size_t>(ids.size(), kTopK) / 2]);
  temperature = spread > 0 ? spread / 2 : 1;
  llvm::sort(ids);
  for (int32_t id : ids)
    logits.push_back(logitOf(id));
  for (int32_t id :
       {order.front(), negative != order.end() ? *negative : order.front()})
    recent.push_back(static_cast<int32_t>(llvm::find(ids, id) - ids.begin()));
}

/// The input `recent` when a part of the steps begins.
std::vector<int32_t> SamplingCaseMaker::ring() const {
  std::vector<int32_t> places(kSamplingRing, -1);
  size_t count = std::min<size_t>(recent.size(), kWindow);
  for (size_t i = 0; i < count; ++i)
    places[i] = ids[static_cast<size_t>(recent[recent.size() - count + i])];
  return places;
}

/// The input `sampling` then.
std::vector<int32_t>
SamplingCaseMaker::words(const text::SamplerOptions &options) const {
  std::vector<int32_t> words(kNumSamplingWords, 0);
  auto word = [&](SamplingWord number) -> int32_t & {
    return words[static_cast<size_t>(number)];
  };
  word(SamplingWord::Temperature) = bitsOf(options.temperature);
  word(SamplingWord::Candidates) = options.temperature == 0 ? 1 : options.topK;
  word(SamplingWord::TopP) = bitsOf(options.topP);
  word(SamplingWord::Penalty) = bitsOf(options.repetitionPenalty);
  word(SamplingWord::Window) = options.repetitionWindow;
  word(SamplingWord::Next) =
      static_cast<int32_t>(std::min<size_t>(recent.size(), kWindow) % kWindow);
  return words;
}

/// A place in the row.
std::optional<int32_t>
SamplingCaseMaker::sample(const text::SamplerOptions &options) const {
  auto sampler =
      text::Sampler::create(options, static_cast<int32_t>(ids.size()));
  if (!sampler.ok())
    return std::nullopt;
  for (int32_t place : recent)
    sampler->accept(place);
  auto place = sampler->sample(logits.data(), logits.size());
  return place.ok() ? std::optional<int32_t>(*place) : std::nullopt;
}

text::SamplerOptions greedyOptions() {
  text::SamplerOptions options;
  options.repetitionPenalty = kPenalty;
  options.repetitionWindow = kWindow;
  return options;
}

text::SamplerOptions drawingOptions(float temperature) {
  text::SamplerOptions options = greedyOptions();
  options.temperature = temperature;
  options.topK = kTopK;
  options.topP = kTopP;
  return options;
}

/// Of the draws that are far from others' tokens, the one nearest to |wanted|.
std::optional<Trial> SamplingCaseMaker::findDraw(double wanted) const {
  std::vector<Trial> trials;
  text::SamplerOptions options = drawingOptions(temperature);
  for (options.seed = 0; options.seed < kNumSeeds; ++options.seed) {
    Trial trial{text::Random(options.seed).nextUniform(), -1};
    options.topP = kTopP;
    auto place = sample(options);
    for (float other : {kTopP - kTopPMargin, kTopP + kTopPMargin}) {
      options.topP = other;
      if (place && sample(options) != place)
        place.reset();
    }
    trial.place = place.value_or(-1);
    trials.push_back(trial);
  }
  llvm::sort(trials, [](const Trial &one, const Trial &other) {
    return one.draw < other.draw;
  });
  std::optional<Trial> best;
  for (size_t i = 1; i + 1 < trials.size(); ++i) {
    const Trial &before = trials[i - 1], &one = trials[i],
                &behind = trials[i + 1];
    if (one.place < 0 || before.place != one.place ||
        behind.place != one.place || one.draw - before.draw < kDrawMargin ||
        behind.draw - one.draw < kDrawMargin)
      continue;
    if (!best || std::abs(one.draw - wanted) < std::abs(best->draw - wanted))
      best = one;
  }
  return best;
}

/// Only the first step of a part gives the inputs; the device goes on with what
/// it made of them.
void SamplingCaseMaker::addStep(const text::SamplerOptions &options,
                                int32_t place) {
  auto number = static_cast<int64_t>(chosen.size());
  SelfTestStep step{kFirstPosition + number, /*rows=*/1, {}};
  bool begins = number == 0 || number == kNumGreedy;
  step.indices["sampling"] = begins ? words(options) : std::vector<int32_t>();
  step.indices["recent"] = begins ? ring() : std::vector<int32_t>();
  // The formula gives them in the first one.
  if (number > 0)
    step.indices["logits"] = {};
  step.indices["draws"] = {};
  result.steps.push_back(std::move(step));
  recent.push_back(place);
  chosen.push_back(ids[static_cast<size_t>(place)]);
}

std::optional<SelfTestCase> SamplingCaseMaker::finish() {
  result.function = program::kSamplingTest.str();
  result.steps.front().indices["draws"] = draws;
  SelfTestExpectation tokens{"chosen", /*rows=*/1, /*block=*/1, {}, 0.5F};
  for (size_t i = 0; i < chosen.size(); ++i)
    tokens.sums.push_back(static_cast<float>(
        format::selfTestSum(chosen.data(), chosen.size(), 1, i)));
  SelfTestExpectation last{"tokens", /*rows=*/1, /*block=*/1, {}, 0.5F};
  last.sums.push_back(
      static_cast<float>(format::selfTestSum(&chosen.back(), 1, 1, 0)));
  result.expectations = {std::move(tokens), std::move(last)};
  return std::move(result);
}

std::optional<SelfTestCase> SamplingCaseMaker::make() {
  text::SamplerOptions greedy = greedyOptions();
  for (int64_t i = 0; i < kNumGreedy; ++i) {
    std::optional<int32_t> place = sample(greedy);
    if (!place)
      return std::nullopt;
    addStep(greedy, *place);
  }
  for (int64_t i = 0; i < kNumDrawn; ++i) {
    double wanted =
        (static_cast<double>(i) + 0.5) / static_cast<double>(kNumDrawn);
    std::optional<Trial> trial = findDraw(wanted);
    if (!trial)
      return std::nullopt;
    draws[chosen.size()] = bitsOf(static_cast<float>(trial->draw));
    addStep(drawingOptions(temperature), trial->place);
  }
  return finish();
}

} // namespace

std::optional<SelfTestCase> makeSamplingCase(int64_t vocabularySize) {
  if (vocabularySize < kNumTestedTokens)
    return std::nullopt;
  return SamplingCaseMaker(vocabularySize).make();
}

std::optional<SelfTestCase> makeSamplingCase(ModuleOp module) {
  for (auto entry : module.getOps<program::EntryOp>())
    if (entry.getFunction() == program::kSamplingTest)
      for (auto slice : entry.getBody().getOps<program::SliceOp>())
        if (slice.getStorage() == program::Storage::Input &&
            slice.getSymbol() == "logits")
          return makeSamplingCase(slice.getRowElements());
  return std::nullopt;
}

} // namespace llmc::verify
