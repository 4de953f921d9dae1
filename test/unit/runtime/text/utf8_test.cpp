// SPDX-License-Identifier: Apache-2.0
//
// UTF-8: what is a character, and what a stream holds back.

#include "runtime/text/Utf8.h"

#include "gtest/gtest.h"

#include <random>

namespace {

using llmc::text::appendUtf8;
using llmc::text::decodeUtf8;
using llmc::text::Utf8Kind;
using llmc::text::Utf8Step;
using llmc::text::Utf8Stream;

constexpr const char *kReplacement = "\xef\xbf\xbd";

void expectStep(std::string_view bytes, Utf8Kind kind, size_t length) {
  Utf8Step step = decodeUtf8(bytes);
  EXPECT_EQ(step.kind, kind);
  EXPECT_EQ(step.length, length);
}

TEST(DecodeUtf8, ReadsEveryScalarValue) {
  for (char32_t point = 0; point <= 0x10ffff; ++point) {
    if (point == 0xd800)
      point = 0xe000;
    std::string bytes;
    appendUtf8(point, bytes);
    Utf8Step step = decodeUtf8(bytes + "x");
    ASSERT_EQ(step.kind, Utf8Kind::Complete);
    ASSERT_EQ(step.length, bytes.size());
    ASSERT_EQ(step.codePoint, point);
  }
}

TEST(DecodeUtf8, RefusesWhatIsNotWellFormed) {
  expectStep("\x80", Utf8Kind::Invalid, 1);             // continuation alone
  expectStep("\xc1\xbf", Utf8Kind::Invalid, 1);         // overlong
  expectStep("\xe0\x9f\xbf", Utf8Kind::Invalid, 1);     // overlong
  expectStep("\xed\xa0\x80", Utf8Kind::Invalid, 1);     // surrogate
  expectStep("\xf0\x8f\xbf\xbf", Utf8Kind::Invalid, 1); // overlong
  expectStep("\xf4\x90\x80\x80", Utf8Kind::Invalid, 1); // above U+10FFFF
  expectStep("\xff", Utf8Kind::Invalid, 1);
  expectStep("\xe6\xad"
             "A",
             Utf8Kind::Invalid, 2); // the maximal subpart
}

TEST(DecodeUtf8, KnowsBeginnings) {
  expectStep("\xf0\x9f\x98", Utf8Kind::Incomplete, 3);
  expectStep("\xe6", Utf8Kind::Incomplete, 1);
}

TEST(Utf8Stream, EmitsOnlyWholeCharacters_B42) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("\xf0"), "");
  EXPECT_EQ(stream.push("\x9f"), "");
  EXPECT_EQ(stream.push("\x98"), "");
  EXPECT_EQ(stream.push("\x80"), "\U0001F600");
  EXPECT_EQ(stream.push("A"), "A");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, FlushesAnIncompleteEndAsOneReplacement_B42) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("\xe6"), "");
  EXPECT_EQ(stream.push("\xad"), "");
  EXPECT_EQ(stream.finish(), kReplacement);
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.push("B"), "B");
}

TEST(Utf8Stream, ReplacesWhatCannotBecomeACharacterAtOnce) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("\xff"), kReplacement);
  EXPECT_EQ(stream.push("\xe6\xad"), "");
  EXPECT_EQ(stream.push("A"), std::string(kReplacement) + "A");
  EXPECT_EQ(stream.push(std::string_view("\0", 1)), std::string(1, '\0'));
}

TEST(Utf8Stream, CutsDoNotMatter) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    for (int i = 0; i < 40; ++i)
      bytes.push_back(static_cast<char>(random() % 2 ? random() : 'a'));
    Utf8Stream whole;
    std::string expected = whole.push(bytes);
    expected += whole.finish();
    Utf8Stream cut;
    std::string found;
    for (char c : bytes)
      found += cut.push(std::string_view(&c, 1));
    found += cut.finish();
    ASSERT_EQ(found, expected);
  }
}

} // namespace
