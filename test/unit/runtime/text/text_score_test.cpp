// SPDX-License-Identifier: Apache-2.0
//
// Scores of predictions whose probabilities are known.

#include "runtime/text/TextScore.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using llmc::text::TextScore;

namespace {

/// Logits of the given probabilities, shifted: a shift changes nothing.
std::vector<float> logitsOf(const std::vector<double> &probabilities,
                            double shift) {
  std::vector<float> logits;
  for (double p : probabilities)
    logits.push_back(static_cast<float>(std::log(p) + shift));
  return logits;
}

TEST(TextScore, PerplexityIsTheInverseOfTheGeometricMean) {
  TextScore score;
  score.add(logitsOf({0.25, 0.75}, 30).data(), 2, 0);
  score.add(logitsOf({0.5, 0.25, 0.25}, -300).data(), 3, 2);
  score.add(logitsOf({0.5, 0.5}, 90).data(), 2, 1);
  EXPECT_EQ(score.numTokens(), 3U);
  EXPECT_NEAR(score.perplexity(), std::cbrt(4 * 4 * 2), 1e-5);
}

TEST(TextScore, EqualLogitsDoNotDiverge) {
  TextScore score;
  std::vector<float> logits = logitsOf({0.1, 0.2, 0.7}, 3);
  score.add(logits.data(), logits.data(), 3, 1);
  EXPECT_EQ(score.meanDivergence(), 0);
  EXPECT_EQ(score.largestDivergence(), 0);
  EXPECT_EQ(score.sameBest(), 1);
  EXPECT_NEAR(score.perplexity(), 5, 1e-5);
  EXPECT_NEAR(score.otherPerplexity(), 5, 1e-5);
}

TEST(TextScore, DivergenceIsFromTheOtherModel) {
  TextScore score;
  // p = (1/2, 1/2) is the other's, q = (1/4, 3/4) this one's.
  score.add(logitsOf({0.25, 0.75}, 0).data(), logitsOf({0.5, 0.5}, 8).data(), 2,
            0);
  const double expected = 0.5 * std::log(2.0) + 0.5 * std::log(2.0 / 3);
  EXPECT_NEAR(score.meanDivergence(), expected, 1e-6);
  // p = (3/4, 1/4), q = (1/4, 3/4).
  score.add(logitsOf({0.25, 0.75}, 0).data(), logitsOf({0.75, 0.25}, 8).data(),
            2, 0);
  const double second = 0.5 * std::log(3.0);
  EXPECT_NEAR(score.largestDivergence(), second, 1e-6);
  EXPECT_NEAR(score.meanDivergence(), (expected + second) / 2, 1e-6);
  EXPECT_EQ(score.sameBest(), 0);
}

} // namespace
