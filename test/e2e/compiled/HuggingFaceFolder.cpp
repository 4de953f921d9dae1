// SPDX-License-Identifier: Apache-2.0
//
// HuggingFaceFolder.h.

#include "test/e2e/compiled/HuggingFaceFolder.h"

namespace llmc::test {

std::string writeHuggingFaceFolder(const std::string &gguf,
                                   const TemporaryFolder &folder,
                                   const std::string &name,
                                   const std::vector<std::string> &options) {
  const std::string python = LLMC_PYTHON;
  std::string path = folder.file(name);
  std::vector<std::string> command = {
      python, std::string(LLMC_GOLDEN_DIR) + "/gguf_to_hf.py", gguf, path};
  command.insert(command.end(), options.begin(), options.end());
  const bool isMade =
      !gguf.empty() && !python.empty() && runProgram(command).exitCode == 0;
  return isMade ? path : "";
}

} // namespace llmc::test
