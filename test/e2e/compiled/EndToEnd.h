// SPDX-License-Identifier: Apache-2.0
//
// What tests of the whole path share: compiling to temporary files, loading,
// golden data, and running the command line tool.

#ifndef LLMC_TEST_E2E_COMPILED_ENDTOEND_H
#define LLMC_TEST_E2E_COMPILED_ENDTOEND_H

#include "runtime/session/EmbeddingModel.h"
#include "runtime/session/LanguageModel.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace llmc::test {

/// A folder that is removed with all that is in it.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(const std::string &name) const {
    return folder + "/" + name;
  }
  /// How many files and folders are in it.
  size_t count() const;

private:
  std::string folder;
};

/// Compiles the model file |input| to |output|. |maxContext| 0: the model's
/// own. |limits|: of the targets, as `llmc compile --limit` takes them.
/// |activations|, |kv|: as --activations and --kv have them; empty: the
/// target's. The file has no self-test: for that, a driver would compile the
/// kernels of all numbers of rows.
Status compile(const std::string &input, const std::string &output,
               const std::vector<std::string> &targets = {"lavapipe"},
               int64_t maxContext = 0,
               const std::vector<std::string> &limits = {},
               const std::string &activations = "", const std::string &kv = "");

/// Loads a .llmc file; |variant| empty: the best for the device. Compiled
/// pipelines are kept in the build folder.
StatusOr<std::shared_ptr<runtime::Module>>
load(const std::string &path, const std::string &variant = "");
StatusOr<std::unique_ptr<runtime::LanguageModel>>
loadLanguageModel(const std::string &path, const std::string &variant = "");

StatusOr<std::unique_ptr<runtime::EmbeddingModel>>
loadEmbeddingModel(const std::string &path, const std::string &variant = "");

/// Whether there is a Vulkan device.
bool hasDevice();

/// Rows of logits, one after another, in chunks of many rows.
StatusOr<std::vector<float>> prefillAll(runtime::LanguageModel &model,
                                        const std::vector<int32_t> &tokens);
/// The same, token by token.
StatusOr<std::vector<float>> decodeAll(runtime::LanguageModel &model,
                                       const std::vector<int32_t> &tokens);

/// The index of the largest number, the first of equal ones.
int32_t argmax(const float *logits, size_t count);

/// A golden model of test/data/golden and its numbers.
struct Golden {
  std::string modelPath;       // empty: it could not be made here
  std::vector<int32_t> prompt; // 48 ids
  std::vector<int32_t> greedy; // 16 ids that follow
  std::vector<float> logits;   // 64 rows
  std::vector<int32_t> allTokens() const;
};

/// The file of a golden model; f16 models are made in |folder| by the script
/// there. Empty when it could not be made.
std::string findGolden(const std::string &name, const TemporaryFolder &folder);
/// Numbers of a golden model: NAME.f32.
std::vector<float> readGoldenNumbers(const std::string &name);
/// The 48 ids of all golden models.
std::vector<int32_t> readGoldenTokens();

/// Reads all of it.
Golden readGolden(const std::string &name, const TemporaryFolder &folder);

/// max |a - b| / max |b|; infinite when the sizes differ or a number is NaN.
double relativeDifference(const std::vector<float> &found,
                          const std::vector<float> &wanted);

struct ToolResult {
  int exitCode = -1; // -1: ended by a signal
  std::string output;
  std::string errors;
};

/// Runs the command line tool of this build.
ToolResult runTool(const std::vector<std::string> &arguments);

/// Runs any program.
ToolResult runProgram(const std::vector<std::string> &command);

std::string readFile(const std::string &path);
void writeFile(const std::string &path, const std::string &bytes);
bool exists(const std::string &path);

} // namespace llmc::test

/// Skips a test where there is no Vulkan device.
#define LLMC_E2E_NEED_DEVICE()                                                 \
  do {                                                                         \
    if (!::llmc::test::hasDevice())                                            \
      GTEST_SKIP() << "no Vulkan device here";                                 \
  } while (false)

/// A statement that fails the test when a Status or StatusOr is not ok.
#define LLMC_E2E_OK(expr)                                                      \
  do {                                                                         \
    const ::llmc::Status llmcStatus = (expr);                                  \
    ASSERT_TRUE(llmcStatus.ok()) << llmcStatus.message();                      \
  } while (false)

#endif // LLMC_TEST_E2E_COMPILED_ENDTOEND_H
