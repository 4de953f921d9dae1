// SPDX-License-Identifier: Apache-2.0
//
// What the commands that run a file have in common: the options that choose a
// device, loading, and how failures are told.

#ifndef LLMC_TOOLS_LLMC_RUNTIMECOMMAND_H
#define LLMC_TOOLS_LLMC_RUNTIMECOMMAND_H

#include "runtime/session/EmbeddingModel.h"
#include "runtime/session/LanguageModel.h"
#include "runtime/session/TextModule.h"
#include "tools/llmc/Options.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llmc::tool {

/// Options of every command that needs a device.
struct DeviceOptions {
  std::string device; // number or part of the name; empty: the best
  std::string variant;
  std::string selfTest;    // auto, always or never; empty: auto
  std::string fault;       // that is injected, for tests
  std::string cacheFolder; // empty: $XDG_CACHE_HOME/llmc or ~/.cache/llmc
  bool usesNoCache = false;
  int64_t timeoutSeconds = 0; // for one step; 0: the session's own

  void declare(Options &options);
};

/// Where compiled pipelines and verdicts of self-tests are kept; empty:
/// nowhere.
std::string cacheFolderOf(const DeviceOptions &options);

/// Loads a file onto the device that the options choose, of an engine of its
/// own or of `engine`.
StatusOr<std::shared_ptr<runtime::Module>>
loadModule(const std::string &path, const DeviceOptions &options);
StatusOr<std::shared_ptr<runtime::Module>>
loadModule(const runtime::Engine &engine, const std::string &path,
           const DeviceOptions &options);

/// The same with the file's tokenizer.
StatusOr<runtime::TextModule> loadTextModule(const runtime::Engine &engine,
                                             const std::string &path,
                                             const DeviceOptions &options);

/// Those of a session.
runtime::SessionOptions toSessionOptions(const DeviceOptions &options,
                                         bool takesTimes = false);

/// Loads a file and creates a session of its language model.
StatusOr<std::unique_ptr<runtime::LanguageModel>>
loadLanguageModel(const std::string &path, const DeviceOptions &options);

/// The tokenizer of a file; Unsupported when it has none.
StatusOr<std::unique_ptr<text::Tokenizer>>
createTokenizer(const format::Reader &file);

/// Prints the failure and gives the exit code for it.
int fail(const Status &status);

/// Ids between commas or white space. InvalidArgument names what is no id.
StatusOr<std::vector<int32_t>> parseTokens(const std::string &text);

/// The content of a file.
StatusOr<std::string> readTextFile(const std::string &path);

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_RUNTIMECOMMAND_H
