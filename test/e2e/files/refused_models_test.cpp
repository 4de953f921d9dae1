// SPDX-License-Identifier: Apache-2.0
//
// GGUF files that `llmc compile` must refuse, with a message that names the
// file, the field, what was found and what is allowed, and nothing written; and
// unusual ones that it must take. The reader's own tests know more of them.

#include "test/e2e/compiled/EndToEnd.h"
#include "test/e2e/compiled/ToyModel.h"

#include <gmock/gmock.h>

namespace llmc::test {
namespace {

using testing::HasSubstr;

/// What `llmc compile` says of |bytes|; it has to exit with code 3 and to leave
/// nothing.
std::string refusal(const std::string &bytes) {
  TemporaryFolder folder;
  const std::string model = folder.file("toy.gguf");
  const std::string output = folder.file("toy.llmc");
  writeFile(model, bytes);
  const ToolResult result =
      runTool({"compile", model, "--target=lavapipe", "-o", output});
  EXPECT_EQ(result.exitCode, 3) << result.errors;
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, HasSubstr("toy.gguf"));
  EXPECT_EQ(folder.count(), 1u) << "something was left";
  return result.errors;
}

std::string refusal(const GgufBuilder &file) { return refusal(file.build()); }

std::string refusalWithout(const std::string &part,
                           const std::string &architecture = "llama") {
  ToyOptions options;
  options.architecture = architecture;
  options.leftOut = part;
  return refusal(makeToyModel(options));
}

TEST(RefusedModels, Truncated) {
  const std::string bytes = makeToyModel().build();
  for (size_t length : {size_t{0}, size_t{3}, size_t{4}, size_t{8}, size_t{23},
                        size_t{24}, size_t{100}, size_t{600}, size_t{1200},
                        bytes.size() / 2, bytes.size() - 1})
    EXPECT_THAT(refusal(bytes.substr(0, length)),
                HasSubstr("download it again"))
        << length;
}

TEST(RefusedModels, ForeignMagicVersionAndByteOrder) {
  const std::string rest = makeToyModel().build().substr(4);
  EXPECT_THAT(refusal("GGML" + rest), HasSubstr("older than GGUF"));
  EXPECT_THAT(refusal("FUGG" + rest), HasSubstr("allowed is 'GGUF'"));
  EXPECT_THAT(refusal(makeToyModel().withVersion(1)),
              HasSubstr("version is 1, allowed are 2 and 3"));
  EXPECT_THAT(refusal(makeToyModel().withVersion(0x03000000)),
              HasSubstr("big-endian"));
}

TEST(RefusedModels, CountsAndSizesThatOverflow) {
  const uint64_t huge = uint64_t{1} << 32;
  EXPECT_THAT(refusal(makeToyModel().entry("odd", {huge, huge}, 0, 0)),
              HasSubstr("'odd'"));
  EXPECT_THAT(refusal(makeToyModel().entry("odd", {4}, 0, -uint64_t{32})),
              HasSubstr("'odd'"));
  GgufBuilder manyTensors = makeToyModel();
  manyTensors.numTensors = uint64_t{1} << 40;
  EXPECT_THAT(refusal(manyTensors), HasSubstr("1099511627776"));
  GgufBuilder manyPairs = makeToyModel();
  manyPairs.numPairs = uint64_t{1} << 40;
  EXPECT_THAT(refusal(manyPairs), HasSubstr("1099511627776"));
  EXPECT_THAT(refusal(makeToyModel().number("general.alignment", 0)),
              HasSubstr("general.alignment"));
}

TEST(RefusedModels, Duplicates) {
  EXPECT_THAT(refusal(makeToyModel().ones("blk.0.attn_q.weight", {64, 64})),
              HasSubstr("'blk.0.attn_q.weight' occurs twice"));
  EXPECT_THAT(refusal(makeToyModel().text("general.architecture", "llama")),
              HasSubstr("'general.architecture' occurs twice"));
}

TEST(RefusedModels, UnknownTypesAndArchitectures) {
  for (uint32_t type : {15u, 24u, 4u, 200u})
    EXPECT_THAT(refusal(makeToyModel().entry("output.weight",
                                             {256, kToyVocabulary}, type, 0)),
                testing::AllOf(HasSubstr("'output.weight'"),
                               HasSubstr(std::to_string(type)),
                               HasSubstr("supported are")));
  ToyOptions options;
  options.architecture = "mystery";
  EXPECT_THAT(refusal(makeToyModel(options)),
              HasSubstr("'mystery', supported are llama, qwen2, qwen3"));
}

TEST(RefusedModels, MissingAndUnusedParts) {
  for (const char *tensor : {"token_embd.weight", "output_norm.weight",
                             "blk.0.attn_k.weight", "blk.0.ffn_down.weight"})
    EXPECT_THAT(refusalWithout(tensor),
                HasSubstr("tensor '" + std::string(tensor) + "' is missing"));
  for (const char *key : {"general.architecture", "llama.block_count",
                          "llama.attention.layer_norm_rms_epsilon"})
    EXPECT_THAT(refusalWithout(key), HasSubstr(key));
  EXPECT_THAT(refusalWithout("blk.0.attn_q_norm.weight", "qwen3"),
              HasSubstr("'blk.0.attn_q_norm.weight' is missing"));
  // A norm that the architecture does not have would be left out silently.
  ToyOptions options;
  options.architecture = "qwen2";
  EXPECT_THAT(
      refusal(makeToyModel(options).ones("blk.0.attn_q_norm.weight", {16})),
      HasSubstr("'blk.0.attn_q_norm.weight' is not used by architecture "
                "qwen2"));
}

//===----------------------------------------------------------------------===//
// Unusual and right
//===----------------------------------------------------------------------===//

/// The logits of a model; empty if it does not run. |weightBytes|: how many the
/// .llmc file holds.
std::vector<float> logitsOf(const GgufBuilder &file,
                            uint64_t *weightBytes = nullptr) {
  TemporaryFolder folder;
  const std::string path = folder.file("toy.gguf");
  writeFile(path, file.build());
  const std::string output = folder.file("toy.llmc");
  const Status status = compile(path, output);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok())
    return {};
  auto model = loadLanguageModel(output);
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (!model.ok())
    return {};
  if (weightBytes)
    for (const format::Section &section :
         (*model)->module().manifest().sections())
      if (section.kind() == format::Section::WEIGHT)
        *weightBytes += section.size();
  auto logits = prefillAll(**model, {1, 5, 39, 0, 17});
  EXPECT_TRUE(logits.ok()) << logits.status().message();
  return logits.ok() ? *logits : std::vector<float>();
}

TEST(UnusualModels, AlignmentAndVersionChangeNothing) {
  LLMC_E2E_NEED_DEVICE();
  const std::vector<float> usual = logitsOf(makeToyModel());
  ASSERT_EQ(usual.size(), 5 * kToyVocabulary);
  ToyOptions options;
  options.alignment = 64;
  EXPECT_EQ(logitsOf(makeToyModel(options)), usual);
  options.alignment = 32;
  options.version = 2;
  EXPECT_EQ(logitsOf(makeToyModel(options)), usual);
}

TEST(UnusualModels, OutputMayBeTiedOrItsOwn) {
  LLMC_E2E_NEED_DEVICE();
  const uint64_t count = kToyHidden * kToyVocabulary;
  uint64_t tiedBytes = 0, copyBytes = 0, otherBytes = 0;
  const std::vector<float> tied = logitsOf(makeToyModel(), &tiedBytes);
  GgufBuilder copy = makeToyModel();
  addTensor(copy, "output.weight", {kToyHidden, kToyVocabulary},
            makeNumbers(count, kToyEmbeddingSeed));
  GgufBuilder other = makeToyModel();
  addTensor(other, "output.weight", {kToyHidden, kToyVocabulary},
            makeNumbers(count, 99));
  EXPECT_EQ(logitsOf(copy, &copyBytes), tied);
  EXPECT_NE(logitsOf(other, &otherBytes), tied);
  // Equal bytes are stored once.
  EXPECT_EQ(copyBytes, tiedBytes);
  EXPECT_GT(otherBytes, tiedBytes);
}

} // namespace
} // namespace llmc::test
