// SPDX-License-Identifier: Apache-2.0
//
// The spelling of bytes, against well-known entries of GPT-2's table.

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/Utf8.h"

#include "gtest/gtest.h"

#include <set>

namespace {

using llmc::text::decodeUtf8;
using llmc::text::readByte;
using llmc::text::spellByte;

TEST(ByteAlphabet, PrintableBytesAreThemselves) {
  EXPECT_EQ(spellByte('!'), "!");
  EXPECT_EQ(spellByte('~'), "~");
  EXPECT_EQ(spellByte(0xa1), "\u00a1");
  EXPECT_EQ(spellByte(0xff), "\u00ff");
}

TEST(ByteAlphabet, OthersAreSubstitutedInOrder) {
  EXPECT_EQ(spellByte(0x00), "\u0100");
  EXPECT_EQ(spellByte('\n'), "\u010a");
  EXPECT_EQ(spellByte(' '), "\u0120");
  EXPECT_EQ(spellByte(0x7f), "\u0121");
  EXPECT_EQ(spellByte(0xa0), "\u0142");
  EXPECT_EQ(spellByte(0xad), "\u0143");
}

TEST(ByteAlphabet, EveryByteReadsBack) {
  std::set<std::string> spellings;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string &spelling = spellByte(static_cast<uint8_t>(byte));
    EXPECT_EQ(readByte(decodeUtf8(spelling).codePoint), byte);
    spellings.insert(spelling);
  }
  EXPECT_EQ(spellings.size(), 256u);
}

TEST(ByteAlphabet, OtherCharactersAreNoBytes) {
  EXPECT_EQ(readByte(' '), -1);
  EXPECT_EQ(readByte(0x144), -1);
  EXPECT_EQ(readByte(0x10ffff), -1);
}

} // namespace
