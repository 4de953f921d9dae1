// SPDX-License-Identifier: Apache-2.0
//
// The checksum against values of the xxhsum program, and its two forms against
// each other.

#include "runtime/format/Checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace llmc::format {
namespace {

// xxHash's own sanity values for XXH3_64bits with seed 0: no bytes, and "abc"
// as printed by `printf abc | xxhsum -H3`.
TEST(Checksum, isXxh3) {
  EXPECT_EQ(checksum("", 0), 0x2d06800538d394c2u);
  EXPECT_EQ(checksum("abc", 3), 0x78af5f94892f3950u);
}

TEST(Checksum, piecesGiveTheSame) {
  std::vector<uint8_t> bytes(10007);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 31 >> 3);
  for (const size_t piece : {size_t{1}, size_t{63}, size_t{4096}}) {
    StreamingChecksum streaming;
    for (size_t i = 0; i < bytes.size(); i += piece)
      streaming.update(bytes.data() + i, std::min(piece, bytes.size() - i));
    EXPECT_EQ(streaming.digest(), checksum(bytes.data(), bytes.size()));
  }
}

} // namespace
} // namespace llmc::format
