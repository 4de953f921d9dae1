// SPDX-License-Identifier: Apache-2.0
//
// HuggingFaceFolder.h.

#include "test/e2e/compiled/HuggingFaceFolder.h"

namespace llmc::test {

/// Runs a script of test/data; gives |path| or "".
static std::string runScript(const std::string &script,
                             const std::vector<std::string> &arguments,
                             const std::string &path) {
  const std::string python = LLMC_PYTHON;
  std::vector<std::string> command = {
      python, "-B", std::string(LLMC_TEST_DATA_DIR) + "/" + script};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const bool isMade = !python.empty() && runProgram(command).exitCode == 0;
  return isMade ? path : "";
}

std::string writeHuggingFaceFolder(const std::string &gguf,
                                   const TemporaryFolder &folder,
                                   const std::string &name,
                                   const std::vector<std::string> &options) {
  if (gguf.empty())
    return "";
  const std::string path = folder.file(name);
  std::vector<std::string> arguments = {gguf, path};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return runScript("golden/gguf_to_hf.py", arguments, path);
}

std::string writeMpnetFolder(const TemporaryFolder &folder,
                             const std::string &name) {
  const std::string path = folder.file(name);
  return runScript("golden/make_mpnet.py", {path}, path);
}

std::string writeBertFolder(const TemporaryFolder &folder,
                            const std::string &name,
                            const std::string &variant) {
  const std::string path = folder.file(name);
  return runScript("onnx/make_bert_folder.py", {variant, path}, path);
}

} // namespace llmc::test
