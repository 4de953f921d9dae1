// SPDX-License-Identifier: Apache-2.0
//
// Whole runs on a graph of two linears, with a driver compiler that is a
// script.

#include "compiler/Tuning/Tuner.h"

#include "codegen/Strategy/Tuning.h"
#include "test/support/TestFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

namespace llmc::tuner {
namespace {

const char *const kModel = R"(
module attributes {graph.files = ["%file"]} {
  graph.weight @a : tensor<64x128x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  graph.weight @b : tensor<64x128x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @main(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"},
                                                               tensor<?x64xf32> {graph.name = "z"}) {
    %0 = graph.load_weight @a : tensor<64x128x!graph.encoded<f32>>
    %1 = graph.dequantize %0 : tensor<64x128x!graph.encoded<f32>> -> tensor<64x128xf32>
    %2 = graph.matmul %x, %1 transpose_rhs : tensor<?x128xf32>, tensor<64x128xf32> -> tensor<?x64xf32> loc("linear")
    %3 = graph.silu %x : tensor<?x128xf32>
    %4 = graph.load_weight @b : tensor<64x128x!graph.encoded<f32>>
    %5 = graph.dequantize %4 : tensor<64x128x!graph.encoded<f32>> -> tensor<64x128xf32>
    %6 = graph.matmul %3, %5 transpose_rhs : tensor<?x128xf32>, tensor<64x128xf32> -> tensor<?x64xf32> loc("linear")
    return %2, %6 : tensor<?x64xf32>, tensor<?x64xf32>
  }
}
)";

class TunerTest : public testing::Test {
protected:
  void SetUp() override {
    folder = test::makeTestFolder();
    std::ofstream(folder / "weights.bin") << std::string(64 * 128 * 4, '\0');
    writeModel(kModel);
    options.target = "mali-g610";
  }
  void writeModel(std::string model) {
    model.replace(model.find("%file"), 5, (folder / "weights.bin").string());
    std::ofstream(folder / "model.mlir") << model;
    options.models = {(folder / "model.mlir").string()};
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// A driver compiler that gives these figures for every kernel.
  void setDriver(const std::string &figures) {
    std::ofstream(folder / "measure")
        << "#!/bin/sh\n[ \"$2\" = /dev/null ] && exit 1\nsep='{'\n"
           "for file; do case $file in *.spv) [ -s \"$file\" ] || exit 1\n"
           "printf '%s\"%s\": "
        << figures << "' \"$sep\" \"$file\"; sep=,;; esac; done\necho '}'\n";
    std::filesystem::permissions(folder / "measure",
                                 std::filesystem::perms::owner_all);
    options.shaderStats = folder.string();
  }

  /// A device that takes so many microseconds for the dispatch of an entry.
  void setDevice(std::function<double(const tuning::Entry &)> microseconds) {
    options.timeModel =
        [microseconds](const std::string &,
                       const std::string &path) -> StatusOr<ModelTimes> {
      auto tuning = codegen::loadTuning(path);
      if (!tuning)
        return Status(StatusCode::InvalidFile,
                      llvm::toString(tuning.takeError()));
      ModelTimes times{"a device", {}};
      for (const tuning::Entry &entry : tuning->entries())
        times.dispatches.push_back(
            {"main", entry.rows(), "linear", microseconds(entry)});
      return times;
    };
  }

  std::filesystem::path folder;
  TuneOptions options;
};

TEST_F(TunerTest, WithoutADriverTheModelDecidesAndSaysSo) {
  auto result = tuneModels(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  // One shape, for each row bucket of the target.
  EXPECT_EQ(result->numLinears, 5);
  EXPECT_EQ(result->tuning.entries_size(), 5);
  EXPECT_EQ(result->numMeasured, 0);
  EXPECT_NE(result->remark.find("register model alone"), std::string::npos);
  EXPECT_FALSE(result->tuning.entries(0).has_measured());
}

TEST_F(TunerTest, FiguresOfTheDriverAreInTheFile) {
  setDriver("{\"registers\": 30, \"occupancy\": 2, \"spills\": 0, \"tls\": 0, "
            "\"hot_loop\": {\"per_mac\": 1.5}}");
  options.numCandidates = 2;
  auto result = tuneModels(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->numMeasured, 0);
  EXPECT_EQ(result->numSpilling, 0);
  EXPECT_EQ(result->remark, "");
  const tuning::Measured &measured = result->tuning.entries(0).measured();
  EXPECT_EQ(measured.registers(), 30u);
  EXPECT_EQ(measured.occupancy_percent(), 100u);
  EXPECT_DOUBLE_EQ(measured.instructions_per_multiply_add(), 1.5);
  EXPECT_GE(measured.candidates(), 1u);
}

TEST_F(TunerTest, KernelsThatSpillAreCounted) {
  setDriver("{\"registers\": 64, \"occupancy\": 1, \"spills\": 9, \"tls\": 40, "
            "\"hot_loop\": {\"per_mac\": 1.5}}");
  options.numCandidates = 1;
  auto result = tuneModels(options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->numSpilling, result->numMeasured);
  EXPECT_EQ(result->numChanged, 0);
}

TEST_F(TunerTest, OnlyChangesMayBeWritten) {
  setDriver("{\"registers\": 30, \"occupancy\": 2, \"spills\": 0, \"tls\": 0, "
            "\"hot_loop\": {\"per_mac\": 1.5}}");
  options.numCandidates = 1; // Strategy's choice
  options.onlyChanges = true;
  auto result = tuneModels(options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->numLinears, 5);
  EXPECT_EQ(result->tuning.entries_size(), 0);
  EXPECT_EQ(result->kept.entries_size(), 5);
  std::string text = printTuning(result->tuning, result->kept);
  EXPECT_NE(text.find(", 30 registers, 100 % occupancy, 1.50 instructions per "
                      "multiply-add, best of 1:"),
            std::string::npos)
      << text;
  auto again = codegen::parseTuning(text, "t.textproto");
  ASSERT_TRUE(static_cast<bool>(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->entries_size(), 0);
}

TEST_F(TunerTest, WhatTheDriverRefusesGetsNoEntry) {
  setDriver("{\"error\": \"no\"}");
  auto result = tuneModels(options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->tuning.entries_size(), 0);
  EXPECT_GT(result->numMeasured, 0);
}

// Every tile takes a microsecond a workgroup's invocation and split, so that
// the least one wins.
TEST_F(TunerTest, ADeviceDecidesOnMatrixUnitsAndSplitsToo) {
  options.target = "nvidia-h200";
  options.numCandidates = 12;
  std::set<std::string> timed; // kinds with their splits
  setDevice([&](const tuning::Entry &entry) -> double {
    const tuning::Config &config = entry.config();
    timed.insert(config.kind() + (config.splits() > 1 ? " splits" : ""));
    return config.workgroup(0) * std::max(config.splits(), 1U);
  });
  auto result = tuneModels(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(timed, (std::set<std::string>{"gemv", "gemv splits", "gemm_matrix",
                                          "gemm_matrix splits"}));
  EXPECT_EQ(result->device, "a device");
  EXPECT_EQ(result->tuning.entries_size(), result->numLinears);
  for (const tuning::Entry &entry : result->tuning.entries()) {
    const tuning::Measured &measured = entry.measured();
    EXPECT_EQ(measured.device(), "a device");
    EXPECT_LE(measured.microseconds(), measured.strategy_microseconds());
    EXPECT_GT(measured.candidates(), 1u);
  }
  auto again = codegen::parseTuning(printTuning(result->tuning), "t.textproto");
  EXPECT_TRUE(static_cast<bool>(again)) << llvm::toString(again.takeError());
}

// The down of a 3B model: Strategy takes 16 rows a workgroup in matrix units.
TEST_F(TunerTest, ADeviceTimesOneRowInMatrixUnitsAndElsewhere) {
  std::string model = std::regex_replace(kModel, std::regex("64"), "2048");
  model = std::regex_replace(model, std::regex("128"), "11008");
  writeModel(std::regex_replace(model, std::regex("<f32>"), "<q4_k>"));
  options.target = "nvidia-h200";
  options.numCandidates = 6;
  std::vector<std::string> timed;
  setDevice([&](const tuning::Entry &entry) {
    const tuning::Config &config = entry.config();
    if (entry.rows() != 1)
      return 2;
    timed.push_back(config.kind() + " " + std::to_string(config.workgroup(0)) +
                    " " + std::to_string(config.tile(1)));
    return config.tile(1) == 32 ? 1 : 2;
  });
  auto result = tuneModels(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(timed.size(), 6U);
  EXPECT_EQ(timed[0], "gemv_matrix 768 16"); // Strategy's
  EXPECT_EQ(timed[1], "gemv_matrix 1024 16");
  EXPECT_EQ(timed[2], "gemv_matrix 1024 32");
  EXPECT_EQ(timed[3], "gemv_matrix 512 16");
  for (const std::string &other : {timed[4], timed[5]})
    EXPECT_EQ(other.substr(0, 5), "gemv ") << other;
  auto best =
      llvm::find_if(result->tuning.entries(), [](const tuning::Entry &entry) {
        return entry.rows() == 1;
      });
  ASSERT_NE(best, result->tuning.entries().end());
  EXPECT_EQ(best->config().kind(), "gemv_matrix");
  EXPECT_EQ(best->config().tile(1), 32U);
  EXPECT_EQ(best->config().tile(3), 0U);
}

TEST_F(TunerTest, WhatIsPrintedIsRead) {
  auto result = tuneModels(options);
  ASSERT_TRUE(result.ok());
  result->tuning.set_producer("test");
  auto again = codegen::parseTuning(printTuning(result->tuning), "t.textproto");
  ASSERT_TRUE(static_cast<bool>(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->SerializeAsString(), result->tuning.SerializeAsString());
}

TEST_F(TunerTest, RefusesByName) {
  options.target = "no-such-target";
  EXPECT_EQ(tuneModels(options).status().code(), StatusCode::NotFound);
  options.target = "mali-g610";
  options.shaderStats = "/no/such/folder";
  EXPECT_EQ(tuneModels(options).status().message(),
            "'/no/such/folder/measure' does not exist");
  options.models = {"/no/such.gguf"};
  EXPECT_EQ(tuneModels(options).status().code(), StatusCode::InvalidFile);
  options.models.clear();
  EXPECT_EQ(tuneModels(options).status().code(), StatusCode::InvalidArgument);
}

} // namespace
} // namespace llmc::tuner
