// SPDX-License-Identifier: Apache-2.0
//
// The steps of the choice of tokens, against the formulas written out.

#include "compiler/Verify/SamplingCase.h"

#include "runtime/format/SelfTestFormula.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

namespace llmc::verify {
namespace {

using serialization::SelfTestCase;

std::vector<float> logitsOf(int64_t vocabularySize) {
  std::vector<float> logits;
  uint32_t seed = format::selfTestSeed("logits", 0);
  for (int64_t id = 0; id < vocabularySize; ++id)
    logits.push_back(format::selfTestInput(seed, static_cast<uint64_t>(id)));
  return logits;
}

float floatOf(int32_t bits) {
  float number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

/// Without the signs of sums.
std::vector<int32_t> chosenBy(const SelfTestCase &one) {
  std::vector<int32_t> tokens;
  const std::vector<float> &sums = one.expectations.at(0).sums;
  for (size_t i = 0; i < sums.size(); ++i)
    tokens.push_back(static_cast<int32_t>(sums[i] * format::selfTestSign(i)));
  return tokens;
}

/// The ids by logit, of which those in |recent| have a penalty of 2.
std::vector<std::pair<double, int32_t>>
inOrder(std::vector<float> logits, const std::deque<int32_t> &recent) {
  std::vector<std::pair<double, int32_t>> order;
  for (int32_t id = 0; id < static_cast<int32_t>(logits.size()); ++id) {
    double logit = logits[static_cast<size_t>(id)];
    if (std::count(recent.begin(), recent.end(), id))
      logit = logit > 0 ? logit / 2 : logit * 2;
    order.push_back({-logit, id});
  }
  std::sort(order.begin(), order.end());
  return order;
}

class SamplingCaseOf : public testing::TestWithParam<int64_t> {};

TEST_P(SamplingCaseOf, choosesByTheFormulas) {
  std::vector<float> logits = logitsOf(GetParam());
  auto made = makeSamplingCase(GetParam());
  ASSERT_TRUE(made);
  ASSERT_EQ(made->steps.size(), 8u);
  std::vector<int32_t> chosen = chosenBy(*made);
  ASSERT_EQ(chosen.size(), 8u);
  std::deque<int32_t> recent;
  for (int32_t id : made->steps[0].indices["recent"])
    if (id >= 0)
      recent.push_back(id);
  const std::vector<int32_t> &draws = made->steps[0].indices["draws"];
  std::vector<int32_t> words;
  for (size_t step = 0; step < 8; ++step) {
    SCOPED_TRACE(step);
    if (!made->steps[step].indices["sampling"].empty())
      words = made->steps[step].indices["sampling"];
    auto order = inOrder(logits, recent);
    double temperature = floatOf(words[0]);
    if (temperature == 0) {
      EXPECT_EQ(chosen[step], order[0].second);
    } else {
      order.resize(std::min<size_t>(order.size(), size_t(words[1])));
      std::vector<double> sums;
      for (auto &[value, id] : order)
        sums.push_back((sums.empty() ? 0 : sums.back()) +
                       std::exp((order[0].first - value) / temperature));
      auto end = std::lower_bound(sums.begin(), sums.end(),
                                  floatOf(words[2]) * sums.back());
      sums.erase(std::min(end + 1, sums.end()), sums.end());
      for (double other : {-9e-4, 0.0, 9e-4}) {
        double mark = (floatOf(draws[step]) + other) * sums.back();
        auto place =
            std::upper_bound(sums.begin(), sums.end(), mark) - sums.begin();
        EXPECT_EQ(chosen[step], order[size_t(place)].second) << other;
      }
    }
    recent.push_back(chosen[step]);
    if (recent.size() > 3)
      recent.pop_front();
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, SamplingCaseOf,
                         testing::Values(40, 300, 32000, 262144));

TEST(SamplingCase, needsAsManyTokensAsItChooses) {
  EXPECT_FALSE(makeSamplingCase(int64_t{7}));
}

} // namespace
} // namespace llmc::verify
