// SPDX-License-Identifier: Apache-2.0
//
// Which rows are kept while a model is compiled, and for whom.

#include "compiler/Import/ConvertedRows.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

namespace {

using llmc::graph::SourceAttr;
using llmc::importer::ConvertedRows;
using mlir::RankedTensorType;

class ConvertedRowsTest : public testing::Test {
protected:
  void SetUp() override { context.loadDialect<llmc::graph::GraphDialect>(); }

  SourceAttr source(const std::string &packing) {
    return llvm::cast<SourceAttr>(mlir::parseAttribute(
        "#graph.source<file = 0, offset = 0, rows = 8" + packing + ">",
        &context));
  }
  RankedTensorType type(const std::string &text) {
    return llvm::cast<RankedTensorType>(
        mlir::parseType("tensor<" + text + ">", &context));
  }

  mlir::MLIRContext context;
};

const char kRows[] = ", packing = <form = \"rows\", encoding = f16>";

TEST_F(ConvertedRowsTest, OnlyQuantizedRowsAreKept) {
  auto isKept = [&](const std::string &packing, const std::string &encoding) {
    ConvertedRows rows;
    return rows.find(source(packing),
                     type("8x64x!graph.encoded<" + encoding + ">")) != nullptr;
  };
  EXPECT_TRUE(isKept(kRows, "i4_g32"));
  EXPECT_TRUE(isKept(kRows, "i8_channel"));
  EXPECT_TRUE(isKept(", packing = <form = \"transposed\", encoding = f32>",
                     "i4_channel_asym"));
  EXPECT_FALSE(isKept("", "i4_g32")); // as in the file
  EXPECT_FALSE(isKept(kRows, "f16"));
  EXPECT_FALSE(isKept(", packing = <form = \"rows\", encoding = f32>", "f16"));
  EXPECT_FALSE(
      isKept(", packing = <form = \"awq\", encoding = f16, group = 32, "
             "scales = <file = 0, offset = 4096>>",
             "i4_g32"));
}

TEST_F(ConvertedRowsTest, WeightsShareTheRowsOfASource) {
  ConvertedRows rows;
  auto alone = type("8x64x!graph.encoded<i4_g32>");
  llmc::graph::RowStore *store = rows.find(source(kRows), alone);
  // Beside other sources; quantized to something else; other columns.
  EXPECT_EQ(rows.find(source(kRows), type("24x64x!graph.encoded<i4_g32>")),
            store);
  EXPECT_NE(rows.find(source(kRows), type("8x64x!graph.encoded<i4_g64>")),
            store);
  EXPECT_NE(rows.find(source(kRows), type("8x128x!graph.encoded<i4_g32>")),
            store);
  auto given = std::make_unique<llmc::graph::MemoryRows>(8, 36);
  llmc::graph::RowStore *expected = given.get();
  rows.set(source(kRows), alone, std::move(given));
  EXPECT_EQ(rows.find(source(kRows), alone), expected);
}

} // namespace
