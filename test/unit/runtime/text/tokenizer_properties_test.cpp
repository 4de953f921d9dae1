// SPDX-License-Identifier: Apache-2.0
//
// Random texts: the fast merging against the definition carried out slowly,
// and bytes of any kind through every tokenizer and back.

#include "runtime/text/PairMerger.h"
#include "test/unit/runtime/text/toy_vocabularies.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

namespace llmc::text::test {

namespace {

using Ranks = std::map<std::string, double>;

/// Merges the best of all pairs, one at a time.
std::vector<std::string> mergeSlowly(const std::string &text,
                                     const Ranks &ranks) {
  std::vector<std::string> parts;
  for (char c : text)
    parts.emplace_back(1, c);
  while (true) {
    size_t best = parts.size();
    double bestRank = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      auto it = ranks.find(parts[i] + parts[i + 1]);
      if (it != ranks.end() &&
          (best == parts.size() || it->second < bestRank)) {
        best = i;
        bestRank = it->second;
      }
    }
    if (best == parts.size())
      return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + best + 1);
  }
}

std::vector<std::string> mergeFast(const std::string &text,
                                   const Ranks &ranks) {
  std::vector<Symbol> symbols;
  for (size_t i = 0; i < text.size(); ++i)
    symbols.push_back({i, 1, 0});
  mergePairs(
      symbols,
      [&](const Symbol &left, const Symbol &right) -> std::optional<Merge> {
        auto it =
            ranks.find(text.substr(left.begin, left.length + right.length));
        if (it == ranks.end())
          return std::nullopt;
        return Merge{it->second, 0};
      });
  std::vector<std::string> parts;
  for (const Symbol &symbol : symbols)
    parts.push_back(text.substr(symbol.begin, symbol.length));
  return parts;
}

std::string randomText(std::mt19937 &random, size_t length, int letters) {
  std::string text;
  for (size_t i = 0; i < length; ++i)
    text.push_back(static_cast<char>('a' + random() % letters));
  return text;
}

TEST(MergePairs, EqualsTheDefinition) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    int letters = 1 + random() % 3;
    Ranks ranks;
    for (int i = 0; i < 12; ++i)
      ranks.emplace(randomText(random, 2 + random() % 5, letters),
                    random() % 6);
    std::string text = randomText(random, random() % 40, letters);
    ASSERT_EQ(mergeFast(text, ranks), mergeSlowly(text, ranks)) << text;
  }
}

/// Bytes of all kinds: any, letters with spaces, pieces of UTF-8, markers.
std::string randomBytes(std::mt19937 &random) {
  static const std::vector<std::string> parts = {
      "hello", " ",    "\n",       "<|im_end|>", "</s>",   "<0x41>", "1234",
      "'ve",   "\xf0", "\x9f\x98", "\u00e9",     "\u4f60", "\x80"};
  std::string text;
  for (size_t i = random() % 24; i > 0; --i) {
    if (random() % 2)
      text += parts[random() % parts.size()];
    else
      text.push_back(static_cast<char>(random()));
  }
  return text;
}

void expectRoundTrips(const Tokenizer &tokenizer) {
  std::mt19937 random(5);
  for (int round = 0; round < 10000; ++round) {
    std::string text = randomBytes(random);
    std::vector<int32_t> ids = encode(tokenizer, text);
    for (int32_t id : ids) {
      ASSERT_GE(id, 0);
      ASSERT_LT(id, tokenizer.vocabularySize());
      ASSERT_FALSE(isSpecialToken(tokenizer.spec(), id));
    }
    ASSERT_EQ(decode(tokenizer, ids), text);
    // With special tokens parsed nothing is lost either.
    ids = encode(tokenizer, text, /*parseSpecial=*/true);
    if (!tokenizer.spec().addSpacePrefix) {
      ASSERT_EQ(decode(tokenizer, ids, /*showSpecial=*/true), text);
    }
  }
}

TEST(Tokenizer, RandomBytesRoundTripThroughEveryPreTokenizer_B42) {
  for (const char *pre :
       {"default", "gpt-2", "llama-bpe", "qwen2", "qwen35", "smollm"}) {
    TokenizerSpec spec = chatSpec();
    spec.pre = pre;
    SCOPED_TRACE(pre);
    expectRoundTrips(*makeTokenizer(spec));
  }
}

TEST(Tokenizer, RandomBytesRoundTripThroughSentencePiece_B42) {
  TokenizerSpec spec = sentencePieceSpec({"\u2581h", "el", "lo", "ello", "</",
                                          "s>", "h", "e", "l", "o", "\u2581"});
  spec.addSpacePrefix = false;
  expectRoundTrips(*makeTokenizer(spec));
}

} // namespace

} // namespace llmc::text::test
