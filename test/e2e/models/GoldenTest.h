// SPDX-License-Identifier: Apache-2.0
//
// The set-up of tests of golden models: one of them, compiled and loaded.

#ifndef LLMC_TEST_E2E_MODELS_GOLDENTEST_H
#define LLMC_TEST_E2E_MODELS_GOLDENTEST_H

#include "test/e2e/compiled/EndToEnd.h"

#include <cctype>

namespace llmc::test {

/// `text` as a test's name may have it: what is no letter or digit is `_`.
inline std::string asTestName(std::string text) {
  for (char &character : text)
    if (!std::isalnum(static_cast<unsigned char>(character)))
      character = '_';
  return text;
}

/// What tests with a parameter compile for which target.
struct ModelOnTarget {
  const char *model;
  const char *target;
};

/// For INSTANTIATE_TEST_SUITE_P of these.
inline std::string
nameOfModelOnTarget(const testing::TestParamInfo<ModelOnTarget> &info) {
  return asTestName(info.param.model + std::string("_") + info.param.target);
}

/// A test with a golden language model.
class GoldenTest : public testing::Test {
protected:
  /// Compiles the model as compile() does, and loads it. Where `model` is null
  /// afterwards, the test has failed or is skipped: there is no device, or the
  /// model can't be made here.
  void loadGolden(const std::string &name,
                  const std::vector<std::string> &targets = {"lavapipe"},
                  int64_t maxContext = 0, const std::string &activations = "",
                  const std::string &kv = "") {
    LLMC_E2E_NEED_DEVICE();
    golden = readGolden(name, folder);
    if (golden.modelPath.empty())
      GTEST_SKIP() << "no Python with numpy to make the f16 model";
    file = folder.file("model.llmc");
    LLMC_E2E_OK(compile(golden.modelPath, file, targets, maxContext, {},
                        activations, kv));
    auto loaded = loadLanguageModel(file);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model = std::move(*loaded);
  }

  TemporaryFolder folder;
  Golden golden;
  std::string file;
  std::unique_ptr<runtime::LanguageModel> model;
};

} // namespace llmc::test

#endif // LLMC_TEST_E2E_MODELS_GOLDENTEST_H
