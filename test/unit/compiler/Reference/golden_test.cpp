// SPDX-License-Identifier: Apache-2.0
//
// Imported models on the reference evaluator against the logits of an
// independent implementation (test/data/golden).

#include "compiler/Import/Import.h"
#include "compiler/Reference/Evaluator.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Program.h"

#include "gtest/gtest.h"

#include <fstream>

namespace {

using llmc::reference::Evaluator;
using llmc::reference::Tensor;

const std::string kFolder = LLMC_GOLDEN_DIR;
constexpr double kTolerance =
    5e-5; // of the largest logit; see the README there

std::vector<float> readFloats(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<float> numbers(static_cast<size_t>(file.tellg()) / sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(numbers.data()),
            static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  return numbers;
}

std::vector<int32_t> readTokens() {
  std::ifstream file(kFolder + "/tokens48.txt");
  std::vector<int32_t> tokens;
  for (int32_t token; file >> token;)
    tokens.push_back(token);
  return tokens;
}

std::vector<int32_t> readGreedy(const std::string &name) {
  auto text = llvm::MemoryBuffer::getFile(kFolder + "/" + name + ".json");
  auto json = llvm::cantFail(llvm::json::parse((*text)->getBuffer()));
  std::vector<int32_t> tokens;
  for (const llvm::json::Value &token : *json.getAsObject()->getArray("greedy"))
    tokens.push_back(static_cast<int32_t>(*token.getAsInteger()));
  return tokens;
}

/// A folder for models; removed with all that is in it.
class ModelFolder {
public:
  ModelFolder() { llvm::sys::fs::createUniqueDirectory("llmc-golden", path); }
  ~ModelFolder() { llvm::sys::fs::remove_directories(path); }
  std::string file(const std::string &name) const {
    return (path + "/" + name).str();
  }

private:
  llvm::SmallString<128> path;
};

/// Runs a script beside the golden numbers; false when Python or numpy is
/// missing.
bool runScript(const std::string &name, const std::vector<std::string> &rest) {
  auto python = llvm::sys::findProgramByName(LLMC_PYTHON);
  std::string script = kFolder + "/" + name;
  if (!python)
    return false;
  std::vector<llvm::StringRef> command = {*python, script};
  command.insert(command.end(), rest.begin(), rest.end());
  return llvm::sys::ExecuteAndWait(
             *python, command, std::nullopt,
             {std::nullopt, llvm::StringRef(""), llvm::StringRef("")}) == 0;
}

/// The GGUF file of a golden model, f16 ones made in `folder`; "" when that
/// can't be done.
std::string findModel(const std::string &name, const ModelFolder &folder) {
  if (!llvm::StringRef(name).ends_with("-f16"))
    return kFolder + "/" + name + ".gguf";
  std::string path = folder.file(name + ".gguf");
  std::string preset = name.substr(0, name.size() - 4);
  return runScript("synth_gguf.py", {preset, path, "--type", "f16"}) ? path
                                                                     : "";
}

/// Logits of the golden tokens: the first 48 at once, the others one by one.
std::vector<double> computeLogits(const std::string &path,
                                  const std::string &name) {
  mlir::MLIRContext context;
  auto module = llmc::importer::importModel(context, path);
  if (!module) {
    ADD_FAILURE() << llvm::toString(module.takeError());
    return {};
  }
  auto evaluator = llvm::cantFail(Evaluator::create(**module));
  std::vector<double> logits;
  auto step = [&](const std::vector<int32_t> &tokens, int32_t position) {
    auto hidden = evaluator.run(
        "forward", {Tensor::vector(tokens), Tensor::scalar(position)});
    ASSERT_TRUE(bool(hidden)) << llvm::toString(hidden.takeError());
    auto rows = evaluator.run("logits", {hidden->front(), Tensor::scalar(0)});
    ASSERT_TRUE(bool(rows)) << llvm::toString(rows.takeError());
    const std::vector<double> &values = rows->front().values;
    logits.insert(logits.end(), values.begin(), values.end());
  };
  std::vector<int32_t> tokens = readTokens();
  step(tokens, 0);
  auto position = static_cast<int32_t>(tokens.size());
  for (int32_t token : readGreedy(name))
    step({token}, position++);
  return logits;
}

void expectGoldenLogits(const std::string &path, const std::string &name) {
  std::vector<double> logits = computeLogits(path, name);
  std::vector<float> golden = readFloats(kFolder + "/" + name + ".f32");
  ASSERT_EQ(logits.size(), golden.size());
  double most = 0, difference = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    most = std::max<double>(most, std::abs(golden[i]));
    difference = std::max(difference, std::abs(logits[i] - golden[i]));
  }
  testing::Test::RecordProperty("relative_difference",
                                std::to_string(difference / most));
  EXPECT_LE(difference, kTolerance * most);
}

class GoldenTest : public testing::TestWithParam<const char *> {};

TEST_P(GoldenTest, PrefillAndDecodeAgree) {
  ModelFolder folder;
  std::string path = findModel(GetParam(), folder);
  if (path.empty())
    GTEST_SKIP() << "no Python with numpy to make the f16 model";
  expectGoldenLogits(path, GetParam());
}

/// The same numbers as a Hugging Face directory.
class GoldenDirectoryTest : public testing::TestWithParam<const char *> {};

TEST_P(GoldenDirectoryTest, AgreesLikeTheGgufFile_B11_B13) {
  ModelFolder folder;
  std::string path = findModel(GetParam(), folder);
  if (path.empty() ||
      !runScript("gguf_to_hf.py", {path, folder.file("hf"), "--shards", "3"}))
    GTEST_SKIP() << "no Python with numpy to make the model";
  expectGoldenLogits(folder.file("hf"), GetParam());
}

/// Matrices packed to 4 bits by the script, against the numbers that it says
/// the codes stand for.
class PackedDirectoryTest
    : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(PackedDirectoryTest, AgreesWithTheNumbersOfItsCodes_B22) {
  ModelFolder folder;
  std::string path = findModel("tiny-llama-f16", folder);
  std::vector<std::string> command = {path, folder.file("packed"), "--pack"};
  command.insert(command.end(), GetParam().begin(), GetParam().end());
  bool isMade = !path.empty() && runScript("gguf_to_hf.py", command);
  command[1] = folder.file("numbers");
  command.push_back("--dequantized");
  if (!isMade || !runScript("gguf_to_hf.py", command))
    GTEST_SKIP() << "no Python with numpy to make the model";
  EXPECT_EQ(computeLogits(folder.file("packed"), "tiny-llama-f16"),
            computeLogits(folder.file("numbers"), "tiny-llama-f16"));
}

using Arguments = std::vector<std::string>;
INSTANTIATE_TEST_SUITE_P(
    Forms, PackedDirectoryTest,
    testing::Values(Arguments{"gptq", "--group", "128", "--asymmetric"},
                    Arguments{"gptq", "--group", "-1"},
                    Arguments{"awq", "--group", "64", "--asymmetric"},
                    Arguments{"awq", "--group", "32", "--type", "bf16"},
                    Arguments{"compressed", "--group", "32"},
                    Arguments{"compressed", "--group", "-1", "--asymmetric"}));

INSTANTIATE_TEST_SUITE_P(Models, GoldenDirectoryTest,
                         testing::Values("tiny-llama-f16", "tiny-qwen2-f16",
                                         "tiny-qwen3-f16", "tiny-gemma2-f16",
                                         "tiny-gemma3-f16", "tiny-lfm2-f16",
                                         "tiny-qwen3moe-f16"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

INSTANTIATE_TEST_SUITE_P(
    Models, GoldenTest,
    testing::Values("tiny-llama-f16", "tiny-llama-Q8_0", "tiny-llama-Q6_K",
                    "tiny-llama-Q5_K_M", "tiny-llama-Q4_K_M", "tiny-llama-Q4_0",
                    "tiny-llama-Q2_K", "tiny-llama-Q3_K_M", "tiny-llama-Q4_1",
                    "tiny-llama-Q5_0", "tiny-llama-Q5_1", "tiny-llama-IQ4_NL",
                    "tiny-llama-IQ4_XS", "tiny-qwen2-f16", "tiny-qwen2-Q8_0",
                    "tiny-qwen2-Q4_K_M", "tiny-qwen2-Q4_0", "tiny-qwen3-f16",
                    "tiny-qwen3-Q8_0", "tiny-qwen3-Q4_K_M", "tiny-qwen3-Q4_0",
                    "tiny-qwen3moe-f16", "tiny-qwen3moe-Q4_0",
                    "tiny-qwen3moe-Q4_K_M", "tiny-lfm2-f16", "tiny-lfm2-Q8_0",
                    "tiny-lfm2-Q4_K_M", "tiny-lfm2-Q4_0", "stress-qwen3-Q8_0"),
    [](const auto &info) {
      std::string name = info.param;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

} // namespace
