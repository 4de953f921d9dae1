// SPDX-License-Identifier: Apache-2.0
//
// Where the pre-tokenizers cut. The expected words follow from reading the
// patterns; whole vocabularies are compared elsewhere.

#include "runtime/text/PreTokenizer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using llmc::text::PreTokenizer;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> split(std::string_view name, std::string_view text) {
  auto preTokenizer = PreTokenizer::create(name);
  EXPECT_TRUE(preTokenizer.ok()) << preTokenizer.status().message();
  auto words = (*preTokenizer)->split(text);
  EXPECT_TRUE(words.ok()) << words.status().message();
  return {words->begin(), words->end()};
}

TEST(PreTokenizer, Gpt2) {
  EXPECT_THAT(split("gpt-2", "I've 1234  cats!\n"),
              ElementsAre("I", "'ve", " 1234", " ", " cats", "!", "\n"));
  // Contractions in lower case only.
  EXPECT_THAT(split("gpt-2", "I'VE"), ElementsAre("I", "'", "VE"));
}

TEST(PreTokenizer, Llama3TakesThreeDigitsAndOneLeadingSign) {
  EXPECT_THAT(
      split("llama-bpe", "I'VE 1234 (cats)!\n\nx"),
      ElementsAre("I", "'VE", " ", "123", "4", " (", "cats", ")!\n\n", "x"));
}

TEST(PreTokenizer, Qwen2TakesSingleDigits) {
  EXPECT_THAT(split("qwen2", "a 12\tb"),
              ElementsAre("a", " ", "1", "2", "\tb"));
}

TEST(PreTokenizer, Qwen35KeepsMarksWithLetters) {
  EXPECT_THAT(split("qwen35", "e\u0301a"), ElementsAre("e\u0301a"));
  EXPECT_THAT(split("qwen2", "e\u0301a"), ElementsAre("e", "\u0301a"));
}

TEST(PreTokenizer, DefaultCutsStepByStep) {
  EXPECT_THAT(split("default", "ab+=c 12345"),
              ElementsAre("ab", "+=", "c", " ", "123", "45"));
  EXPECT_THAT(split("", "ab+=c"), ElementsAre("ab", "+=", "c"));
}

TEST(PreTokenizer, SmollmTakesDigitsFirst) {
  EXPECT_THAT(split("smollm", "a 12"), ElementsAre("a", " ", "1", "2"));
}

TEST(PreTokenizer, WhiteSpaceIsUnicodes) {
  // U+3000 is white space, U+180E is not.
  EXPECT_THAT(split("gpt-2", "\u3000\u3000a"),
              ElementsAre("\u3000", "\u3000", "a"));
  EXPECT_THAT(split("gpt-2", "!\u180e"), ElementsAre("!\u180e"));
}

TEST(PreTokenizer, BytesThatAreNotUtf8StandAlone) {
  EXPECT_THAT(split("gpt-2", "ab\xff\xfe"
                             "cd\xe6\xad"),
              ElementsAre("ab", "\xff\xfe", "cd", "\xe6\xad"));
  EXPECT_THAT(split("gpt-2", "\x80"), ElementsAre("\x80"));
}

TEST(PreTokenizer, NulIsACharacter) {
  std::string text("a\0b", 3);
  EXPECT_THAT(split("gpt-2", text),
              ElementsAre("a", std::string(1, '\0'), "b"));
}

TEST(PreTokenizer, NothingIsNoWord) {
  EXPECT_THAT(split("llama-bpe", ""), IsEmpty());
}

TEST(PreTokenizer, UnknownNamesAreRefusedWithTheKnownOnes) {
  auto unknown = PreTokenizer::create("tekken");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.status().message(),
              AllOf(HasSubstr("'tekken'"), HasSubstr("default"),
                    HasSubstr("llama-bpe"), HasSubstr("qwen2")));
}

} // namespace
