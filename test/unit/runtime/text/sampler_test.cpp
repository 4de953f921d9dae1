// SPDX-License-Identifier: Apache-2.0
//
// The sampler: which ids may come out, in which proportion, and that a seed
// decides everything.

#include "runtime/text/Sampler.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

namespace {

using llmc::StatusCode;
using llmc::text::Random;
using llmc::text::Sampler;
using llmc::text::SamplerOptions;
using testing::ElementsAre;
using testing::HasSubstr;

Sampler makeSampler(const SamplerOptions &options, int32_t vocabularySize) {
  auto sampler = Sampler::create(options, vocabularySize);
  EXPECT_TRUE(sampler.ok()) << sampler.status().message();
  return *sampler;
}

int32_t sample(Sampler &sampler, const std::vector<float> &logits) {
  auto id = sampler.sample(logits.data(), logits.size());
  EXPECT_TRUE(id.ok()) << id.status().message();
  return id.ok() ? *id : -1;
}

/// How often each id comes out.
std::map<int32_t, int> histogram(Sampler &sampler,
                                 const std::vector<float> &logits, int draws) {
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i)
    ++counts[sample(sampler, logits)];
  return counts;
}

std::vector<int32_t> idsOf(const std::map<int32_t, int> &counts) {
  std::vector<int32_t> ids;
  for (auto [id, count] : counts)
    ids.push_back(id);
  return ids;
}

TEST(Random, IsPcg32) {
  // The reference implementation's demo: seed 42, stream 54.
  Random random(42, 54);
  for (uint32_t expected : {0xa15c02b7u, 0x7b47f409u, 0xba1d3330u, 0x83d2f293u,
                            0xbfa4784bu, 0xcbed606eu})
    EXPECT_EQ(random.next(), expected);
}

TEST(Random, UniformIsBelowOne) {
  Random random(7);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    double value = random.nextUniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

/// All true logits are negative, so that padding rows of zeros would win.
class PaddedVocabulary : public testing::TestWithParam<int32_t> {
protected:
  std::vector<float> logits() const {
    std::vector<float> values((GetParam() + 63) / 64 * 64 + 64, 0.0f);
    for (int32_t i = 0; i < GetParam(); ++i)
      values[i] = -static_cast<float>(1 + std::min(std::abs(i - 777), 1000));
    return values;
  }
};

TEST_P(PaddedVocabulary, GreedyIgnoresPadding) {
  Sampler sampler = makeSampler({}, GetParam());
  EXPECT_EQ(sample(sampler, logits()), 777);
}

TEST_P(PaddedVocabulary, TopFiveIgnoresPadding) {
  SamplerOptions options;
  options.temperature = 1.0f;
  options.topK = 5;
  Sampler sampler = makeSampler(options, GetParam());
  EXPECT_THAT(idsOf(histogram(sampler, logits(), 1000)),
              ElementsAre(775, 776, 777, 778, 779));
}

TEST_P(PaddedVocabulary, DrawsStayBelowTheVocabulary) {
  SamplerOptions options;
  options.temperature = 2.0f;
  Sampler sampler = makeSampler(options, GetParam());
  std::map<int32_t, int> counts = histogram(sampler, logits(), 200);
  EXPECT_LT(counts.rbegin()->first, GetParam());
  // p(777) = (1 − r) / (1 + r) with r = exp(−1/2), here ± 4 deviations.
  EXPECT_NEAR(counts[777], 49, 25);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PaddedVocabulary,
                         testing::Values(1003, 32001, 50257, 151669));

TEST(Sampler, TheLowestIdWinsTies) {
  Sampler greedy = makeSampler({}, 4);
  EXPECT_EQ(sample(greedy, {1, 3, 3, 2}), 1);
  SamplerOptions options;
  options.temperature = 1.0f;
  options.topK = 1;
  Sampler one = makeSampler(options, 4);
  EXPECT_EQ(sample(one, {1, 3, 3, 2}), 1);
}

TEST(Sampler, TopPKeepsTheFewestThatSuffice) {
  std::vector<float> logits;
  for (double p : {0.05, 0.5, 0.15, 0.3})
    logits.push_back(static_cast<float>(std::log(p)));
  SamplerOptions options;
  options.temperature = 1.0f;
  options.topP = 0.79f;
  Sampler two = makeSampler(options, 4);
  EXPECT_THAT(idsOf(histogram(two, logits, 500)), ElementsAre(1, 3));
  options.topP = 0.81f;
  Sampler three = makeSampler(options, 4);
  EXPECT_THAT(idsOf(histogram(three, logits, 500)), ElementsAre(1, 2, 3));
  options.topP = 1e-6f;
  Sampler one = makeSampler(options, 4);
  EXPECT_THAT(idsOf(histogram(one, logits, 500)), ElementsAre(1));
}

TEST(Sampler, TopPCountsWithinTopK) {
  // Of the two largest, 0.5 and 0.3, the first has 0.625.
  SamplerOptions options;
  options.temperature = 1.0f;
  options.topK = 2;
  options.topP = 0.6f;
  Sampler sampler = makeSampler(options, 3);
  std::vector<float> logits;
  for (double p : {0.5, 0.3, 0.2})
    logits.push_back(static_cast<float>(std::log(p)));
  EXPECT_THAT(idsOf(histogram(sampler, logits, 500)), ElementsAre(0));
}

TEST(Sampler, TemperatureDividesLogits) {
  // exp(ln 9 / 2) = 3: three quarters.
  SamplerOptions options;
  options.temperature = 2.0f;
  Sampler sampler = makeSampler(options, 2);
  std::map<int32_t, int> counts =
      histogram(sampler, {static_cast<float>(std::log(9.0)), 0.0f}, 4000);
  EXPECT_NEAR(counts[0], 3000, 110);
}

TEST(Sampler, ExtremeLogitsAreFine) {
  SamplerOptions options;
  options.temperature = 1e-30f;
  options.repetitionPenalty = 1e-30f;
  Sampler sampler = makeSampler(options, 3);
  sampler.accept(1);
  float most = std::numeric_limits<float>::max();
  EXPECT_EQ(sample(sampler, {-most, most, 0}), 1);
}

TEST(Sampler, PenaltyLowersRecentTokens) {
  SamplerOptions options;
  options.repetitionPenalty = 2.0f;
  options.repetitionWindow = 2;
  Sampler sampler = makeSampler(options, 2);
  std::vector<float> positive = {2.0f, 1.5f}, negative = {-1.0f, -1.5f};
  EXPECT_EQ(sample(sampler, positive), 0);
  sampler.accept(0);
  EXPECT_EQ(sample(sampler, positive), 1);
  EXPECT_EQ(sample(sampler, negative), 1);
  // Twice in the window is no more than once.
  sampler.accept(0);
  EXPECT_EQ(sample(sampler, {3.5f, 1.5f}), 0);
  // Out of the window.
  sampler.accept(1);
  sampler.accept(1);
  EXPECT_EQ(sample(sampler, {2.0f, 2.5f}), 0);
}

TEST(Sampler, TheSeedDecides) {
  std::vector<float> logits(100);
  for (int i = 0; i < 100; ++i)
    logits[i] = static_cast<float>(i % 7);
  auto sequence = [&](uint64_t seed) {
    SamplerOptions options;
    options.temperature = 1.0f;
    options.seed = seed;
    Sampler sampler = makeSampler(options, 100);
    std::vector<int32_t> ids;
    for (int i = 0; i < 50; ++i)
      ids.push_back(sample(sampler, logits));
    return ids;
  };
  EXPECT_EQ(sequence(1), sequence(1));
  EXPECT_NE(sequence(1), sequence(2));
}

TEST(Sampler, RefusesLogitsThatAreNotFinite) {
  Sampler sampler = makeSampler({}, 3);
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits = {0, bad, 1};
    auto id = sampler.sample(logits.data(), logits.size());
    ASSERT_FALSE(id.ok());
    EXPECT_EQ(id.status().code(), StatusCode::NonFinite);
    EXPECT_THAT(id.status().message(), HasSubstr("token 1"));
  }
}

TEST(Sampler, RefusesTooFewLogits) {
  Sampler sampler = makeSampler({}, 3);
  std::vector<float> logits = {0, 1};
  auto id = sampler.sample(logits.data(), logits.size());
  ASSERT_FALSE(id.ok());
  EXPECT_THAT(id.status().message(), HasSubstr("2 logits"));
}

TEST(Sampler, RefusesOptionsOutOfRange) {
  auto refusal = [](void (*change)(SamplerOptions &), int32_t size = 10) {
    SamplerOptions options;
    change(options);
    auto sampler = Sampler::create(options, size);
    return sampler.ok() ? std::string() : sampler.status().message();
  };
  using Options = SamplerOptions;
  EXPECT_THAT(refusal([](Options &o) { o.temperature = -1; }),
              HasSubstr("temperature is -1"));
  EXPECT_THAT(refusal([](Options &o) { o.temperature = NAN; }),
              HasSubstr("temperature is nan"));
  EXPECT_THAT(refusal([](Options &o) { o.topK = -1; }), HasSubstr("top-k"));
  EXPECT_THAT(refusal([](Options &o) { o.topP = 0; }), HasSubstr("top-p"));
  EXPECT_THAT(refusal([](Options &o) { o.topP = 1.5f; }), HasSubstr("top-p"));
  EXPECT_THAT(refusal([](Options &o) { o.repetitionPenalty = 0; }),
              HasSubstr("repetition penalty"));
  EXPECT_THAT(refusal([](Options &o) { o.repetitionWindow = -1; }),
              HasSubstr("repetition window"));
  EXPECT_THAT(refusal([](Options &) {}, 0), HasSubstr("vocabulary size"));
}

} // namespace
