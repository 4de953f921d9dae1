// SPDX-License-Identifier: Apache-2.0
//
// Files made by hand, whole and damaged in every way that a disk or an
// attacker may.

#include "runtime/format/Reader.h"

#include "test/support/ModuleFile.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

namespace llmc::format {
namespace {

using test::Bytes;
using test::ModuleFile;

/// Without sections.
Manifest exampleManifest() {
  Manifest manifest;
  manifest.set_producer("by hand");
  Variant *variant = manifest.add_variants();
  variant->mutable_target()->set_name("t");
  variant->add_buffers()->set_kind(Buffer::STEP);
  variant->mutable_buffers(0)->set_size(64);
  Entry *entry = variant->add_entries();
  entry->set_function("f");
  entry->set_rows(1);
  entry->mutable_step()->set_range(64);
  return manifest;
}

Bytes exampleBytes() {
  ModuleFile file;
  file.manifest = exampleManifest();
  file.addSection(Section::WEIGHT, "w", Bytes(5000, 0x5a));
  file.addSection(Section::CODE, "t", Bytes(40, 0x11));
  return file.makeBytes();
}

/// Opens `bytes` as a file which is gone afterwards.
StatusOr<std::unique_ptr<Reader>> openBytes(const Bytes &bytes) {
  const std::string path = test::writeTemporary("reader.llmc", bytes);
  auto reader = Reader::open(path);
  std::remove(path.c_str());
  return reader;
}

TEST(Reader, opensAWholeFile) {
  auto reader = openBytes(exampleBytes());
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ((*reader)->manifest().producer(), "by hand");
  const ByteSpan weight = (*reader)->section(0);
  ASSERT_EQ(weight.size, 5000u);
  EXPECT_EQ(weight.data[4999], 0x5a);
  EXPECT_TRUE((*reader)->verify().ok());
}

TEST(Reader, givesReleasedPagesAgain) {
  auto reader = openBytes(exampleBytes());
  ASSERT_TRUE(reader.ok());
  (*reader)->releasePages((*reader)->section(0));
  EXPECT_TRUE((*reader)->verifySection(0).ok());
}

TEST(Reader, refusesEveryTruncation) {
  const Bytes whole = exampleBytes();
  for (size_t size = 0; size < whole.size(); size += size < 128 ? 1 : 17) {
    auto reader = openBytes(Bytes(whole.begin(), whole.begin() + size));
    ASSERT_FALSE(reader.ok()) << size << " bytes";
    EXPECT_EQ(reader.status().code(), StatusCode::InvalidFile);
  }
  for (size_t cut = 1; cut < 200; ++cut)
    ASSERT_FALSE(openBytes(Bytes(whole.begin(), whole.end() - cut)).ok())
        << cut << " bytes are missing";
}

TEST(Reader, refusesMoreBytesThanTheHeaderSays) {
  Bytes bytes = exampleBytes();
  bytes.push_back(0);
  EXPECT_FALSE(openBytes(bytes).ok());
}

TEST(Reader, refusesAnyFlippedBitOfHeaderAndManifest) {
  const Bytes whole = exampleBytes();
  const size_t manifestBegin = 8192 + 4096 + 40; // after the second section
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i >= kFileHeaderBytes && i < manifestBegin)
      continue;
    Bytes bytes = whole;
    bytes[i] ^= 0x04;
    EXPECT_FALSE(openBytes(bytes).ok()) << "byte " << i;
  }
}

TEST(Reader, findsAFlippedBitOfASection) {
  Bytes bytes = exampleBytes();
  bytes[4096 + 4321] ^= 0x80;
  auto reader = openBytes(bytes);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE((*reader)->verifySection(1).ok());
  const Status status = (*reader)->verify();
  EXPECT_EQ(status.code(), StatusCode::InvalidFile);
  EXPECT_NE(status.message().find("sections[0] (w)"), std::string::npos)
      << status.message();
}

TEST(Reader, refusesAManifestThatIsNoMessage) {
  Bytes head(kFileHeaderBytes);
  Bytes bytes = test::sealManifest(Manifest(), head);
  // An empty message parses, and lacks variants.
  auto reader = openBytes(bytes);
  ASSERT_FALSE(reader.ok());
  EXPECT_NE(reader.status().message().find("variants"), std::string::npos);
}

/// A manifest with this behind its other fields.
StatusOr<std::unique_ptr<Reader>> openWith(const std::string &behind) {
  return openBytes(test::sealManifest(
      exampleManifest().SerializeAsString() + behind, Bytes(kFileHeaderBytes)));
}

/// The field of a tokenizer with such a token.
std::string tokenizerWith(const char *token) {
  Tokenizer tokenizer;
  tokenizer.add_tokens(token);
  Manifest manifest;
  manifest.set_tokenizer(tokenizer.SerializeAsString());
  return manifest.SerializeAsString();
}

TEST(Reader, givesTheTokenizerApart) {
  EXPECT_FALSE((*openBytes(exampleBytes()))->hasTokenizer());
  auto reader = openWith(tokenizerWith("a"));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ((*reader)->manifest().producer(), "by hand");
  ASSERT_TRUE((*reader)->hasTokenizer());
  for (int again = 0; again < 2; ++again) {
    auto found = (*reader)->readTokenizer();
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ((**found)->tokens_size(), 1);
    EXPECT_EQ((**found)->tokens(0), "a");
  }
}

TEST(Reader, refusesATokenizerThatIsNoMessage) {
  const char field = Manifest::kTokenizerFieldNumber << 3 | 2;
  // One byte, which begins a field of a number without end.
  auto reader = openWith({field, 1, '\xff'});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const Status status = (*reader)->readTokenizer().status();
  EXPECT_EQ(status.code(), StatusCode::InvalidFile);
  EXPECT_NE(
      status.message().find(": the tokenizer is not a valid protobuf message"),
      std::string::npos)
      << status.message();
  // A tokenizer that is longer than the manifest.
  EXPECT_EQ(openWith({field, 9, 0}).status().code(), StatusCode::InvalidFile);
}

TEST(Reader, refusesAWrongManifestWithARightChecksum) {
  auto whole = openBytes(exampleBytes());
  ASSERT_TRUE(whole.ok());
  Manifest manifest = (*whole)->manifest();
  manifest.mutable_sections(0)->set_size(UINT64_MAX);
  auto reader = openBytes(test::sealManifest(manifest, Bytes(20000)));
  ASSERT_FALSE(reader.ok());
  EXPECT_NE(reader.status().message().find("sections[0]"), std::string::npos);
}

TEST(Reader, namesTheFile) {
  auto reader = Reader::open("/nonexistent/model.llmc");
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().code(), StatusCode::NotFound);
  EXPECT_EQ(reader.status().message(), "/nonexistent/model.llmc: could not "
                                       "open: No such file or directory");
  EXPECT_FALSE(Reader::open("/").ok());
}

} // namespace
} // namespace llmc::format
