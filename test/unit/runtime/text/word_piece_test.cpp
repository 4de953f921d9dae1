// SPDX-License-Identifier: Apache-2.0
//
// WordPiece on a vocabulary of a few words.

#include "test/unit/runtime/text/toy_vocabularies.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace llmc::text::test {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// [UNK] is 0, [CLS] 1, [SEP] 2; then the pieces.
TokenizerSpec wordPieceSpec() {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::WordPiece;
  spec.unknownId = addToken(spec, "[UNK]", TokenType::Control);
  spec.bosId = addToken(spec, "[CLS]", TokenType::Control);
  spec.eosId = addToken(spec, "[SEP]", TokenType::Control);
  for (const char *piece : {"un", "##aff", "##able", "##a", "affa", "!", "$",
                            "apfel", "\u4e2d", "##\u4e2d", "a"})
    addToken(spec, piece);
  spec.addBos = spec.addEos = true;
  spec.continuingPrefix = "##";
  spec.maxWordCharacters = 100;
  spec.normalizations = {
      Normalization::CleanControls, Normalization::SpaceHan, Normalization::Nfd,
      Normalization::StripNonspacingMarks, Normalization::Lowercase};
  return spec;
}

std::vector<std::string> pieces(const Tokenizer &tokenizer,
                                const std::string &text) {
  std::vector<std::string> found;
  for (int32_t id : encode(tokenizer, text))
    found.push_back(tokenizer.spec().tokens[id]);
  return found;
}

TEST(WordPiece, TakesTheLongestPieceFromTheBeginningOn) {
  auto tokenizer = makeTokenizer(wordPieceSpec());
  EXPECT_THAT(pieces(*tokenizer, "unaffable"),
              ElementsAre("un", "##aff", "##able"));
  EXPECT_THAT(pieces(*tokenizer, "affaa"), ElementsAre("affa", "##a"));
}

TEST(WordPiece, AWordThatCannotBeTakenApartIsOneUnknownToken) {
  auto tokenizer = makeTokenizer(wordPieceSpec());
  EXPECT_THAT(pieces(*tokenizer, "unaffy"), ElementsAre("[UNK]"));
  EXPECT_THAT(pieces(*tokenizer, "un nn un"), ElementsAre("un", "[UNK]", "un"));
}

TEST(WordPiece, PunctuationAndIdeographsAreWords) {
  auto tokenizer = makeTokenizer(wordPieceSpec());
  EXPECT_THAT(pieces(*tokenizer, "un!!un$un"),
              ElementsAre("un", "!", "!", "un", "$", "un"));
  EXPECT_THAT(pieces(*tokenizer, "un\u4e2d\u4e2dun"),
              ElementsAre("un", "\u4e2d", "\u4e2d", "un"));
  EXPECT_THAT(pieces(*tokenizer, "a\u2014a"),
              ElementsAre("a", "[UNK]", "a")); // a dash of category Pd
}

TEST(WordPiece, CaseAccentsAndControlsDoNotCount) {
  auto tokenizer = makeTokenizer(wordPieceSpec());
  EXPECT_THAT(pieces(*tokenizer, " \u00c4p\u00adfel\tUN "),
              ElementsAre("apfel", "un"));
}

TEST(WordPiece, LongWordsAreUnknown) {
  TokenizerSpec spec = wordPieceSpec();
  spec.maxWordCharacters = 3;
  auto tokenizer = makeTokenizer(spec);
  EXPECT_THAT(pieces(*tokenizer, "aaa aaaa"),
              ElementsAre("a", "##a", "##a", "[UNK]"));
  // Characters count, not bytes.
  spec.normalizations.clear();
  EXPECT_THAT(pieces(*makeTokenizer(spec), "\u4e2d\u4e2d\u4e2d"),
              ElementsAre("\u4e2d", "##\u4e2d", "##\u4e2d"));
}

TEST(WordPiece, AnyBytesAreTokenized) {
  auto tokenizer = makeTokenizer(wordPieceSpec());
  EXPECT_THAT(pieces(*tokenizer, ""), ElementsAre());
  EXPECT_THAT(pieces(*tokenizer, "un \xff\xfe un"),
              ElementsAre("un", "[UNK]", "un"));
  for (const char *text : {"\xe6\xad", "\x80"})
    EXPECT_THAT(pieces(*tokenizer, text), ElementsAre("[UNK]"));
  EXPECT_THAT(pieces(*tokenizer, std::string("u\0n", 3)), ElementsAre("un"));
  EXPECT_THAT(pieces(*tokenizer, std::string(1 << 20, 'a')),
              ElementsAre("[UNK]"));
}

TEST(WordPiece, LongTokensAndWordsAreFast) {
  TokenizerSpec spec = wordPieceSpec();
  addToken(spec, "##" + std::string(10000, 'a') + "b");
  spec.maxWordCharacters = 10000;
  EXPECT_EQ(pieces(*makeTokenizer(spec), std::string(10000, 'a')).size(),
            10000u);
}

TEST(WordPiece, ClassTokenAndSeparatorEncloseEvenNothing) {
  auto tokenizer = makeTokenizer(wordPieceSpec());
  EncodeOptions options;
  options.addBos = options.addEos = true;
  EXPECT_THAT(encode(*tokenizer, "", false, options), ElementsAre(1, 2));
  EXPECT_THAT(encode(*tokenizer, "un", false, options), ElementsAre(1, 3, 2));
  // A user cannot write them.
  EXPECT_THAT(pieces(*tokenizer, "[SEP]"),
              ElementsAre("[UNK]", "[UNK]", "[UNK]"));
  EXPECT_THAT(encode(*tokenizer, "[SEP]", true), ElementsAre(2));
}

TEST(WordPiece, DecodingPutsASpaceBeforeWords) {
  auto tokenizer = makeTokenizer(wordPieceSpec());
  EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, "unaffable un!")),
            " unaffable un !");
}

TEST(WordPiece, NeedsAnUnknownTokenAndABound) {
  TokenizerSpec spec = wordPieceSpec();
  spec.unknownId = kNoToken;
  EXPECT_THAT(refusal(spec), HasSubstr("unknown_id is -1"));
  spec = wordPieceSpec();
  for (uint32_t bound : {0u, 10001u}) {
    spec.maxWordCharacters = bound;
    EXPECT_THAT(refusal(spec),
                HasSubstr("max_word_characters is " + std::to_string(bound)));
  }
}

} // namespace

} // namespace llmc::text::test
