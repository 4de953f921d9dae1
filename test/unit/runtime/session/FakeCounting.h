// SPDX-License-Identifier: Apache-2.0
//
// The counting model on the fake Vulkan driver.

#ifndef LLMC_TEST_UNIT_RUNTIME_SESSION_FAKECOUNTING_H
#define LLMC_TEST_UNIT_RUNTIME_SESSION_FAKECOUNTING_H

#include "test/e2e/runtime/CountingModel.h"

#include <string>

namespace llmc::test {

/// Teaches the fake driver the counting model's kernels.
void addCountingKernels();

/// A file of its own, and a folder for pipelines, while the object lives.
class CountingFile {
public:
  explicit CountingFile(const CountingModelOptions &options = {})
      : CountingFile(makeCountingModel(options)) {}
  explicit CountingFile(ModuleFile contents);
  ~CountingFile();
  CountingFile(const CountingFile &) = delete;
  CountingFile &operator=(const CountingFile &) = delete;

  const std::string &path() const { return file; }
  const std::string &cacheFolder() const { return folder; }
  /// For a saved session.
  std::string sessionPath() const { return folder + "/saved.session"; }

private:
  std::string file, folder;
};

} // namespace llmc::test

#endif // LLMC_TEST_UNIT_RUNTIME_SESSION_FAKECOUNTING_H
