// SPDX-License-Identifier: Apache-2.0
//
// EndToEnd.h.

#include "test/e2e/compiled/EndToEnd.h"

#include "compiler/Driver/Driver.h"
#include "test/support/TestFolder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace llmc::test {

namespace {

/// Null when Vulkan or a device is missing.
const std::shared_ptr<runtime::Engine> &sharedEngine() {
  static const std::shared_ptr<runtime::Engine> engine = [] {
    auto created = runtime::Engine::create();
    return created.ok() && !(*created)->devices().empty() ? *created : nullptr;
  }();
  return engine;
}

/// The numbers between the brackets after |key| in a JSON text.
std::vector<int32_t> readList(const std::string &json, const std::string &key) {
  std::vector<int32_t> numbers;
  size_t begin = json.find('[', json.find("\"" + key + "\""));
  if (begin == std::string::npos)
    return numbers;
  std::string list = json.substr(begin + 1, json.find(']', begin) - begin - 1);
  std::replace(list.begin(), list.end(), ',', ' ');
  std::istringstream stream(list);
  for (int32_t number; stream >> number;)
    numbers.push_back(number);
  return numbers;
}

} // namespace

TemporaryFolder::TemporaryFolder() : folder(makeTestFolder()) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!folder.empty())
    std::filesystem::remove_all(folder, ignored);
}

size_t TemporaryFolder::count() const {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

Status compile(const std::string &input, const std::string &output,
               const std::vector<std::string> &targets, int64_t maxContext,
               const std::vector<std::string> &limits,
               const std::string &activations, const std::string &kv) {
  driver::CompileOptions options;
  options.inputPath = input;
  options.outputPath = output;
  options.targets = targets;
  options.maxContext = maxContext;
  options.limits = limits;
  options.activations = activations;
  options.kvType = kv;
  options.selfTests = false;
  return driver::compileModel(options).status();
}

bool hasDevice() { return sharedEngine() != nullptr; }

StatusOr<std::shared_ptr<runtime::Module>> load(const std::string &path,
                                                const std::string &variant) {
  runtime::ModuleOptions options;
  options.preference.targetName = variant;
  options.pipelineCacheFolder = LLMC_E2E_CACHE_DIR;
  return runtime::Module::load(*sharedEngine(), path, options);
}

StatusOr<std::unique_ptr<runtime::LanguageModel>>
loadLanguageModel(const std::string &path, const std::string &variant) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Module> module,
                        load(path, variant));
  return runtime::LanguageModel::create(std::move(module), {});
}

StatusOr<std::unique_ptr<runtime::EmbeddingModel>>
loadEmbeddingModel(const std::string &path, const std::string &variant) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Module> module,
                        load(path, variant));
  return runtime::EmbeddingModel::create(std::move(module), {});
}

StatusOr<std::vector<float>> prefillAll(runtime::LanguageModel &model,
                                        const std::vector<int32_t> &tokens) {
  std::vector<float> rows;
  LLMC_RETURN_IF_ERROR(
      model.prefillWithAllLogits(tokens, [&](const float *row) {
        rows.insert(rows.end(), row, row + model.vocabularySize());
        return okStatus();
      }));
  return rows;
}

StatusOr<std::vector<float>> decodeAll(runtime::LanguageModel &model,
                                       const std::vector<int32_t> &tokens) {
  std::vector<float> rows(tokens.size() * model.vocabularySize());
  float *row = rows.data();
  for (int32_t token : tokens) {
    LLMC_RETURN_IF_ERROR(model.decode(token, row));
    row += model.vocabularySize();
  }
  return rows;
}

int32_t argmax(const float *logits, size_t count) {
  return static_cast<int32_t>(std::max_element(logits, logits + count) -
                              logits);
}

std::vector<int32_t> Golden::allTokens() const {
  std::vector<int32_t> tokens = prompt;
  tokens.insert(tokens.end(), greedy.begin(), greedy.end());
  return tokens;
}

std::string findGolden(const std::string &name, const TemporaryFolder &folder) {
  const std::string base = std::string(LLMC_GOLDEN_DIR) + "/";
  if (exists(base + name + ".gguf"))
    return base + name + ".gguf";
  std::string path = folder.file(name + ".gguf");
  const std::string python = LLMC_PYTHON;
  const std::string family =
      name.substr(name.find('-'), name.rfind('-') - name.find('-'));
  std::vector<std::string> command = {
      python, base + "synth_gguf.py", "tiny" + family, path, "--type", "f16"};
  if (name.rfind("stress", 0) == 0)
    command.insert(command.end(), {"--stress", "300"});
  if (python.empty() || runProgram(command).exitCode != 0)
    path.clear();
  return path;
}

std::vector<float> readGoldenNumbers(const std::string &name) {
  const std::string bytes =
      readFile(std::string(LLMC_GOLDEN_DIR) + "/" + name + ".f32");
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(),
            reinterpret_cast<char *>(numbers.data()));
  return numbers;
}

std::vector<int32_t> readGoldenTokens() {
  std::istringstream text(
      readFile(std::string(LLMC_GOLDEN_DIR) + "/tokens48.txt"));
  std::vector<int32_t> tokens;
  for (int32_t token; text >> token;)
    tokens.push_back(token);
  return tokens;
}

Golden readGolden(const std::string &name, const TemporaryFolder &folder) {
  const std::string json =
      readFile(std::string(LLMC_GOLDEN_DIR) + "/" + name + ".json");
  return {findGolden(name, folder), readGoldenTokens(),
          readList(json, "greedy"), readGoldenNumbers(name)};
}

double relativeDifference(const std::vector<float> &found,
                          const std::vector<float> &wanted) {
  if (found.size() != wanted.size())
    return std::numeric_limits<double>::infinity();
  double largest = 0, difference = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!std::isfinite(found[i]))
      return std::numeric_limits<double>::infinity();
    largest = std::max<double>(largest, std::abs(wanted[i]));
    difference = std::max(difference,
                          std::abs(static_cast<double>(found[i]) - wanted[i]));
  }
  return difference / largest;
}

ToolResult runTool(const std::vector<std::string> &arguments) {
  std::vector<std::string> command = {LLMC_TOOL};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return runProgram(command);
}

ToolResult runProgram(const std::vector<std::string> &command) {
  TemporaryFolder folder;
  const std::string output = folder.file("out"), errors = folder.file("err");
  std::vector<char *> words;
  for (const std::string &word : command)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), flags, 0600);
  ToolResult result;
  pid_t child = 0;
  int state = 0;
  if (posix_spawnp(&child, words[0], &actions, nullptr, words.data(),
                   environ) == 0 &&
      waitpid(child, &state, 0) == child && WIFEXITED(state))
    result.exitCode = WEXITSTATUS(state);
  posix_spawn_file_actions_destroy(&actions);
  result.output = readFile(output);
  result.errors = readFile(errors);
  return result;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

bool exists(const std::string &path) { return std::filesystem::exists(path); }

} // namespace llmc::test
