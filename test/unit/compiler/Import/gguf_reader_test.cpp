// SPDX-License-Identifier: Apache-2.0
//
// The GGUF reader: what it reads, and what it refuses with which message.

#include "compiler/Import/GGUF/GgufReader.h"
#include "test/unit/compiler/Import/gguf_builder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using llmc::gguf::GgufFile;
using llmc::test::GgufBuilder;
using llmc::test::ggufString;
using llmc::test::littleEndian;
using testing::AllOf;
using testing::HasSubstr;

llvm::Expected<std::unique_ptr<GgufFile>> parse(const std::string &bytes) {
  return GgufFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes),
                         "toy.gguf");
}

/// The message with which the bytes are refused; "" when they load.
std::string refusal(const std::string &bytes) {
  auto file = parse(bytes);
  return file ? "" : llvm::toString(file.takeError());
}
std::string refusal(const GgufBuilder &builder) {
  return refusal(builder.build());
}

GgufBuilder toy() {
  GgufBuilder builder;
  builder.text("general.architecture", "toy").number("toy.block_count", 2);
  return builder;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

TEST(GgufReaderTest, ReadsTensorsOutermostDimensionFirst) {
  std::string bytes = toy().ones("a", {4}).ones("b", {2, 3}).build();
  auto file = parse(bytes);
  ASSERT_TRUE(bool(file));
  const llmc::gguf::Tensor *b = (*file)->findTensor("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(std::vector<int64_t>(b->shape.begin(), b->shape.end()),
            (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(b->sizeInBytes, 24);
  EXPECT_EQ(b->offset, int64_t(bytes.size()) - 32);
  EXPECT_EQ((*file)->tensorBytes(*b)[3], 0x3f);
  EXPECT_EQ((*file)->findTensor("c"), nullptr);
}

TEST(GgufReaderTest, ReadsBothVersionsAndAlignments) {
  for (uint32_t version : {2u, 3u})
    EXPECT_EQ(refusal(toy().withVersion(version).ones("a", {4})), "");
  GgufBuilder wide = toy();
  wide.number("general.alignment", 64).alignTo(64);
  EXPECT_EQ(refusal(wide.ones("a", {4}).ones("b", {4})), "");
}

TEST(GgufReaderTest, LooksUpMetadata) {
  std::string strings = littleEndian<uint32_t>(8) + littleEndian<uint64_t>(2) +
                        ggufString("x") + ggufString("");
  std::string integers = littleEndian<uint32_t>(5) + littleEndian<uint64_t>(2) +
                         littleEndian<int32_t>(-7) + littleEndian<int32_t>(9);
  GgufBuilder builder = toy();
  builder.real("f", 0.5f).pair("b", llmc::test::kBool, std::string(1, '\1'));
  builder.pair("s", llmc::test::kArray, strings);
  builder.pair("i", llmc::test::kArray, integers);
  std::string bytes = builder.build();
  auto file = parse(bytes);
  ASSERT_TRUE(bool(file));
  EXPECT_EQ(*(*file)->getString("general.architecture"), "toy");
  EXPECT_EQ(*(*file)->getUnsigned("toy.block_count"), 2u);
  EXPECT_EQ(*(*file)->getFloat("f"), 0.5);
  EXPECT_TRUE(*(*file)->getBool("b"));
  EXPECT_EQ((*(*file)->getStrings("s"))[0], "x");
  EXPECT_EQ(*(*file)->getIntegers("i"), (std::vector<int64_t>{-7, 9}));
  EXPECT_EQ(*(*file)->findUnsigned("absent"), std::nullopt);
}

TEST(GgufReaderTest, LookUpsNameWhatIsMissingOrOfAWrongType) {
  std::string bytes = toy().build();
  auto file = parse(bytes);
  ASSERT_TRUE(bool(file));
  EXPECT_EQ(llvm::toString((*file)->getFloat("toy.eps").takeError()),
            "toy.gguf: metadata 'toy.eps' is missing");
  EXPECT_EQ(
      llvm::toString((*file)->findUnsigned("general.architecture").takeError()),
      "toy.gguf: metadata 'general.architecture' has type STRING, allowed is "
      "an integer type");
}

//===----------------------------------------------------------------------===//
// Refusing
//===----------------------------------------------------------------------===//

TEST(GgufReaderTest, EveryPrefixIsRefusedUnlessOnlyPaddingIsCut) {
  GgufBuilder builder = toy();
  builder.pair("s", llmc::test::kArray,
               littleEndian<uint32_t>(8) + littleEndian<uint64_t>(1) +
                   ggufString("token"));
  std::string bytes = builder.ones("a", {4}).ones("b", {4}).build();
  size_t padding = 16; // "b" has 16 bytes and is padded to 32
  for (size_t length = 0; length < bytes.size(); ++length) {
    std::string message = refusal(bytes.substr(0, length));
    if (length < bytes.size() - padding)
      EXPECT_THAT(message,
                  AllOf(HasSubstr("toy.gguf"), HasSubstr("download it again")))
          << length;
    else
      EXPECT_EQ(message, "") << length;
  }
}

TEST(GgufReaderTest, RefusesOtherMagicsVersionsAndByteOrder) {
  std::string good = toy().build();
  EXPECT_THAT(refusal("GGML" + good.substr(4)),
              HasSubstr("a format older than GGUF"));
  EXPECT_THAT(refusal("FUGG" + good.substr(4)),
              HasSubstr("'FUGG', allowed is 'GGUF'"));
  for (uint32_t version : {0u, 1u, 99u})
    EXPECT_THAT(refusal(toy().withVersion(version)),
                HasSubstr("version is " + std::to_string(version) +
                          ", allowed are 2 and 3"));
  EXPECT_THAT(refusal(toy().withVersion(0x03000000)), HasSubstr("big-endian"));
}

TEST(GgufReaderTest, RefusesDimensionsThatWrapOrVanish) {
  auto shape = [](std::vector<uint64_t> dimensions, uint32_t type = 0) {
    return refusal(toy().entry("odd", dimensions, type, 0));
  };
  const uint64_t one = 1;
  EXPECT_THAT(shape({(one << 62) + 1}), HasSubstr("'odd'"));
  EXPECT_THAT(shape({one << 32, one << 32}), HasSubstr("2^63 - 1 elements"));
  EXPECT_THAT(shape({~uint64_t(0), 2}), HasSubstr("2^63 - 1 elements"));
  EXPECT_THAT(shape({0}), HasSubstr("dimension 0 is 0"));
  EXPECT_THAT(shape({}), HasSubstr("number of dimensions is 0"));
  EXPECT_THAT(shape({1, 1, 1, 1, 1}), HasSubstr("number of dimensions is 5"));
  EXPECT_THAT(shape({33}, 2), HasSubstr("multiples of 32"));
  std::string huge = toy().entry("odd", {1}, 0, 0).build();
  size_t place = huge.find("odd") + 3;
  huge.replace(place, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(refusal(huge), HasSubstr("number of dimensions is 4294967295"));
}

TEST(GgufReaderTest, RefusesOffsetsBeyondTheFile) {
  EXPECT_THAT(refusal(toy().entry("odd", {4}, 0, -uint64_t(32))),
              HasSubstr("offset is 18446744073709551584"));
  EXPECT_THAT(refusal(toy().entry("odd", {4}, 0, uint64_t(1) << 62)),
              HasSubstr("'odd' has 16 bytes at offset"));
  EXPECT_THAT(refusal(toy().entry("odd", {4}, 0, 8)),
              HasSubstr("multiples of the alignment 32"));
}

TEST(GgufReaderTest, RefusesLengthsAndCountsBeyondTheFile) {
  GgufBuilder manyPairs = toy(), manyTensors = toy();
  manyPairs.numPairs = uint64_t(1) << 40;
  manyTensors.numTensors = uint64_t(1) << 40;
  EXPECT_THAT(refusal(manyPairs), HasSubstr("pairs is 1099511627776"));
  EXPECT_THAT(refusal(manyTensors), HasSubstr("tensors is 1099511627776"));

  std::string longKey = toy().build();
  longKey.replace(24, 8, littleEndian<uint64_t>(INT64_MAX));
  EXPECT_THAT(refusal(longKey), HasSubstr("a metadata key needs"));

  const std::string count = littleEndian<uint64_t>(uint64_t(1) << 61);
  for (uint32_t type : {0u, 4u, 8u, 12u})
    EXPECT_THAT(refusal(toy().pair("list", llmc::test::kArray,
                                   littleEndian(type) + count)),
                HasSubstr("'list' has 2305843009213693952 elements"));
  EXPECT_THAT(refusal(toy().pair("long", llmc::test::kString,
                                 littleEndian<uint64_t>(5000))),
              HasSubstr("'long' needs 5000 bytes"));
}

TEST(GgufReaderTest, RefusesOddValueTypes) {
  EXPECT_THAT(refusal(toy().pair("odd", 13, "xxxx")), HasSubstr("13, allowed"));
  EXPECT_THAT(refusal(toy().pair("odd", llmc::test::kArray,
                                 littleEndian<uint32_t>(9) +
                                     littleEndian<uint64_t>(1))),
              HasSubstr("array of arrays"));
  EXPECT_THAT(refusal(toy().pair("odd", llmc::test::kBool, "\2")),
              HasSubstr("the boolean 2"));
}

TEST(GgufReaderTest, RefusesOddAlignments) {
  for (uint32_t alignment : {0u, 3u, 1u << 30})
    EXPECT_THAT(refusal(toy().number("general.alignment", alignment)),
                HasSubstr("powers of two up to 65536"));
  EXPECT_THAT(refusal(toy().pair("general.alignment", llmc::test::kInt32,
                                 littleEndian<int32_t>(32))),
              HasSubstr("has type INT32, allowed is UINT32"));
  EXPECT_THAT(refusal(toy().text("general.alignment", "32")),
              HasSubstr("has type STRING"));
}

TEST(GgufReaderTest, RefusesDuplicates) {
  EXPECT_THAT(refusal(toy().text("general.architecture", "x")),
              HasSubstr("'general.architecture' occurs twice"));
  const std::string name = "blk.0.attn_q.weight";
  EXPECT_THAT(refusal(toy().ones(name, {4}).ones(name, {4})),
              HasSubstr("'blk.0.attn_q.weight' occurs twice"));
}

TEST(GgufReaderTest, RefusesTypesWithoutDecoder) {
  const std::pair<uint32_t, const char *> cases[] = {{15, "15 (Q8_K)"},
                                                     {24, "24 (I8)"},
                                                     {4, "4 (Q4_2, removed)"},
                                                     {200, "200 (unknown)"}};
  for (auto [type, text] : cases)
    EXPECT_THAT(refusal(toy().entry("blk.0.ffn_up.weight", {256}, type, 0)),
                AllOf(HasSubstr("'blk.0.ffn_up.weight'"), HasSubstr(text),
                      HasSubstr("supported are F32, F16,")));
}

TEST(GgufReaderTest, EscapesNamesInMessages) {
  EXPECT_THAT(refusal(toy().entry("a\nb", {0}, 0, 0)), HasSubstr("'a\\0Ab'"));
}

TEST(GgufReaderTest, NamesAFileThatCannotBeRead) {
  auto file = GgufFile::open("/nonexistent/model.gguf");
  ASSERT_FALSE(bool(file));
  EXPECT_THAT(llvm::toString(file.takeError()),
              HasSubstr("/nonexistent/model.gguf: can't be read"));
}

} // namespace
