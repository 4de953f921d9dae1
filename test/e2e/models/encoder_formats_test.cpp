// SPDX-License-Identifier: Apache-2.0
//
// One encoder as ONNX and as a Hugging Face directory: after fusion nothing is
// left of where it came from, so that the dispatches are the same. Small ones,
// and all-MiniLM-L6-v2, whose embeddings are compared with onnxruntime's.

#include "test/e2e/compiled/HuggingFaceFolder.h"

#include "runtime/format/Reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace llmc::test {
namespace {

using runtime::EmbeddingModel;

/// Compiles |model| with a mean of rows as embedding, of length 1.
testing::AssertionResult
compileNormalized(const std::string &model, const std::string &file,
                  std::vector<std::string> options = {}) {
  options.insert(options.begin(),
                 {"compile", model, "--target=lavapipe", "--pooling=mean",
                  "--normalize", "-o", file});
  const ToolResult result = runTool(options);
  if (result.exitCode == 0)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.errors;
}

/// A line for each dispatch of the file: what it computes and how it is
/// launched, the hash of its code, and how many bytes it binds where. Weights
/// may have other names and lie elsewhere.
std::vector<std::string> dispatchesOf(const std::string &file) {
  std::vector<std::string> lines;
  auto reader = format::Reader::open(file);
  if (!reader.ok()) {
    ADD_FAILURE() << reader.status().message();
    return lines;
  }
  const format::Manifest &manifest = (*reader)->manifest();
  const format::Variant &variant = manifest.variants(0);
  const std::string bytes = readFile(file);
  for (const format::Entry &entry : variant.entries())
    for (const format::Command &command : entry.commands()) {
      std::string line = entry.function() + " " + std::to_string(entry.rows());
      if (!command.has_dispatch()) {
        lines.push_back(line + " barrier");
        continue;
      }
      const format::Dispatch &dispatch = command.dispatch();
      const format::Kernel &kernel =
          variant.kernels(static_cast<int>(dispatch.kernel()));
      const uint64_t begin =
          manifest.sections(static_cast<int>(kernel.code_section())).offset() +
          kernel.code_offset();
      line += " " + kernel.label() + " code " +
              std::to_string(std::hash<std::string>()(
                  bytes.substr(begin, kernel.code_size())));
      for (uint32_t count : dispatch.groups())
        line += " " + std::to_string(count);
      for (const format::Slice &slice : dispatch.bindings())
        line += " b" + std::to_string(slice.buffer()) + ":" +
                std::to_string(slice.range());
      lines.push_back(line);
    }
  return lines;
}

class EncoderFormats : public testing::TestWithParam<const char *> {};

TEST_P(EncoderFormats, OnnxAndSafetensorsHaveTheSameDispatches) {
  TemporaryFolder folder;
  const std::string path = writeBertFolder(folder, "bert", GetParam());
  if (path.empty())
    GTEST_SKIP() << "no Python with numpy to make the models";
  const std::string onnx = folder.file("onnx.llmc"),
                    safetensors = folder.file("safetensors.llmc");
  ASSERT_TRUE(compileNormalized(path + "/model.onnx", onnx));
  ASSERT_TRUE(compileNormalized(path, safetensors));
  const std::vector<std::string> wanted = dispatchesOf(safetensors);
  EXPECT_FALSE(wanted.empty());
  EXPECT_EQ(dispatchesOf(onnx), wanted);
}

INSTANTIATE_TEST_SUITE_P(Exporters, EncoderFormats,
                         testing::Values("11", "14", "18", "20", "no-mask",
                                         "skip-norm"),
                         [](const auto &info) {
                           std::string name =
                               std::string("export_") + info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

double cosine(const std::vector<float> &a, const std::vector<float> &b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double(a[i]) * b[i];
    aa += double(a[i]) * a[i];
    bb += double(b[i]) * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

/// The model as a directory, in a folder of the tests' own.
class MiniLm : public testing::Test {
protected:
  static void SetUpTestSuite() {
    if (!exists(source() + "model.safetensors.gz"))
      return;
    folder = new TemporaryFolder;
    std::filesystem::create_directory(directory());
    const ToolResult unpacked =
        runProgram({"gzip", "-dc", source() + "model.safetensors.gz"});
    ASSERT_EQ(unpacked.exitCode, 0) << unpacked.errors;
    writeFile(directory() + "/model.safetensors", unpacked.output);
    writeFile(directory() + "/config.json", readFile(source() + "config.json"));
  }
  static void TearDownTestSuite() { delete folder; }
  void SetUp() override {
    if (!folder)
      GTEST_SKIP() << "no " << source() << "; set LLMC_SHARED_DIR";
  }

  static std::string source() {
    return std::string(LLMC_SHARED_DIR) + "/models/all-MiniLM-L6-v2/";
  }
  static std::string directory() { return folder->file("minilm"); }

  /// The least cosine of its embeddings with onnxruntime's, when it is compiled
  /// with these options.
  static double leastCosine(const std::vector<std::string> &options) {
    const std::string file = folder->file("model.llmc");
    EXPECT_TRUE(compileNormalized(directory(), file, options));
    auto model = loadEmbeddingModel(file);
    EXPECT_TRUE(model.ok()) << model.status().message();
    const auto golden =
        nlohmann::json::parse(readFile(source() + "golden.json"));
    EXPECT_EQ(golden.size(), 8u);
    double least = 1;
    for (const auto &text : golden) {
      if (!model.ok())
        return 0;
      std::vector<float> found((*model)->size());
      const Status status = (*model)->embed(
          {text["ids"].get<std::vector<int32_t>>()}, found.data());
      EXPECT_TRUE(status.ok()) << status.message();
      least = std::min(
          least, cosine(found, text["embedding"].get<std::vector<float>>()));
    }
    RecordProperty("least_cosine", std::to_string(least));
    return least;
  }

  static TemporaryFolder *folder;
};

TemporaryFolder *MiniLm::folder = nullptr;

TEST_F(MiniLm, EmbedsAsOnnxRuntime) {
  LLMC_E2E_NEED_DEVICE();
  EXPECT_GE(leastCosine({}), 0.9999);
}

TEST_F(MiniLm, EmbedsAsOnnxRuntimeWithWeightsOfEightBits) {
  LLMC_E2E_NEED_DEVICE();
  EXPECT_GE(leastCosine({"--weights=int8-asym"}), 0.999);
}

TEST_F(MiniLm, EmbedsAsOnnxRuntimeWithActivationsOfEightBits) {
  LLMC_E2E_NEED_DEVICE();
  EXPECT_GE(leastCosine({"--weights=int8-asym", "--activations=int8"}), 0.999);
}

TEST_F(MiniLm, OnnxHasTheSameDispatches) {
  const std::string model = folder->file("minilm.onnx"),
                    onnx = folder->file("onnx.llmc"),
                    safetensors = folder->file("safetensors.llmc");
  const ToolResult written =
      runProgram({"python3", source() + "minilm_onnx.py",
                  source() + "model.safetensors.gz", model});
  ASSERT_EQ(written.exitCode, 0) << written.errors;
  ASSERT_TRUE(compileNormalized(model, onnx));
  ASSERT_TRUE(compileNormalized(directory(), safetensors));
  EXPECT_EQ(dispatchesOf(onnx), dispatchesOf(safetensors));
}

} // namespace
} // namespace llmc::test
