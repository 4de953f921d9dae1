// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers on vocabularies small enough to work out the ids by hand.

#include "runtime/text/Tokenizer.h"
#include "runtime/text/Utf8.h"
#include "test/unit/runtime/text/toy_vocabularies.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <chrono>

namespace llmc::text::test {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

//===----------------------------------------------------------------------===//
// Byte pair
//===----------------------------------------------------------------------===//

TEST(BytePairTokenizer, LowerRanksMergeFirst) {
  // "abc": b c before a b, so that "a" remains.
  TokenizerSpec spec = bytePairSpec({"b c", "a b"});
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "abc"), ElementsAre('a', idOf(spec, "bc")));
  EXPECT_THAT(encode(*tokenizer, "ab"), ElementsAre(idOf(spec, "ab")));
}

TEST(BytePairTokenizer, OfEqualRanksTheLeftmostMergesFirst) {
  TokenizerSpec spec = bytePairSpec({"a a"});
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "aaa"), ElementsAre(idOf(spec, "aa"), 'a'));
}

TEST(BytePairTokenizer, WordsDoNotMergeWithEachOther) {
  TokenizerSpec spec = bytePairSpec({"a !", "\u0120 a"});
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "a! a"),
              ElementsAre('a', '!', idOf(spec, "\u0120a")));
}

TEST(BytePairTokenizer, AMergeMayPassThroughWhatIsNoToken) {
  TokenizerSpec spec = bytePairSpec({"a b", "ab c"});
  spec.tokens[idOf(spec, "ab")] = "unreachable";
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "abc"), ElementsAre(idOf(spec, "abc")));
  // Left over, it falls apart into bytes.
  EXPECT_THAT(encode(*tokenizer, "abd"), ElementsAre('a', 'b', 'd'));
}

TEST(BytePairTokenizer, OfEqualMergesTheFirstCounts) {
  TokenizerSpec spec = bytePairSpec({"a b", "b c", "a b"});
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "abc"), ElementsAre(idOf(spec, "ab"), 'c'));
}

TEST(BytePairTokenizer, SomeFamiliesPreferWholeWords) {
  TokenizerSpec spec = bytePairSpec({"b c"});
  addToken(spec, "abc");
  auto merging = makeTokenizer(spec);
  EXPECT_THAT(encode(*merging, "abc"), ElementsAre('a', idOf(spec, "bc")));
  spec.pre = "llama-bpe";
  auto whole = makeTokenizer(spec);
  EXPECT_THAT(encode(*whole, "abc"), ElementsAre(idOf(spec, "abc")));
}

TEST(BytePairTokenizer, MissingBytesBecomeUnknown) {
  TokenizerSpec spec = bytePairSpec({});
  spec.tokens['x'] = "unreachable";
  EXPECT_THAT(makeTokenizer(spec)->encode("ax").status().message(),
              HasSubstr("no token for the bytes 78"));
  spec.unknownId = addToken(spec, "<unk>", TokenType::Unknown);
  EXPECT_THAT(encode(*makeTokenizer(spec), "ax"),
              ElementsAre('a', spec.unknownId));
}

TEST(BytePairTokenizer, UnknownPreTokenizersAreRefused) {
  TokenizerSpec spec = bytePairSpec({});
  spec.pre = "nothing-like-it";
  EXPECT_THAT(refusal(spec), HasSubstr("'nothing-like-it'"));
}

//===----------------------------------------------------------------------===//
// SentencePiece
//===----------------------------------------------------------------------===//

TEST(SentencePieceTokenizer, HigherScoresMergeFirst) {
  TokenizerSpec spec = sentencePieceSpec({"bc", "ab", "a", "b", "c"});
  spec.addSpacePrefix = false;
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "abc"),
              ElementsAre(idOf(spec, "a"), idOf(spec, "bc")));
}

TEST(SentencePieceTokenizer, BeginsWithASpace) {
  TokenizerSpec spec = sentencePieceSpec({"\u2581a", "\u2581", "a"});
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "a a"),
              ElementsAre(idOf(spec, "\u2581a"), idOf(spec, "\u2581a")));
  EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, "a a")), " a a");
  spec.addSpacePrefix = false;
  EXPECT_THAT(encode(*makeTokenizer(spec), "a a"),
              ElementsAre(idOf(spec, "a"), idOf(spec, "\u2581a")));
}

TEST(SentencePieceTokenizer, NothingHasNoIds) {
  EXPECT_THAT(encode(*makeTokenizer(sentencePieceSpec({"\u2581"})), ""),
              IsEmpty());
}

TEST(SentencePieceTokenizer, TheSpaceIsAlsoPutAfterSpecialTokens) {
  TokenizerSpec spec = sentencePieceSpec({"\u2581a", "\u2581", "a"});
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "</s>a", /*parseSpecial=*/true),
              ElementsAre(2, idOf(spec, "\u2581a")));
}

TEST(SentencePieceTokenizer, CharactersWithoutATokenBecomeBytes) {
  TokenizerSpec spec = sentencePieceSpec({});
  spec.addSpacePrefix = false;
  EXPECT_THAT(encode(*makeTokenizer(spec), "\u00e4"),
              ElementsAre(3 + 0xc3, 3 + 0xa4));
}

TEST(SentencePieceTokenizer, WithoutByteTokensTheyAreUnknown) {
  TokenizerSpec spec = sentencePieceSpec({"a"});
  spec.addSpacePrefix = false;
  for (TokenType &type : spec.types)
    if (type == TokenType::Byte)
      type = TokenType::Unused;
  EXPECT_THAT(encode(*makeTokenizer(spec), "a\u00e4"),
              ElementsAre(idOf(spec, "a"), 0));
  spec.unknownId = kNoToken;
  EXPECT_THAT(makeTokenizer(spec)->encode("\u00e4").status().message(),
              HasSubstr("no token for the bytes c3 a4"));
}

TEST(SentencePieceTokenizer, MergingNeverMakesControlOrByteTokens) {
  TokenizerSpec spec = sentencePieceSpec(
      {"</", "s>", "<", "/", "s", ">", "<0x", "41>", "0", "x", "4", "1"});
  spec.addSpacePrefix = false;
  auto tokenizer = makeTokenizer(spec);
  EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, "</s>")), "</s>");
  EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, "<0x41>")), "<0x41>");
}

//===----------------------------------------------------------------------===//
// Special tokens
//===----------------------------------------------------------------------===//

TEST(Tokenizer, SpecialTokensAreParsedOnRequestOnly) {
  TokenizerSpec spec = chatSpec();
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "a<|im_end|>", /*parseSpecial=*/true),
              ElementsAre('a', spec.eosId));
  std::vector<int32_t> plain = encode(*tokenizer, "a<|im_end|>");
  EXPECT_THAT(plain, testing::Not(testing::Contains(spec.eosId)));
  EXPECT_EQ(decode(*tokenizer, plain), "a<|im_end|>");
}

TEST(Tokenizer, UserDefinedTokensAreAlwaysFound) {
  TokenizerSpec spec = chatSpec();
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "a<tool>"),
              ElementsAre('a', idOf(spec, "<tool>")));
  EXPECT_EQ(decode(*tokenizer, {idOf(spec, "<tool>")}), "<tool>");
}

TEST(Tokenizer, TheLongestSpecialTokenCounts) {
  TokenizerSpec spec = bytePairSpec({});
  addToken(spec, "<x>", TokenType::Control);
  addToken(spec, "<x><y>", TokenType::Control);
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "<x><x><y>", /*parseSpecial=*/true),
              ElementsAre(256, 257));
}

TEST(Tokenizer, SegmentsAreOneTextWithMarkupInMarkupOnly) {
  TokenizerSpec spec = chatSpec();
  auto tokenizer = makeTokenizer(spec);
  auto ids = tokenizer->encode({Segment{"<|im_start|>he", true},
                                Segment{"llo<|im_", false},
                                Segment{"end|><|im_end|>", true}});
  ASSERT_TRUE(ids.ok());
  // "hello" merges over the border; a marker does not form over one.
  EXPECT_EQ(ids->front(), spec.bosId);
  EXPECT_EQ((*ids)[1], idOf(spec, "hello"));
  EXPECT_EQ(ids->back(), spec.eosId);
  EXPECT_EQ(std::count(ids->begin(), ids->end(), spec.eosId), 1);
  EXPECT_EQ(decode(*tokenizer, *ids), "hello<|im_end|>");
}

TEST(Tokenizer, BosAndEosAreAddedIfTheModelWantsThem) {
  TokenizerSpec spec = chatSpec();
  EncodeOptions both;
  both.addBos = both.addEos = true;
  EXPECT_THAT(encode(*makeTokenizer(spec), "a", false, both), ElementsAre('a'));
  spec.addBos = spec.addEos = true;
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(encode(*tokenizer, "a", false, both),
              ElementsAre(spec.bosId, 'a', spec.eosId));
  EXPECT_THAT(encode(*tokenizer, "a"), ElementsAre('a'));
  EXPECT_THAT(encode(*tokenizer, "", false, both),
              ElementsAre(spec.bosId, spec.eosId));
  // Not twice.
  EXPECT_THAT(encode(*tokenizer, "<|im_start|>a", true, both),
              ElementsAre(spec.bosId, 'a', spec.eosId));
  spec.bosId = spec.eosId = kNoToken;
  EXPECT_THAT(encode(*makeTokenizer(spec), "a", false, both), ElementsAre('a'));
}

TEST(Tokenizer, SpecialTokensTakeWhiteSpaceWithThem) {
  TokenizerSpec spec = chatSpec();
  auto ids = [&] {
    return encode(*makeTokenizer(spec), "a \n<|im_end|>\u3000 b", true);
  };
  auto eos = static_cast<int32_t>(spec.eosId);
  EXPECT_THAT(ids(),
              ElementsAre('a', ' ', '\n', eos, 0xe3, 0x80, 0x80, ' ', 'b'));
  spec.leftStripIds = {spec.eosId};
  EXPECT_THAT(ids(), ElementsAre('a', eos, 0xe3, 0x80, 0x80, ' ', 'b'));
  spec.rightStripIds = {spec.eosId};
  EXPECT_THAT(ids(), ElementsAre('a', eos, 'b'));
}

TEST(Tokenizer, SpacePrefixOnceAndAtTheStartOnly) {
  TokenizerSpec spec = sentencePieceSpec({"\u2581", "a"});
  auto text = [&](const char *text) {
    auto tokenizer = makeTokenizer(spec);
    return decode(*tokenizer, encode(*tokenizer, text, true), true);
  };
  EXPECT_EQ(text("a</s>a"), " a</s> a");
  EXPECT_EQ(text(" a"), "  a");
  spec.spacePrefixUnlessThere = true;
  EXPECT_EQ(text(" a</s> a</s>a"), " a</s> a</s> a");
  spec.spacePrefixAtStartOnly = true;
  EXPECT_EQ(text("a</s>a"), " a</s>a");
  EXPECT_EQ(text("</s>a"), "</s>a");
}

TEST(Tokenizer, SentencePieceMergesByRankWhereItHasMerges) {
  TokenizerSpec spec = sentencePieceSpec({"a", "b", "c", "ab", "bc"});
  spec.addSpacePrefix = false;
  EXPECT_EQ(encode(*makeTokenizer(spec), "abc").front(), idOf(spec, "ab"));
  spec.merges = {"b c", "a b", "c c"};
  EXPECT_THAT(encode(*makeTokenizer(spec), "abc"),
              ElementsAre(idOf(spec, "a"), idOf(spec, "bc")));
  // "cc" is no token: its characters; z is none either: its byte.
  EXPECT_THAT(encode(*makeTokenizer(spec), "ccz"),
              ElementsAre(idOf(spec, "c"), idOf(spec, "c"), 3 + 'z'));
}

TEST(Tokenizer, NormalizationSparesSpecialTokens) {
  TokenizerSpec spec = chatSpec();
  addToken(spec, "<|X|>", TokenType::Control);
  spec.normalizations = {Normalization::Lowercase};
  EXPECT_THAT(encode(*makeTokenizer(spec), "A<|X|>B", true),
              ElementsAre('a', idOf(spec, "<|X|>"), 'b'));
}

TEST(Tokenizer, StopIds) {
  TokenizerSpec spec = chatSpec();
  auto tokenizer = makeTokenizer(spec);
  EXPECT_TRUE(tokenizer->isStop(static_cast<int32_t>(spec.eosId)));
  EXPECT_FALSE(tokenizer->isStop('a'));
}

TEST(Tokenizer, DecodingShowsSpecialTokensOnRequestOnly) {
  TokenizerSpec spec = chatSpec();
  auto tokenizer = makeTokenizer(spec);
  std::vector<int32_t> ids = {'a', static_cast<int32_t>(spec.eosId)};
  EXPECT_EQ(decode(*tokenizer, ids), "a");
  EXPECT_EQ(decode(*tokenizer, ids, /*showSpecial=*/true), "a<|im_end|>");
}

TEST(Tokenizer, IdsOutOfRangeAreRefused) {
  auto tokenizer = makeTokenizer(bytePairSpec({}));
  for (int32_t id : {-1, 256})
    EXPECT_THAT(tokenizer->piece(id).status().message(),
                HasSubstr("token id is " + std::to_string(id) +
                          ", allowed are 0 to 255"));
}

//===----------------------------------------------------------------------===//
// Text that is not whole UTF-8
//===----------------------------------------------------------------------===//

TEST(Tokenizer, StreamsACharacterOfFourTokens) {
  auto tokenizer = makeTokenizer(bytePairSpec({}));
  Utf8Stream stream;
  std::vector<std::string> shown;
  for (int32_t id : {0xf0, 0x9f, 0x98, 0x80, 0x41})
    shown.push_back(stream.push(*tokenizer->piece(id)));
  EXPECT_THAT(shown, ElementsAre("", "", "", "\U0001F600", "A"));
}

TEST(Tokenizer, AnyBytesComeBack) {
  TokenizerSpec pieces = sentencePieceSpec({"a"});
  pieces.addSpacePrefix = false;
  auto sentencePiece = makeTokenizer(pieces);
  auto bytePair = makeTokenizer(bytePairSpec({}));
  for (std::string text : {std::string("\xe6\xad"), std::string("\xff\xfe"),
                           std::string("\x80"), std::string("a\0b", 3)}) {
    EXPECT_EQ(decode(*bytePair, encode(*bytePair, text)), text);
    EXPECT_EQ(decode(*sentencePiece, encode(*sentencePiece, text)), text);
  }
}

/// Merging must not take time that grows with the square of a word.
void expectFast(const Tokenizer &tokenizer) {
  std::string text(1 << 20, 'a');
  auto begin = std::chrono::steady_clock::now();
  std::vector<int32_t> ids = encode(tokenizer, text);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  // Room for sanitizers and slow machines; a quadratic loop takes hours.
  EXPECT_LT(seconds.count(), 60);
  EXPECT_EQ(ids.size(), text.size() / 4);
  EXPECT_EQ(decode(tokenizer, ids), text);
}

TEST(Tokenizer, AMebibyteOfOneWordIsFast) {
  expectFast(*makeTokenizer(bytePairSpec({"a a", "aa aa"})));
  TokenizerSpec spec = sentencePieceSpec({"aa", "aaaa", "a"});
  spec.addSpacePrefix = false;
  expectFast(*makeTokenizer(spec));
}

} // namespace

} // namespace llmc::text::test
