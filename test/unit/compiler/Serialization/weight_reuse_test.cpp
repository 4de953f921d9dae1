// SPDX-License-Identifier: Apache-2.0
//
// Files written with an earlier file at hand are those that are written without
// it, whatever the earlier file is.

#include "compiler/Serialization/EarlierFile.h"
#include "compiler/Serialization/ModuleWriter.h"
#include "test/support/ModuleFile.h"
#include "test/unit/compiler/Serialization/WriterTest.h"

#include <fstream>
#include <sys/stat.h>

using llmc::StatusCode;
using llmc::serialization::EarlierFile;
using llmc::serialization::WeightBytes;
using llmc::serialization::writeModule;
using llmc::serialization::WriteOptions;
using llmc::test::Bytes;
using llmc::test::readBytes;
namespace format = llmc::format;

namespace {

// Two matrices of 40 rows of 8 floats, three tiles each, and a vector of 8.
constexpr size_t kMatrixBytes = 40 * 8 * 4, kModelBytes = 2 * kMatrixBytes + 32;
constexpr uint64_t kTile = 16 * 8 * 4, kPackedMatrix = 3 * kTile,
                   kPackedVector = 256,
                   kPacked = 2 * kPackedMatrix + kPackedVector;

class WeightReuseTest : public llmc::test::WriterTest {
protected:
  void SetUp() override {
    WriterTest::SetUp();
    for (size_t i = 0; i < kModelBytes; ++i)
      model.push_back(static_cast<char>(i * 29 % 127));
    writeModel();
  }

  void writeModel() const {
    std::ofstream(modelPath(), std::ios::binary)
        .write(model.data(), static_cast<std::streamsize>(model.size()));
  }

  mlir::OwningOpRef<mlir::ModuleOp> program(int64_t maxAllocation) {
    return parse(R"(
      module attributes {graph.files = ["MODEL"], DEVICE} {
        graph.weight @first : tensor<40x8x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 40>]
        graph.weight @second : tensor<40x8x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 1280, rows = 40>]
        graph.weight @bias : tensor<8x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 2560, rows = 8>]
        program.kernel @a "linear" workgroup [32, 1, 1] bindings 5 workgroup_memory 256 spirv [119734787, 65536, 1, 2, 3]
        program.entry @forward_r1 "forward" rows 1 arena 256 {
          %step = program.slice step bytes 64 offset 0
          %first = program.slice weight "first" bytes 1536
          %second = program.slice weight "second" bytes 1536
          %bias = program.slice weight "bias" bytes 32
          %t = program.slice arena bytes 256 offset 0
          program.dispatch @a groups [1, 1, 1](%step, %first, %second, %bias, %t) access [1, 1, 1, 1, 2]
        }
      })",
                 maxAllocation);
  }

  struct Written {
    WeightBytes weights;
    std::string error; // empty: none
    Bytes file;
  };

  /// Writes NAME.llmc for a target of that name.
  Written write(const std::string &name, const EarlierFile *earlier = nullptr,
                int64_t maxAllocation = 1 << 30) {
    auto module = program(maxAllocation);
    WriteOptions options;
    options.path = pathOf(name + ".llmc");
    options.manifest.set_producer("test");
    options.earlier = earlier;
    auto weights = writeModule({{*module, target(name)}}, options);
    if (!weights)
      return {{}, llvm::toString(weights.takeError()), {}};
    return {*weights, "", readBytes(options.path)};
  }

  /// Writes NAME.llmc with the weights of EARLIER.llmc, which must give what
  /// packing gives.
  Written rewrite(const std::string &name, const std::string &earlier,
                  bool mustBeSound = true) {
    auto opened = EarlierFile::open(pathOf(earlier + ".llmc"), mustBeSound);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    Written written = write(name, opened->get());
    EXPECT_EQ(written.error, "");
    EXPECT_EQ(written.file, write(name).file);
    EXPECT_EQ(written.weights.all, kPacked);
    EXPECT_EQ(written.weights.written, kPacked);
    return written;
  }

  std::string model;
};

TEST_F(WeightReuseTest, WithoutAnEarlierFileAllIsPacked) {
  const Written written = write("old");
  EXPECT_EQ(written.error, "");
  EXPECT_EQ(written.weights.all, kPacked);
  EXPECT_EQ(written.weights.copied, 0u);
}

TEST_F(WeightReuseTest, TheSameWeightsAreCopied) {
  write("old");
  EXPECT_EQ(rewrite("new", "old").weights.copied, kPacked);
}

TEST_F(WeightReuseTest, AFileMayTakeTheWeightsOfTheOneThatItReplaces) {
  const Written old = write("old");
  auto earlier = EarlierFile::open(pathOf("old.llmc"), true);
  const Written again = write("old", earlier->get(), /*maxAllocation=*/2048);
  EXPECT_EQ(again.weights.copied, kPacked);
  EXPECT_EQ(again.file, write("old", nullptr, 2048).file);
  EXPECT_NE(again.file, old.file);
}

// The second tile is one that is not packed anew, to compare it.
TEST_F(WeightReuseTest, CopiedBytesAreThoseOfTheEarlierFile) {
  const Written old = write("old");
  editFirstWeight("old", kTile + 5);
  auto earlier = EarlierFile::open(pathOf("old.llmc"), true);
  const Written written = write("old", earlier->get());
  EXPECT_EQ(written.weights.copied, kPacked);
  EXPECT_EQ(written.file[4096 + kTile + 5], old.file[4096 + kTile + 5] ^ 1);
}

TEST_F(WeightReuseTest, AWeightWithAChangedByteInItsSourceIsPackedAnew) {
  write("old");
  model[kMatrixBytes + 700] ^= 1; // row 21 of the second, not sampled
  writeModel();
  EXPECT_EQ(rewrite("new", "old").weights.copied,
            kPackedMatrix + kPackedVector);
  model[2 * kMatrixBytes] ^= 1;
  writeModel();
  EXPECT_EQ(rewrite("newer", "old").weights.copied, kPackedMatrix);
}

TEST_F(WeightReuseTest, ADamagedWeightIsPackedAnewOrAnError) {
  write("old");
  edit("old", [](format::Manifest &manifest, Bytes &head) {
    head[manifest.sections(0).offset() + kTile + 5] ^= 1;
  });
  EXPECT_EQ(rewrite("new", "old", /*mustBeSound=*/false).weights.copied,
            kPackedMatrix + kPackedVector);
  auto earlier = EarlierFile::open(pathOf("old.llmc"), /*mustBeSound=*/true);
  const size_t before = numFiles();
  EXPECT_EQ(write("another", earlier->get()).error,
            pathOf("old.llmc") + ": the checksum of sections[0] (first) does "
                                 "not match: the file is damaged");
  EXPECT_EQ(numFiles(), before);
}

// As if it came from a packer that gave other bytes under the same version.
TEST_F(WeightReuseTest, AWeightWithOtherTilesThanPackingGivesIsPackedAnew) {
  for (size_t at : {size_t{0}, size_t{2 * kTile}}) {
    write("old");
    editFirstWeight("old", at);
    EXPECT_EQ(rewrite("new", "old").weights.copied,
              kPackedMatrix + kPackedVector);
  }
}

TEST_F(WeightReuseTest, RecipesThatLieAreNoticed) {
  write("old");
  edit("old", [](format::Manifest &manifest, Bytes &) {
    manifest.mutable_sections(0)->mutable_recipe()->swap(
        *manifest.mutable_sections(1)->mutable_recipe());
  });
  EXPECT_EQ(rewrite("new", "old").weights.copied, kPackedVector);
  edit("old", [](format::Manifest &manifest, Bytes &) {
    manifest.mutable_sections(0)->mutable_recipe()->swap(
        *manifest.mutable_sections(2)->mutable_recipe());
  });
  EXPECT_EQ(rewrite("newer", "old").weights.copied, 0u);
}

TEST_F(WeightReuseTest, AFileWithoutRecipesHasNothingToCopy) {
  write("old");
  edit("old", [](format::Manifest &manifest, Bytes &) {
    for (format::Section &section : *manifest.mutable_sections())
      section.clear_recipe();
  });
  EXPECT_EQ(rewrite("new", "old").weights.copied, 0u);
}

TEST_F(WeightReuseTest, WhatIsNoSoundFileIsNotOpened) {
  auto statusOf = [&](const std::string &name) {
    return EarlierFile::open(pathOf(name), false).status();
  };
  EXPECT_EQ(statusOf("absent").code(), StatusCode::NotFound);
  EXPECT_EQ(statusOf("model.bin").code(), StatusCode::InvalidFile);
  EXPECT_EQ(statusOf("").message(), pathOf("") + ": is not a regular file");
  ASSERT_EQ(::mkfifo(pathOf("pipe").c_str(), 0600), 0);
  EXPECT_EQ(statusOf("pipe").code(), StatusCode::InvalidFile);
  write("old");
  std::filesystem::resize_file(pathOf("old.llmc"), 4100);
  EXPECT_EQ(statusOf("old.llmc").code(), StatusCode::InvalidFile);
}

} // namespace
