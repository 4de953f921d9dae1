// SPDX-License-Identifier: Apache-2.0
//
// What is guessed to come next.

#include "runtime/session/PromptLookup.h"

#include <gtest/gtest.h>

namespace llmc::runtime {
namespace {

using Tokens = std::vector<int32_t>;

Tokens draftOf(const Tokens &text, size_t most) {
  Tokens draft;
  draftFromText(text, most, draft);
  return draft;
}

TEST(PromptLookup, takesWhatFollowedTheLongestEnd) {
  // 2 3 stood twice; behind 1 2 3 came 7.
  EXPECT_EQ(draftOf({1, 2, 3, 7, 8, 2, 3, 9, 1, 2, 3}, 2), (Tokens{7, 8}));
}

TEST(PromptLookup, takesTheLastOfEqualPlaces) {
  EXPECT_EQ(draftOf({5, 6, 5, 7, 5}, 1), (Tokens{7}));
}

TEST(PromptLookup, goesAsFarAsTheText) {
  EXPECT_EQ(draftOf({4, 9, 4}, 8), (Tokens{9, 4}));
  EXPECT_EQ(draftOf({4, 4}, 8), (Tokens{4}));
  EXPECT_EQ(draftOf({4, 4, 4, 4}, 8), (Tokens{4}));
}

TEST(PromptLookup, guessesNothingWhereNothingRepeats) {
  EXPECT_EQ(draftOf({1, 2, 3}, 8), Tokens());
  EXPECT_EQ(draftOf({1}, 8), Tokens());
  EXPECT_EQ(draftOf({}, 8), Tokens());
  EXPECT_EQ(draftOf({1, 1}, 0), Tokens());
}

TEST(PromptLookup, appends) {
  Tokens draft = {3};
  draftFromText({3, 8, 3}, 1, draft);
  EXPECT_EQ(draft, (Tokens{3, 8}));
}

} // namespace
} // namespace llmc::runtime
