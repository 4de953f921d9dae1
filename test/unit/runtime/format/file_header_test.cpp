// SPDX-License-Identifier: Apache-2.0
//
// The header's bytes as docs/file-format.md has them, and what is refused.

#include "runtime/format/FileHeader.h"

#include "runtime/format/Checksum.h"

#include <gtest/gtest.h>

#include <cstring>

namespace llmc::format {
namespace {

using HeaderBytes = std::array<uint8_t, kFileHeaderBytes>;

FileHeader exampleHeader() {
  FileHeader header;
  header.manifestOffset = 0x1122334455;
  header.manifestSize = 7;
  header.manifestChecksum = 0x8877665544332211;
  header.fileSize = 0x112233445c;
  return header;
}

/// Makes the checksum right again after a change.
void seal(HeaderBytes &bytes) {
  const uint64_t sum = checksum(bytes.data(), 56);
  for (size_t i = 0; i < 8; ++i)
    bytes[56 + i] = static_cast<uint8_t>(sum >> (8 * i));
}

std::string refusal(const HeaderBytes &bytes) {
  const auto decoded = decodeFileHeader(bytes.data(), bytes.size());
  return decoded.ok() ? "" : decoded.status().message();
}

TEST(FileHeader, liesAsDocumented) {
  const HeaderBytes bytes = encodeFileHeader(exampleHeader());
  const uint8_t expected[48] = {
      'L',  'L',  'M',  'C',  1,    0,    0,    0,    0x55, 0x44, 0x33, 0x22,
      0x11, 0,    0,    0,    7,    0,    0,    0,    0,    0,    0,    0,
      0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x5c, 0x44, 0x33, 0x22,
      0x11, 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0};
  EXPECT_EQ(std::memcmp(bytes.data(), expected, sizeof(expected)), 0);
}

TEST(FileHeader, comesBack) {
  const HeaderBytes bytes = encodeFileHeader(exampleHeader());
  const auto decoded = decodeFileHeader(bytes.data(), bytes.size());
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(decoded->manifestOffset, 0x1122334455u);
  EXPECT_EQ(decoded->manifestSize, 7u);
  EXPECT_EQ(decoded->manifestChecksum, 0x8877665544332211u);
  EXPECT_EQ(decoded->fileSize, 0x112233445cu);
}

TEST(FileHeader, refusesEveryShorterLength) {
  const HeaderBytes bytes = encodeFileHeader(exampleHeader());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decodeFileHeader(bytes.data(), size).ok()) << size;
}

TEST(FileHeader, refusesAnyChangedByte) {
  for (size_t i = 0; i < kFileHeaderBytes; ++i) {
    HeaderBytes bytes = encodeFileHeader(exampleHeader());
    bytes[i] ^= 0x40;
    EXPECT_NE(refusal(bytes), "") << "byte " << i;
  }
}

TEST(FileHeader, namesMagicAndVersion) {
  HeaderBytes bytes = encodeFileHeader(exampleHeader());
  bytes[0] = 'G';
  EXPECT_NE(refusal(bytes).find("not a .llmc file"), std::string::npos);
  bytes = encodeFileHeader(exampleHeader());
  bytes[4] = 2;
  seal(bytes);
  EXPECT_NE(refusal(bytes).find("major version is 2, this program reads 1"),
            std::string::npos);
}

TEST(FileHeader, acceptsAnotherMinorVersion) {
  HeaderBytes bytes = encodeFileHeader(exampleHeader());
  bytes[6] = 9;
  seal(bytes);
  EXPECT_EQ(refusal(bytes), "");
}

TEST(FileHeader, refusesManifestOutsideOfTheFile) {
  FileHeader header = exampleHeader();
  header.manifestSize = 8;
  EXPECT_NE(refusal(encodeFileHeader(header)), "");
  header.manifestSize = UINT64_MAX; // offset + size overflows
  EXPECT_NE(refusal(encodeFileHeader(header)), "");
  header = exampleHeader();
  header.manifestOffset = 63; // inside of the header
  EXPECT_NE(refusal(encodeFileHeader(header)), "");
}

} // namespace
} // namespace llmc::format
