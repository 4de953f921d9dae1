// SPDX-License-Identifier: Apache-2.0
//
// Hugging Face directories on a device: golden models in that format, and
// matrices packed to 4 bits against the numbers that their codes stand for.

#include "test/e2e/compiled/HuggingFaceFolder.h"

#include <algorithm>

namespace llmc::test {
namespace {

/// Of the largest logit; the README beside the golden numbers says why no more.
constexpr double kTolerance = 5e-5;

/// Rows of logits of a model for all tokens at once, and one by one.
struct Logits {
  std::vector<float> prefilled, decoded;
};

StatusOr<Logits> computeLogits(const std::string &model,
                               const std::string &target,
                               const TemporaryFolder &folder,
                               const std::vector<int32_t> &tokens) {
  const std::string file = folder.file("model.llmc");
  LLMC_RETURN_IF_ERROR(compile(model, file, {target}));
  LLMC_ASSIGN_OR_RETURN(auto loaded, loadLanguageModel(file));
  Logits logits;
  LLMC_ASSIGN_OR_RETURN(logits.prefilled, prefillAll(*loaded, tokens));
  LLMC_RETURN_IF_ERROR(loaded->reset());
  LLMC_ASSIGN_OR_RETURN(logits.decoded, decodeAll(*loaded, tokens));
  return logits;
}

class Directories : public testing::TestWithParam<const char *> {};

TEST_P(Directories, GiveTheGoldenLogits) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const Golden golden = readGolden(GetParam(), folder);
  const std::string path =
      writeHuggingFaceFolder(golden.modelPath, folder, "hf", {});
  if (path.empty())
    GTEST_SKIP() << "no Python with numpy to make the model";
  auto logits = computeLogits(path, "lavapipe", folder, golden.allTokens());
  ASSERT_TRUE(logits.ok()) << logits.status().message();
  EXPECT_LE(relativeDifference(logits->prefilled, golden.logits), kTolerance);
  EXPECT_LE(relativeDifference(logits->decoded, golden.logits), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Models, Directories,
                         testing::Values("tiny-llama-f16", "tiny-gemma3-f16",
                                         "tiny-qwen3moe-f16"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

struct PackedCase {
  const char *name;
  const char *target;
  std::vector<std::string> options;
};

class PackedDirectories : public testing::TestWithParam<PackedCase> {};

TEST_P(PackedDirectories, GiveTheLogitsOfTheirNumbers_B22) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const Golden golden = readGolden("tiny-llama-f16", folder);
  std::vector<std::string> options = GetParam().options;
  const std::string packed =
      writeHuggingFaceFolder(golden.modelPath, folder, "packed", options);
  options.emplace_back("--dequantized");
  const std::string numbers =
      writeHuggingFaceFolder(golden.modelPath, folder, "numbers", options);
  if (packed.empty() || numbers.empty())
    GTEST_SKIP() << "no Python with numpy to make the models";
  auto found = computeLogits(packed, GetParam().target, folder, golden.prompt);
  ASSERT_TRUE(found.ok()) << found.status().message();
  auto wanted =
      computeLogits(numbers, GetParam().target, folder, golden.prompt);
  ASSERT_TRUE(wanted.ok()) << wanted.status().message();
  EXPECT_LE(relativeDifference(found->prefilled, wanted->prefilled),
            kTolerance);
  EXPECT_LE(relativeDifference(found->decoded, wanted->decoded), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, PackedDirectories,
    testing::Values(
        PackedCase{"gptq",
                   "lavapipe",
                   {"--pack", "gptq", "--group", "128", "--asymmetric"}},
        PackedCase{"awq",
                   "lavapipe",
                   {"--pack", "awq", "--group", "64", "--asymmetric"}},
        PackedCase{
            "awq_symmetric", "vulkan-1.1", {"--pack", "awq", "--group", "32"}},
        PackedCase{"compressed",
                   "lavapipe",
                   {"--pack", "compressed", "--group", "-1"}},
        PackedCase{"compressed_asymmetric",
                   "vulkan-1.1",
                   {"--pack", "compressed", "--group", "32", "--asymmetric"}}),
    [](const auto &info) { return info.param.name; });

} // namespace
} // namespace llmc::test
