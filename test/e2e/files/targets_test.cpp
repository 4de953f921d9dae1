// SPDX-License-Identifier: Apache-2.0
//
// One file for all targets: what `llmc inspect` shows of it, its size, and
// whether its kernels are valid for the devices.

#include "test/e2e/compiled/EndToEnd.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <regex>

namespace llmc::test {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kTargets = {
    "lavapipe", "vulkan-1.1", "adreno-840", "mali-g76", "mali-g610"};

std::string goldenPath(const std::string &name) {
  return std::string(LLMC_GOLDEN_DIR) + "/" + name + ".gguf";
}

class ManyTargets : public testing::TestWithParam<const char *> {};

void checkVariant(const Json &variant) {
  const std::string target = variant["target"];
  EXPECT_GT(variant["weight_bytes"], 0) << target;
  EXPECT_GT(variant["arena_bytes"], 0) << target;
  EXPECT_GT(variant["state_bytes"], 0) << target;
  EXPECT_GT(variant["bytes_per_weight"], 0) << target;
  ASSERT_FALSE(variant["kernels"].empty()) << target;
  for (const Json &kernel : variant["kernels"]) {
    const std::string name = target + " " + kernel["name"].get<std::string>();
    EXPECT_NE(kernel["kind"], "") << name;
    EXPECT_EQ(kernel["workgroup"].size(), 3u) << name;
    EXPECT_FALSE(kernel["tile"].empty()) << name;
    EXPECT_GE(kernel["splits"], 1) << name;
    EXPECT_GT(kernel["registers"], 0) << name;
    // Others accumulate nothing.
    const std::string kind = kernel["kind"];
    if (kind == "gemv" || kind == "gemm" || kind == "sdpa")
      EXPECT_GT(kernel["accumulators"], 0) << name;
    EXPECT_GT(kernel["code_size"], 0) << name;
  }
  int numDecode = 0, numPrefill = 0;
  for (const Json &entry : variant["entries"]) {
    EXPECT_GT(entry["num_dispatches"], 0) << target;
    if (entry["function"] != "forward")
      continue;
    EXPECT_GE(entry["least_dispatches_per_layer"], 1) << target;
    if (entry["rows"] == 1) {
      ++numDecode;
      EXPECT_LE(entry["most_dispatches_per_layer"], 10) << target;
    } else if (entry["rows"] >= 32) {
      ++numPrefill;
    }
  }
  EXPECT_EQ(numDecode, 1) << target;
  EXPECT_GE(numPrefill, 1) << target;
}

/// The validator has to find every kernel good for its environment, nothing may
/// be computed from undefined values (a CPU's are zeros, a GPU's are not), and
/// Adreno's compiler is slow with fused multiply-adds in 16 bits.
void checkKernels(const std::string &file, const TemporaryFolder &folder) {
  const std::string spirv = folder.file("spirv");
  ASSERT_EQ(runTool({"inspect", file, "--spirv=" + spirv}).exitCode, 0);
  int numKernels = 0;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(spirv)) {
    const std::string target = entry.path().parent_path().filename();
    if (entry.path().extension() != ".spv")
      continue;
    ++numKernels;
    const ToolResult valid = runProgram(
        {LLMC_SPIRV_VAL, "--target-env",
         target == "lavapipe" || target == "adreno-840" ? "vulkan1.3"
                                                        : "vulkan1.1",
         entry.path()});
    ASSERT_EQ(valid.exitCode, 0) << entry.path() << valid.errors;
    const ToolResult text = runProgram({LLMC_SPIRV_DIS, entry.path()});
    EXPECT_EQ(text.output.find("OpUndef"), std::string::npos) << entry.path();
    if (target != "adreno-840")
      continue;
    EXPECT_FALSE(std::regex_search(
        text.output, std::regex("OpExtInst %(half|v[234]half) %\\S+ Fma")))
        << entry.path();
  }
  EXPECT_GT(numKernels, 50);
}

TEST_P(ManyTargets, ShareAFileThatInspectExplains_B40) {
  TemporaryFolder folder;
  const std::string all = folder.file("all.llmc");
  const std::string one = folder.file("one.llmc");
  LLMC_E2E_OK(compile(goldenPath(GetParam()), all, kTargets));
  LLMC_E2E_OK(compile(goldenPath(GetParam()), one, {"adreno-840"}));

  const ToolResult result = runTool({"inspect", "--json", all});
  ASSERT_EQ(result.exitCode, 0) << result.errors;
  const Json json = Json::parse(result.output);
  ASSERT_EQ(json["variants"].size(), kTargets.size());
  uint64_t weights = 0, code = 0, sections = 0;
  for (const Json &section : json["sections"]) {
    const uint64_t size = section["size"];
    (section["layout"] == "" ? code : weights) += size;
    sections += size;
  }
  for (size_t i = 0; i < kTargets.size(); ++i) {
    EXPECT_EQ(json["variants"][i]["target"], kTargets[i]);
    checkVariant(json["variants"][i]);
  }
  // Weights are there once; what is more is code and the plans.
  const Json single = Json::parse(runTool({"inspect", "--json", one}).output);
  uint64_t oneWeights = 0;
  for (const Json &section : single["sections"])
    if (section["layout"] != "")
      oneWeights += section["size"].get<uint64_t>();
  EXPECT_EQ(weights, oneWeights);
  EXPECT_GT(code, 0u);
  // So four further targets cost their code, their plans (the manifest) and at
  // most a page each.
  const uint64_t size = json["file_size"], oneSize = single["file_size"];
  const uint64_t plans = size - sections;
  EXPECT_LE(size, oneSize + code + plans + kTargets.size() * 4096);
  checkKernels(all, folder);
  EXPECT_LE(sections, json["file_size"].get<uint64_t>());
}

// What is made for other devices is passed over, and the file says why.
TEST(ManyTargetsOnOneDevice, TheConservativeOneRunsAndSaysWhy_B38) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const std::string file = folder.file("all.llmc");
  // With a self-test, of which `devices` speaks.
  ASSERT_EQ(runTool({"compile", goldenPath("tiny-llama-Q4_0"),
                     "--target=adreno-840,vulkan-1.1,mali-g610", "-o", file})
                .exitCode,
            0);
  const std::string adreno =
      "adreno-840: made for another device (devices of vendor 0x5143 whose "
      "name holds 'adreno (tm) 840')";
  auto module = load(file);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ((*module)->variant().target().name(), "vulkan-1.1");
  EXPECT_NE((*module)->choiceReason().find(
                "vulkan-1.1: runs on any such device; passed over " + adreno),
            std::string::npos)
      << (*module)->choiceReason();
  const ToolResult devices =
      runTool({"devices", file, "--cache-dir", folder.file("none")});
  EXPECT_EQ(devices.exitCode, 0) << devices.errors;
  for (const std::string &line :
       {std::string(" runs vulkan-1.1\n"), "   - " + adreno + "\n",
        std::string(
            "   * vulkan-1.1: runs on any such device, not tested yet\n"),
        std::string("   - mali-g610: made for another device (")})
    EXPECT_NE(devices.output.find(line), std::string::npos)
        << line << devices.output;

  auto refused = load(file, "adreno-840");
  EXPECT_EQ(refused.status().code(), StatusCode::NoDevice);
  EXPECT_NE(refused.status().message().find(adreno), std::string::npos)
      << refused.status().message();
}

INSTANTIATE_TEST_SUITE_P(Models, ManyTargets,
                         testing::Values("tiny-llama-Q4_0",
                                         "tiny-qwen3-Q4_K_M"),
                         [](const auto &info) {
                           return std::string(info.param).find("llama") !=
                                          std::string::npos
                                      ? "llama"
                                      : "qwen3";
                         });

} // namespace
} // namespace llmc::test
