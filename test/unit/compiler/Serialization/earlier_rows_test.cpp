// SPDX-License-Identifier: Apache-2.0
//
// Rows that were quantized for an earlier file are read from there, and from
// nowhere else than a weight that is the same.

#include "compiler/Serialization/EarlierRows.h"

#include "compiler/Serialization/ModuleWriter.h"
#include "test/unit/compiler/Serialization/WriterTest.h"

#include <cmath>

using llmc::graph::WeightOp;
using llmc::importer::ConvertedRows;
using llmc::importer::WeightFiles;
using llmc::serialization::EarlierFile;
using llmc::serialization::offerEarlierRows;
namespace format = llmc::format;

namespace {

constexpr int64_t kRows = 40, kColumns = 64;

/// A weight of two sources, 24 and 16 rows of floats, quantized to i8_channel.
class EarlierRowsTest : public llmc::test::WriterTest {
protected:
  void SetUp() override {
    WriterTest::SetUp();
    for (size_t i = 0; i < kRows * kColumns; ++i)
      model.push_back(std::sin(static_cast<float>(i)));
    writeModel();
    module = parse(R"(
      module attributes {graph.files = ["MODEL"], DEVICE} {
        graph.weight @q : tensor<40x64x!graph.encoded<i8_channel>> from [
          #graph.source<file = 0, offset = 0, rows = 24, packing = <form = "rows", encoding = f32>>,
          #graph.source<file = 0, offset = 6144, rows = 16, packing = <form = "rows", encoding = f32>>]
        program.kernel @a "linear" workgroup [32, 1, 1] bindings 3 workgroup_memory 256 spirv [119734787, 65536, 1, 2, 3]
        program.entry @forward_r1 "forward" rows 1 arena 256 {
          %step = program.slice step bytes 64 offset 0
          %q = program.slice weight "q" bytes 3072
          %t = program.slice arena bytes 256 offset 0
          program.dispatch @a groups [1, 1, 1](%step, %q, %t) access [1, 1, 2]
        }
      })");
    ASSERT_TRUE(module);
    llmc::serialization::WriteOptions options;
    options.path = pathOf("old.llmc");
    auto written =
        llmc::serialization::writeModule({{*module, target("t")}}, options);
    ASSERT_TRUE(bool(written)) << llvm::toString(written.takeError());
  }

  void writeModel() const {
    std::ofstream(modelPath(), std::ios::binary)
        .write(reinterpret_cast<const char *>(model.data()),
               static_cast<std::streamsize>(model.size() * sizeof(float)));
  }

  /// The whole weight, with rows looked up in |rows|.
  std::vector<float> decode(ConvertedRows *rows) {
    auto files = llvm::cantFail(WeightFiles::open(*module, rows));
    WeightOp weight = *module->getOps<WeightOp>().begin();
    std::vector<float> numbers(kRows * kColumns);
    for (int64_t row = 0; row < kRows; ++row)
      files.decodeRow(weight, row, &numbers[row * kColumns]);
    return numbers;
  }

  /// The weight with the rows that old.llmc offers, and what went wrong.
  std::vector<float> decodeWithEarlier(bool mustBeSound, std::string &error) {
    auto earlier = EarlierFile::open(pathOf("old.llmc"), mustBeSound);
    EXPECT_TRUE(earlier.ok());
    ConvertedRows rows;
    error = llvm::toString(offerEarlierRows(*module, **earlier, rows));
    return decode(&rows);
  }

  std::vector<float> model;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

// Codes of row 16 and row 32 begin the second and the third tile, which the two
// sources share; the third is compared when rows are offered.
TEST_F(EarlierRowsTest, RowsAreThoseOfTheEarlierFile) {
  const std::vector<float> fresh = decode(nullptr);
  std::string error;
  EXPECT_EQ(decodeWithEarlier(true, error), fresh);
  editFirstWeight("old", /*at=*/1024);              // row 16, column 0
  editFirstWeight("old", /*at=*/1024 + 2 * 16 + 5); // row 25, column 1
  std::vector<float> found = decodeWithEarlier(true, error);
  EXPECT_EQ(error, "");
  for (size_t at : {size_t{16 * kColumns}, size_t{25 * kColumns + 1}}) {
    EXPECT_NE(found[at], fresh[at]) << at;
    EXPECT_NEAR(found[at], fresh[at], 0.01) << at; // one step of 1 / 127
    found[at] = fresh[at];
  }
  EXPECT_EQ(found, fresh);
}

TEST_F(EarlierRowsTest, AWeightOfAnotherSourceIsNotOffered) {
  editFirstWeight("old", 1024);
  model[20 * kColumns] += 0.5f;
  writeModel();
  std::string error;
  EXPECT_EQ(decodeWithEarlier(true, error), decode(nullptr));
  EXPECT_EQ(error, "");
}

TEST_F(EarlierRowsTest, ADamagedWeightIsNotOfferedOrAnError) {
  edit("old", [](format::Manifest &manifest, llmc::test::Bytes &head) {
    head[manifest.sections(0).offset() + 1024] ^= 1;
  });
  std::string error;
  EXPECT_EQ(decodeWithEarlier(false, error), decode(nullptr));
  EXPECT_EQ(error, "");
  decodeWithEarlier(true, error);
  EXPECT_EQ(error, pathOf("old.llmc") + ": the checksum of sections[0] (q) "
                                        "does not match: the file is damaged");
}

/// Has every row, but none of this weight's.
class WrongRows final : public llmc::graph::RowStore {
public:
  bool find(int64_t, uint8_t *result) const override {
    result[kColumns] = 1;
    return true;
  }
  void keep(int64_t, const uint8_t *) override {}
};

// Else rows of a file that were offered could make its own tiles right.
TEST_F(EarlierRowsTest, TilesAreComparedWithWhatTheModelGives) {
  auto earlier = EarlierFile::open(pathOf("old.llmc"), true);
  ASSERT_TRUE(earlier.ok());
  auto files = llvm::cantFail(WeightFiles::open(*module));
  auto weight = llvm::cantFail(llmc::serialization::storedWeight(
      *module->getOps<WeightOp>().begin(), files));
  WrongRows wrong;
  weight.sources[0].store = &wrong;
  EXPECT_TRUE((*earlier)->hasTilesOf(0, weight));
}

} // namespace
