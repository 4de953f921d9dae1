// SPDX-License-Identifier: Apache-2.0
//
// Normal forms, lower case and BERT's cleaning against Python's Unicode data.

#include "runtime/text/Normalizer.h"

#include "gtest/gtest.h"

namespace {

using llmc::text::Normalization;
using llmc::text::normalize;

struct Case {
  std::string text;
  std::string nfc;
  std::string nfd;
  std::string lower;
  std::string withoutNonspacingMarks;
  std::string withoutMarks;
  std::string bert;
};

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
#include "test/unit/runtime/text/normalization_cases.inc"
  };
  return all;
}

const std::vector<Normalization> kBert = {
    Normalization::CleanControls, Normalization::SpaceHan, Normalization::Nfd,
    Normalization::StripNonspacingMarks, Normalization::Lowercase};

TEST(Normalizer, AgreesWithPython) {
  ASSERT_GT(cases().size(), 100u);
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(normalize(c.text, {Normalization::Nfc}), c.nfc);
    EXPECT_EQ(normalize(c.text, {Normalization::Nfd}), c.nfd);
    EXPECT_EQ(normalize(c.text, {Normalization::Lowercase}), c.lower);
    EXPECT_EQ(normalize(c.text, {Normalization::StripNonspacingMarks}),
              c.withoutNonspacingMarks);
    EXPECT_EQ(normalize(c.text, {Normalization::StripMarks}), c.withoutMarks);
    EXPECT_EQ(normalize(c.text, kBert), c.bert);
    EXPECT_EQ(normalize(c.text, {}), c.text);
  }
}

TEST(Normalizer, BytesThatAreNotUtf8StayAndSeparate) {
  for (std::string bytes : {"\xff\xfe", "\xe6\xad", "\x80", "a\xcc"}) {
    EXPECT_EQ(normalize(bytes, {Normalization::Nfc}), bytes);
    EXPECT_EQ(normalize(bytes, kBert), bytes);
  }
  // A mark behind them belongs to nothing.
  EXPECT_EQ(normalize("e\xff\xcc\x81", {Normalization::Nfc}), "e\xff\xcc\x81");
}

TEST(Normalizer, AMebibyteOfMarksIsFast) {
  std::string text = "a";
  while (text.size() < 1 << 20)
    text += "\u0301\u0323"; // two classes, so that they are put in order
  std::string composed = normalize(text, {Normalization::Nfc});
  // The dots below come first; one of them and no accent joins the letter.
  EXPECT_EQ(composed.substr(0, 3), "\u1ea1");
  EXPECT_EQ(composed.size(), text.size());
}

} // namespace
