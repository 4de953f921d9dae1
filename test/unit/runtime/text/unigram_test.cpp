// SPDX-License-Identifier: Apache-2.0
//
// The unigram model against trying all cuts, and what it does with spaces and
// unknown characters.

#include "test/unit/runtime/text/toy_vocabularies.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

namespace llmc::text::test {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// <unk> is 0, then the pieces.
TokenizerSpec
unigramSpec(const std::vector<std::pair<std::string, float>> &pieces) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::Unigram;
  spec.unknownId = addToken(spec, "<unk>", TokenType::Unknown);
  spec.scores.push_back(0);
  for (const auto &[piece, score] : pieces) {
    addToken(spec, piece);
    spec.scores.push_back(score);
  }
  spec.fuseUnknown = true;
  return spec;
}

std::vector<std::string> pieces(const Tokenizer &tokenizer,
                                const std::string &text) {
  std::vector<std::string> found;
  for (int32_t id : encode(tokenizer, text))
    found.push_back(tokenizer.spec().tokens[id]);
  return found;
}

/// The largest sum of scores of all ways to cut `text`.
double bestSum(const TokenizerSpec &spec, const std::string &text,
               double unknownScore) {
  if (text.empty())
    return 0;
  double best = -INFINITY;
  bool hasCharacter = false;
  for (size_t i = 1; i < spec.tokens.size(); ++i) {
    const std::string &token = spec.tokens[i];
    if (text.compare(0, token.size(), token) != 0)
      continue;
    hasCharacter |= token.size() == 1;
    best =
        std::max(best, spec.scores[i] + bestSum(spec, text.substr(token.size()),
                                                unknownScore));
  }
  if (!hasCharacter)
    best = std::max(best,
                    unknownScore + bestSum(spec, text.substr(1), unknownScore));
  return best;
}

TEST(Unigram, FindsTheLargestSum) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::pair<std::string, float>> vocabulary;
    float worst = 0;
    for (int i = 0; i < 8; ++i) {
      std::string piece;
      for (size_t n = 1 + random() % 4; n > 0; --n)
        piece.push_back(static_cast<char>('a' + random() % 3));
      bool isNew = std::none_of(vocabulary.begin(), vocabulary.end(),
                                [&](auto &v) { return v.first == piece; });
      float score = -static_cast<float>(1 + random() % 64) / 4;
      if (isNew) {
        vocabulary.emplace_back(piece, score);
        worst = std::min(worst, score);
      }
    }
    TokenizerSpec spec = unigramSpec(vocabulary);
    spec.fuseUnknown = false;
    auto tokenizer = makeTokenizer(spec);
    std::string text;
    for (size_t n = random() % 11; n > 0; --n)
      text.push_back(static_cast<char>('a' + random() % 3));
    double sum = 0;
    for (int32_t id : encode(*tokenizer, text))
      sum += id == 0 ? worst - 10 : spec.scores[id];
    // Scores are quarters, so that sums are exact.
    ASSERT_EQ(sum, bestSum(spec, text, worst - 10)) << text;
  }
}

TEST(Unigram, OfEqualSumsTheLongerLastPieceStays) {
  auto tokenizer = makeTokenizer(
      unigramSpec({{"a", -1}, {"ab", -1}, {"bc", -1}, {"c", -1}, {"b", -9}}));
  EXPECT_THAT(pieces(*tokenizer, "abc"), ElementsAre("a", "bc"));
}

TEST(Unigram, UnknownNeighboursAreOneToken) {
  TokenizerSpec spec = unigramSpec({{"a", -1}, {"\u2581", -2}});
  EXPECT_THAT(pieces(*makeTokenizer(spec), "\u4e2d\u4e2da\xff z"),
              ElementsAre("<unk>", "a", "<unk>", "\u2581", "<unk>"));
  spec.fuseUnknown = false;
  EXPECT_THAT(pieces(*makeTokenizer(spec), "\u4e2d\u4e2da"),
              ElementsAre("<unk>", "<unk>", "a"));
}

TEST(Unigram, BytesStandForUnknownCharacters) {
  TokenizerSpec spec = unigramSpec({{"a", -1}});
  for (const char *byte : {"<0xE4>", "<0xB8>", "<0xAD>"}) {
    addToken(spec, byte, TokenType::Byte);
    spec.scores.push_back(0);
  }
  // All of a character's or none.
  EXPECT_THAT(pieces(*makeTokenizer(spec), "\u4e2da\u4e2e"),
              ElementsAre("<0xE4>", "<0xB8>", "<0xAD>", "a", "<unk>"));
}

TEST(Unigram, WordsAreCutAsTheRuleSays) {
  TokenizerSpec spec = unigramSpec(
      {{"\u2581a", -1}, {"\u2581", -3}, {"a", -2}, {"a\u2581a", 5}});
  spec.addSpacePrefix = true;
  EXPECT_THAT(pieces(*makeTokenizer(spec), "a a"),
              ElementsAre("\u2581", "a\u2581a"));
  spec.pre = "spaces";
  EXPECT_THAT(pieces(*makeTokenizer(spec), "a a"),
              ElementsAre("\u2581a", "\u2581a"));
  EXPECT_THAT(pieces(*makeTokenizer(spec), "a  a "),
              ElementsAre("\u2581a", "\u2581", "\u2581a", "\u2581"));
  spec.pre = "words";
  spec.addSpacePrefix = false;
  EXPECT_THAT(pieces(*makeTokenizer(spec), "a \n\u3000 a "),
              ElementsAre("\u2581a", "\u2581a"));
  EXPECT_THAT(pieces(*makeTokenizer(spec), ""), ElementsAre());
  spec.pre = "qwen2";
  EXPECT_THAT(refusal(spec), HasSubstr("pre is 'qwen2'"));
}

TEST(Unigram, NeedsScores) {
  TokenizerSpec spec = unigramSpec({{"a", -1}});
  spec.scores.clear();
  EXPECT_THAT(refusal(spec), HasSubstr("scores is empty"));
  spec = unigramSpec({{"a", -1}});
  spec.merges = {"a a"};
  EXPECT_THAT(refusal(spec), HasSubstr("merges has 1"));
}

TEST(Unigram, AMebibyteOfOneWordIsFast) {
  auto tokenizer = makeTokenizer(unigramSpec({{"a", -2}, {"aaaa", -1}}));
  EXPECT_EQ(encode(*tokenizer, std::string(1 << 20, 'a')).size(), 1u << 18);
}

} // namespace

} // namespace llmc::text::test
