// SPDX-License-Identifier: Apache-2.0
//
// Where the numbers of a module's weights come from: files, tables in the
// module, and sources that are not rows in the weight's encoding.

#include "compiler/Import/WeightFiles.h"
#include "test/unit/compiler/Import/toy_folder.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using llmc::graph::WeightOp;
using llmc::importer::WeightFiles;
using testing::ElementsAre;
using testing::HasSubstr;

/// A file "w.bin" of the F32 numbers 0 … 11.
class WeightFilesTest : public testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<llmc::graph::GraphDialect>();
    std::string bytes;
    for (int i = 0; i < 12; ++i) {
      auto number = static_cast<float>(i);
      bytes.append(reinterpret_cast<const char *>(&number), sizeof(number));
    }
    folder.write("w.bin", bytes);
  }

  /// A module with these entries behind the file, and one weight.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &files,
                                          const std::string &weight) {
    return mlir::parseSourceString<mlir::ModuleOp>(
        "module attributes {graph.files = [\"" + folder.path("w.bin") + "\"" +
            files + "]} { graph.weight @w : " + weight + " }",
        &context);
  }
  std::vector<float> numbers(const std::string &files,
                             const std::string &weight) {
    auto module = parse(files, weight);
    auto opened = llvm::cantFail(WeightFiles::open(*module));
    WeightOp op = *module->getOps<WeightOp>().begin();
    auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
    int64_t rows = type.getRank() == 1 ? 1 : type.getDimSize(0);
    int64_t columns = type.getShape().back();
    std::vector<float> result(rows * columns);
    for (int64_t row = 0; row < rows; ++row)
      opened.decodeRow(op, row, &result[row * columns]);
    return result;
  }
  std::string refusal(const std::string &files, const std::string &weight) {
    auto module = parse(files, weight);
    auto opened = WeightFiles::open(*module);
    return opened ? "" : llvm::toString(opened.takeError());
  }

  llmc::test::TemporaryDirectory folder;
  mlir::MLIRContext context;
};

TEST_F(WeightFilesTest, RowsOfSourcesFollowOneAnother) {
  EXPECT_THAT(
      numbers("", "tensor<3x2x!graph.encoded<f32>> from [#graph.source<file = "
                  "0, offset = 32, rows = 2>, #graph.source<file = 0, offset = "
                  "0, rows = 1>]"),
      ElementsAre(8, 9, 10, 11, 0, 1));
}

TEST_F(WeightFilesTest, TablesOfTheModuleAreFiles) {
  EXPECT_THAT(numbers(", array<f32: 2.5, -1.0, 4.0>",
                      "tensor<2x!graph.encoded<f32>> from [#graph.source<file "
                      "= 1, offset = 4, rows = 2>]"),
              ElementsAre(-1.0f, 4.0f));
  EXPECT_THAT(refusal(", array<f32: 2.5>",
                      "tensor<2x!graph.encoded<f32>> from [#graph.source<file "
                      "= 1, offset = 0, rows = 2>]"),
              HasSubstr("weight 'w' has 8 bytes at offset 0, but the file has "
                        "4 bytes"));
  EXPECT_THAT(refusal(", 3", "tensor<1x!graph.encoded<f32>> from [#graph.source"
                             "<file = 0, offset = 0, rows = 1>]"),
              HasSubstr("something else than strings and arrays of f32"));
}

TEST_F(WeightFilesTest, AddendsBelongToEveryNumberOfTheirSource) {
  EXPECT_THAT(
      numbers("", "tensor<3x!graph.encoded<f32>> from [#graph.source<file = 0, "
                  "offset = 4, rows = 2, addend = 1.0 : f32>, #graph.source<"
                  "file = 0, offset = 0, rows = 1>]"),
      ElementsAre(2, 3, 0));
  EXPECT_THAT(refusal("", "tensor<2x2x!graph.encoded<f32>> from [#graph.source<"
                          "file = 0, offset = 0, rows = 2, addend = 1.0 : f32>"
                          "]"),
              HasSubstr("weight 'w' is a matrix, whose sources can't have an "
                        "addend"));
}

TEST_F(WeightFilesTest, TransposedSourcesAreReadColumnByColumn) {
  // [4][3] numbers in the file.
  EXPECT_THAT(
      numbers("", "tensor<3x4x!graph.encoded<f32>> from [#graph.source<file = "
                  "0, offset = 0, rows = 3, packing = #graph.packing<form = "
                  "\"transposed\", encoding = f32>>]"),
      ElementsAre(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11));
}

TEST_F(WeightFilesTest, PackingsThatDoNotFitAreRefused) {
  auto refusalOf = [&](const std::string &type, const std::string &packing) {
    return refusal("", type +
                           " from [#graph.source<file = 0, offset = 0, rows "
                           "= 3, packing = #graph.packing<" +
                           packing + ">>]");
  };
  EXPECT_THAT(refusalOf("tensor<3x4x!graph.encoded<f32>>",
                        "form = \"diagonal\", encoding = f32"),
              HasSubstr("weight 'w' has an unknown packing 'diagonal'"));
  EXPECT_THAT(refusalOf("tensor<3x4x!graph.encoded<bf16>>",
                        "form = \"transposed\", encoding = f32"),
              HasSubstr("weight 'w' of 3 rows and 4 columns in encoding BF16 "
                        "can't be read from #graph.packing"));
  EXPECT_THAT(refusalOf("tensor<3x!graph.encoded<f32>>",
                        "form = \"transposed\", encoding = f32"),
              HasSubstr("is a vector, which can't be packed"));
  EXPECT_THAT(refusalOf("tensor<3x5x!graph.encoded<f32>>",
                        "form = \"transposed\", encoding = f32"),
              HasSubstr("has 60 bytes at offset 0, but the file has 48"));
}

TEST_F(WeightFilesTest, FilesThatAreMissingAreNamed) {
  EXPECT_THAT(refusal(", \"/nonexistent/w.bin\"",
                      "tensor<1x!graph.encoded<f32>> from [#graph.source<file "
                      "= 0, offset = 0, rows = 1>]"),
              HasSubstr("/nonexistent/w.bin: can't be read"));
  EXPECT_THAT(refusal("", "tensor<1x!graph.encoded<f32>> from [#graph.source<"
                          "file = 1, offset = 0, rows = 1>]"),
              HasSubstr("names file 1, but graph.files has 1"));
}

} // namespace
