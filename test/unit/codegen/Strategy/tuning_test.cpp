// SPDX-License-Identifier: Apache-2.0
//
// Tuning files: what they say, and what is refused by name.

#include "codegen/Strategy/Tuning.h"

#include "codegen/Strategy/EmbeddedTunings.h"

#include <gtest/gtest.h>

namespace llmc::codegen {
namespace {

const char *const kEntry = R"(entries {
  target: "phone" format: "q4_0" n: 2048 k: 1024 linears: 2 norm: true rows: 1
  activations: "f32"
  config { kind: "gemv" workgroup: [32, 1, 1] tile: [1, 4, 16] }
}
)";

std::string errorOf(const std::string &text) {
  auto tuning = parseTuning(text, "t.textproto");
  return tuning ? "" : llvm::toString(tuning.takeError());
}

std::string with(const std::string &from, const std::string &to) {
  std::string text = kEntry;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Tuning, EntriesAreFoundByWhatTheLinearIs) {
  auto tuning = parseTuning(kEntry, "t.textproto");
  ASSERT_TRUE(static_cast<bool>(tuning));
  EXPECT_EQ(tuningKey(tuning->entries(0)), "q4_0 2048x1024 x2 norm rows 1 f32");
}

TEST(Tuning, AttributesHoldTheEntriesOfTheirTarget) {
  std::string text = kEntry + with("phone", "tablet");
  auto tuning = parseTuning(text, "t.textproto");
  ASSERT_TRUE(static_cast<bool>(tuning)) << errorOf(text);
  mlir::MLIRContext context;
  mlir::DictionaryAttr entries = toTuningAttr(*tuning, "phone", &context);
  ASSERT_EQ(entries.size(), 1u);
  auto config = entries.getAs<graph::LoweringConfigAttr>(
      "q4_0 2048x1024 x2 norm rows 1 f32");
  ASSERT_TRUE(config);
  EXPECT_EQ(config.getKind().getValue(), "gemv");
  EXPECT_EQ(config.getWorkgroup(), llvm::ArrayRef<int64_t>({32, 1, 1}));
  EXPECT_EQ(config.getTile(), llvm::ArrayRef<int64_t>({1, 4, 16}));
  EXPECT_TRUE(toTuningAttr(*tuning, "desktop", &context).empty());
}

TEST(Tuning, MatrixUnitsHaveSplits) {
  std::string text =
      with("kind: \"gemv\" workgroup: [32, 1, 1] tile: [1, 4, 16]",
           "kind: \"gemm_matrix\" workgroup: [128, 1, 1] "
           "tile: [32, 64, 64, 16, 32, 1] splits: 4");
  auto tuning = parseTuning(text, "t.textproto");
  ASSERT_TRUE(static_cast<bool>(tuning)) << errorOf(text);
  mlir::MLIRContext context;
  auto config = toTuningAttr(*tuning, "phone", &context)
                    .getAs<graph::LoweringConfigAttr>(
                        "q4_0 2048x1024 x2 norm rows 1 f32");
  ASSERT_TRUE(config);
  EXPECT_EQ(config.getTile(), llvm::ArrayRef<int64_t>({32, 64, 64, 16, 32, 1}));
  EXPECT_EQ(config.getSplits(), 4);
}

TEST(Tuning, OneRowInMatrixUnitsMayEndInZero) {
  std::string text =
      with("kind: \"gemv\" workgroup: [32, 1, 1] tile: [1, 4, 16]",
           "kind: \"gemv_matrix\" workgroup: [1024, 1, 1] "
           "tile: [1, 16, 128, 0]");
  EXPECT_EQ(errorOf(text), "");
}

TEST(Tuning, RefusesByName) {
  EXPECT_EQ(errorOf("entries {\n  shape: 1\n}"),
            "t.textproto:2:8: error: Message type \"llmc.tuning.Entry\" has no "
            "field named \"shape\".");
  EXPECT_EQ(errorOf(with("target: \"phone\"", "")),
            "t.textproto: entry 1: target is required");
  EXPECT_EQ(errorOf(with("k: 1024", "")),
            "t.textproto: entry 1: n, k and rows are required");
  EXPECT_EQ(errorOf(with("linears: 2", "linears: 3")),
            "t.textproto: entry 1: linears is 3, allowed are 1 and 2");
  EXPECT_EQ(errorOf(with("\"f32\"", "\"f64\"")),
            "t.textproto: entry 1: activations is 'f64', allowed are f32 and "
            "i8");
  EXPECT_EQ(errorOf(with("\"gemv\"", "\"sdpa\"")),
            "t.textproto: entry 1: config.kind is 'sdpa', allowed are gemv, "
            "gemv_matrix, gemm and gemm_matrix");
  EXPECT_EQ(errorOf(with("\"gemv\"", "\"gemm_matrix\"")),
            "t.textproto: entry 1: config.tile must be rows, columns, k per "
            "step, rows and columns of a subgroup and buffers, of at least 1");
  const std::string ofGemvMatrix =
      "t.textproto: entry 1: config.tile must be rows, columns, k of a chunk, "
      "of at least 1, and workgroups that go over all tiles, or 0";
  EXPECT_EQ(errorOf(with("\"gemv\"", "\"gemv_matrix\"")), ofGemvMatrix);
  EXPECT_EQ(
      errorOf(with("kind: \"gemv\" workgroup: [32, 1, 1] tile: [1, 4, 16]",
                   "kind: \"gemv_matrix\" workgroup: [32, 1, 1] "
                   "tile: [1, 0, 128, 0]")),
      ofGemvMatrix);
  EXPECT_EQ(errorOf(with("[32, 1, 1]", "[32, 0, 1]")),
            "t.textproto: entry 1: config.workgroup must be three sizes of at "
            "least 1");
  EXPECT_EQ(errorOf(with("[1, 4, 16]", "[1, 4]")),
            "t.textproto: entry 1: config.tile must be rows, columns and k per "
            "step, of at least 1");
  EXPECT_EQ(errorOf(std::string(kEntry) + kEntry),
            "t.textproto: entry 2: is a second one for 'q4_0 2048x1024 x2 norm "
            "rows 1 f32' on target 'phone'");
}

TEST(Tuning, MissingFilesAreNamed) {
  auto tuning = loadTuning("/no/such.textproto");
  ASSERT_FALSE(static_cast<bool>(tuning));
  EXPECT_NE(llvm::toString(tuning.takeError()).find("/no/such.textproto"),
            std::string::npos);
}

TEST(Tuning, ShippedFilesAreForTheirTarget) {
  ASSERT_FALSE(getEmbeddedTunings().empty());
  for (const EmbeddedFile &file : getEmbeddedTunings()) {
    auto tuning = parseTuning(file.text, file.name);
    ASSERT_TRUE(static_cast<bool>(tuning))
        << llvm::toString(tuning.takeError());
    for (const tuning::Entry &entry : tuning->entries())
      EXPECT_EQ(entry.target(), file.name.str());
  }
  EXPECT_EQ(getTuningDefaults("no-such-target").entries_size(), 0);
}

} // namespace
} // namespace llmc::codegen
