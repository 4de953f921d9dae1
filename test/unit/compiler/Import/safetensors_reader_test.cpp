// SPDX-License-Identifier: Apache-2.0
//
// What the safetensors reader takes, and the message for each way in which a
// file can be wrong.

#include "compiler/Import/HuggingFace/SafetensorsReader.h"
#include "test/unit/compiler/Import/toy_folder.h"

#include "llvm/ADT/StringExtras.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>

namespace {

using llmc::huggingface::Dtype;
using llmc::huggingface::SafetensorsFile;
using llmc::huggingface::Tensor;
using llmc::test::SafetensorsBuilder;
using llmc::test::safetensorsFile;
using testing::AllOf;
using testing::HasSubstr;

llvm::Expected<std::unique_ptr<SafetensorsFile>>
parse(const std::string &bytes) {
  return SafetensorsFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes),
                                "toy.safetensors");
}

std::string refusal(const std::string &bytes) {
  auto file = parse(bytes);
  return file ? "" : llvm::toString(file.takeError());
}

/// One tensor "w" with this entry and eight bytes of data.
std::string refusalOf(const std::string &entry) {
  return refusal(safetensorsFile("{\"w\":" + entry + "}", "12345678"));
}

TEST(SafetensorsReader, FindsTensorsAndTheirBytes) {
  SafetensorsBuilder builder;
  builder.tensor("a", "BF16", {2, 3}, "abcdefghijkl")
      .tensor("empty", "F16", {0, 7}, "")
      .tensor("scalar", "I64", {}, "12345678");
  auto file = llvm::cantFail(parse(builder.build()));
  EXPECT_EQ(file->tensors().size(), 3u);
  const Tensor *a = file->findTensor("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->dtype, Dtype::BF16);
  EXPECT_THAT(a->shape, testing::ElementsAre(2, 3));
  EXPECT_EQ(llvm::toStringRef(file->tensorBytes(*a)), "abcdefghijkl");
  EXPECT_EQ(file->findTensor("empty")->sizeInBytes, 0);
  EXPECT_EQ(llvm::toStringRef(file->tensorBytes(*file->findTensor("scalar"))),
            "12345678");
  EXPECT_EQ(file->findTensor("b"), nullptr);
}

TEST(SafetensorsReader, TakesMetadataAndSpacesBehindTheHeader) {
  auto file = parse(safetensorsFile(
      R"({"__metadata__":{"format":"pt"},"w":{"shape":[2],"dtype":"F32","data_offsets":[0,8]}}   )",
      "12345678"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ((*file)->tensors().size(), 1u);
  EXPECT_EQ(refusal(safetensorsFile(R"({"__metadata__":{}})", "")), "");
}

TEST(SafetensorsReader, TensorsMayStandInAnyOrder) {
  auto file = llvm::cantFail(parse(
      safetensorsFile(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                      "xy")));
  EXPECT_EQ(llvm::toStringRef(file->tensorBytes(*file->findTensor("b"))), "y");
}

TEST(SafetensorsReader, RefusesLengthsBeyondTheFile_B30) {
  std::string file = SafetensorsBuilder().numbers("w", {2}).build();
  for (uint64_t length : {UINT64_MAX, uint64_t(1) << 63, uint64_t(file.size()),
                          uint64_t(file.size()) - 7}) {
    std::memcpy(file.data(), &length, sizeof(length));
    EXPECT_THAT(refusal(file),
                AllOf(HasSubstr("toy.safetensors"),
                      HasSubstr("header's length is " + std::to_string(length)),
                      HasSubstr("download it again")));
  }
  EXPECT_THAT(refusal(safetensorsFile("", "")), HasSubstr("no JSON object"));
  std::string large(100'000'010, ' ');
  uint64_t length = 100'000'001;
  std::memcpy(large.data(), &length, sizeof(length));
  EXPECT_THAT(refusal(large), HasSubstr("at most 100000000"));
}

TEST(SafetensorsReader, RefusesHeadersThatAreNoObjects_B30) {
  EXPECT_THAT(refusal(safetensorsFile("[1]", "")), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal(safetensorsFile("{\"\xff\":1}", "")),
              HasSubstr("no valid JSON in UTF-8 at its byte 3"));
  EXPECT_THAT(refusal(safetensorsFile("{} {}", "")),
              HasSubstr("at its byte 4"));
  EXPECT_THAT(refusal(safetensorsFile(R"({"w":3})", "")),
              HasSubstr("'w' is 3, allowed is an object"));
  EXPECT_THAT(refusal(safetensorsFile(R"({"__metadata__":{"a":1}})", "")),
              HasSubstr("'a' is 1, allowed is a string"));
  EXPECT_THAT(refusalOf("[]"), HasSubstr("'w' is an array"));
  EXPECT_THAT(refusalOf("{}"), HasSubstr("'w' lacks one of dtype, shape"));
}

TEST(SafetensorsReader, RefusesOffsetsThatAreNoRange_B30) {
  auto refusalFor = [](const std::string &offsets) {
    return refusalOf(R"({"dtype":"F32","shape":[2],"data_offsets":)" + offsets +
                     "}");
  };
  EXPECT_EQ(refusalFor("[0,8]"), "");
  for (const char *offsets : {"[8,4]", "[]", "[0]", "[0,18446744073709551615]"})
    EXPECT_THAT(refusalFor(offsets), HasSubstr("no [begin, end]")) << offsets;
  for (const char *offsets : {"[-4,4]", "[0,8,8]", "[0,1.5]", "8", "[[0,8]]",
                              "[0,18446744073709551616]", "null"})
    EXPECT_THAT(refusalFor(offsets), HasSubstr("data_offsets' holds"))
        << offsets;
  EXPECT_THAT(refusalFor("[0,9223372036854775807]"),
              HasSubstr("bytes, but its shape and dtype need 8"));
  EXPECT_THAT(refusalFor("[8,16]"),
              HasSubstr("ends at byte 16 of the data, which has 8"));
}

TEST(SafetensorsReader, RefusesShapesThatDoNotFitTheBytes_B30) {
  auto refusalFor = [](const std::string &shape, const std::string &dtype) {
    return refusalOf(R"({"dtype":")" + dtype + R"(","shape":)" + shape +
                     R"(,"data_offsets":[0,8]})");
  };
  EXPECT_EQ(refusalFor("[4]", "F16"), "");
  EXPECT_THAT(refusalFor("[3]", "F32"), HasSubstr("shape and dtype need 12"));
  EXPECT_THAT(refusalFor("[8589934592,8589934592]", "F32"),
              HasSubstr("more than 2^63 - 1 bytes"));
  EXPECT_THAT(refusalFor("[8589934592,8589934592,0]", "U8"),
              HasSubstr("more than 2^63 - 1 bytes"));
  EXPECT_THAT(refusalFor("[-1]", "F32"), HasSubstr("'shape' holds -1"));
  EXPECT_THAT(refusalFor("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]", "F32"),
              HasSubstr("more than 16 dimensions"));
  EXPECT_THAT(refusalFor("[2]", "F4_X"),
              HasSubstr("'w' has dtype 'F4_X', known are BOOL, U8"));
}

TEST(SafetensorsReader, RefusesWhatIsSaidTwice_B26) {
  const std::string entry =
      R"({"dtype":"U8","shape":[8],"data_offsets":[0,8]})";
  EXPECT_THAT(refusal(safetensorsFile(
                  "{\"w\":" + entry + ",\"w\":" + entry + "}", "12345678")),
              HasSubstr("the header has 'w' twice"));
  EXPECT_THAT(
      refusalOf(
          R"({"dtype":"U8","dtype":"F32","shape":[8],"data_offsets":[0,8]})"),
      HasSubstr("'dtype' twice"));
  EXPECT_THAT(
      refusal(safetensorsFile(R"({"__metadata__":{"a":"","a":""}})", "")),
      HasSubstr("__metadata__ has 'a' twice"));
  EXPECT_THAT(refusalOf(R"({"type":"U8"})"),
              HasSubstr("unknown field 'type', allowed are dtype"));
}

TEST(SafetensorsReader, RefusesOverlapsGapsAndBytesLeftOver) {
  auto twoTensors = [](const std::string &offsets) {
    return refusal(safetensorsFile(
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
        R"("b":{"dtype":"U8","shape":[4],"data_offsets":)" +
            offsets + "}}",
        "123456789"));
  };
  EXPECT_THAT(twoTensors("[3,7]"),
              HasSubstr("'b' begins at byte 3 of the data, allowed is 4"));
  EXPECT_THAT(twoTensors("[0,4]"), HasSubstr("'b' begins at byte 0"));
  EXPECT_THAT(twoTensors("[5,9]"), HasSubstr("'b' begins at byte 5"));
  EXPECT_THAT(twoTensors("[4,8]"),
              HasSubstr("the tensors end at byte 8 of the data, which has 9"));
}

TEST(SafetensorsReader, EveryPrefixIsRefused_B29) {
  const std::string bytes =
      SafetensorsBuilder().numbers("a", {2, 3}).numbers("b", {1}).build();
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THAT(refusal(bytes.substr(0, length)), HasSubstr("toy.safetensors"))
        << length;
}

/// Loads or is refused with a message; the sanitizers watch over the rest.
TEST(SafetensorsReader, DamagedBytesDoNoHarm) {
  const std::string bytes =
      SafetensorsBuilder().numbers("a", {2, 3}).numbers("b", {1}).build();
  for (size_t place = 0; place < bytes.size(); ++place)
    for (char value : {'\0', '\x01', '{', '[', '"', '9', '\xff'}) {
      std::string damaged = bytes;
      damaged[place] = value;
      auto file = parse(damaged);
      if (!file)
        EXPECT_THAT(llvm::toString(file.takeError()),
                    HasSubstr("toy.safetensors"));
    }
}

TEST(SafetensorsReader, DeeplyNestedHeadersDoNoHarm) {
  std::string deep = "{\"w\":" + std::string(1'000'000, '[');
  EXPECT_THAT(refusal(safetensorsFile(deep, "")), HasSubstr("an array"));
}

TEST(SafetensorsReader, TensorsBehindFourGibibytesAreRead_B34) {
  llmc::test::TemporaryDirectory folder;
  const std::string path = folder.path("sparse.safetensors");
  const uint64_t hole = uint64_t(9) << 29; // 4.5 GiB
  const std::string header =
      R"({"hole":{"dtype":"U8","shape":[4831838208],"data_offsets":[0,4831838208]},)"
      R"("w":{"dtype":"U8","shape":[4],"data_offsets":[4831838208,4831838212]}})";
  folder.write("sparse.safetensors", safetensorsFile(header, ""));
  std::filesystem::resize_file(path, 8 + header.size() + hole);
  std::ofstream(path, std::ios::binary | std::ios::app) << "last";
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(llvm::toStringRef((*file)->tensorBytes(*(*file)->findTensor("w"))),
            "last");
}

TEST(SafetensorsReader, MissingFilesAreNamed) {
  auto file = SafetensorsFile::open("/nonexistent/model.safetensors");
  ASSERT_FALSE(bool(file));
  EXPECT_THAT(llvm::toString(file.takeError()),
              HasSubstr("/nonexistent/model.safetensors: can't be read"));
}

} // namespace
