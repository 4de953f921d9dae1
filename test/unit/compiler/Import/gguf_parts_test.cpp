// SPDX-License-Identifier: Apache-2.0
//
// Models that are split over several GGUF files.

#include "compiler/Import/GGUF/GgufReader.h"
#include "test/support/TestFolder.h"
#include "test/unit/compiler/Import/gguf_builder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

using llmc::gguf::GgufFile;
using llmc::test::GgufBuilder;
using testing::AllOf;
using testing::HasSubstr;

/// Parts of a model in a folder of their own.
class GgufPartsTest : public testing::Test {
protected:
  void SetUp() override { folder = llmc::test::makeTestFolder(); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// "toy-00002-of-00003.gguf" for part 1.
  std::string pathOf(int part, int count = 3) const {
    char name[64];
    std::snprintf(name, sizeof(name), "/toy-%05d-of-%05d.gguf", part + 1,
                  count);
    return folder + name;
  }
  /// A part with the tensor t<part> of |part| + 1 numbers.
  static GgufBuilder makePart(int part, int count = 3, int numTensors = 3) {
    GgufBuilder builder;
    if (part == 0)
      builder.text("general.architecture", "toy");
    builder.number("split.no", static_cast<uint32_t>(part))
        .number("split.count", static_cast<uint32_t>(count))
        .number("split.tensors.count", static_cast<uint32_t>(numTensors));
    builder.ones("t" + std::to_string(part), {static_cast<uint64_t>(part) + 1});
    return builder;
  }
  static void write(const std::string &path, const GgufBuilder &builder) {
    std::ofstream(path, std::ios::binary) << builder.build();
  }
  void writeAll() {
    for (int part = 0; part < 3; ++part)
      write(pathOf(part), makePart(part));
  }
  static std::string refusal(const std::string &path) {
    auto file = GgufFile::open(path);
    return file ? "" : llvm::toString(file.takeError());
  }

  std::string folder;
};

TEST_F(GgufPartsTest, TensorsOfAllParts) {
  writeAll();
  auto file = GgufFile::open(pathOf(0));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ((*file)->tensors().size(), 3U);
  EXPECT_EQ((*file)->paths(),
            (std::vector<std::string>{pathOf(0), pathOf(1), pathOf(2)}));
  for (int part = 0; part < 3; ++part) {
    const auto *tensor = (*file)->findTensor("t" + std::to_string(part));
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->file, part);
    llvm::ArrayRef<uint8_t> bytes = (*file)->tensorBytes(*tensor);
    EXPECT_EQ(bytes.size(), 4U * (static_cast<size_t>(part) + 1));
    EXPECT_EQ(bytes.back(), 0x3f); // of 1.0
  }
}

TEST_F(GgufPartsTest, OneFileThatIsWhole) {
  write(folder + "/whole.gguf", makePart(0, 1, 1));
  EXPECT_EQ(refusal(folder + "/whole.gguf"), "");
}

TEST_F(GgufPartsTest, AMissingPartIsNamed) {
  writeAll();
  std::filesystem::remove(pathOf(1));
  EXPECT_THAT(refusal(pathOf(0)),
              AllOf(HasSubstr(pathOf(1)), HasSubstr("part 2 of 3")));
}

TEST_F(GgufPartsTest, TheFirstPartStandsForAll) {
  writeAll();
  EXPECT_THAT(
      refusal(pathOf(2)),
      AllOf(HasSubstr("part 3 of a model in 3 files"), HasSubstr(pathOf(0))));
}

TEST_F(GgufPartsTest, PartsThatDoNotBelongTogether) {
  writeAll();
  write(pathOf(1), makePart(2));
  EXPECT_THAT(refusal(pathOf(0)),
              HasSubstr("'split.no' is 2, allowed in part 2 of 3 is 1"));
  write(pathOf(1), makePart(1, 4));
  EXPECT_THAT(refusal(pathOf(0)),
              HasSubstr("'split.count' is 4, allowed in part 2 of 3 is 3"));
  write(pathOf(1), makePart(1).ones("t0", {1}));
  EXPECT_THAT(refusal(pathOf(0)), HasSubstr("tensor 't0' is in an earlier"));
  write(pathOf(1), makePart(1).ones("extra", {1}));
  EXPECT_THAT(refusal(pathOf(0)),
              HasSubstr("'split.tensors.count' is 3, but the model's 3 files "
                        "have 4 tensors"));
}

TEST_F(GgufPartsTest, NamesAndNumbersOutOfRange) {
  write(folder + "/other.gguf", makePart(0));
  EXPECT_THAT(refusal(folder + "/other.gguf"),
              HasSubstr("whose name must end in '-00001-of-00003.gguf'"));
  write(folder + "/many.gguf", makePart(0, 100000));
  EXPECT_THAT(refusal(folder + "/many.gguf"),
              HasSubstr("'split.count' is 100000, allowed are up to 99999"));
}

} // namespace
