// SPDX-License-Identifier: Apache-2.0
//
// RuntimeCommand.h.

#include "tools/llmc/RuntimeCommand.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace llmc::tool {

namespace {

std::string systemCacheFolder() {
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/llmc";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/llmc";
  return "";
}

StatusOr<runtime::InjectedFault> parseFault(const std::string &text) {
  using Kind = runtime::InjectedFault::Kind;
  runtime::InjectedFault fault;
  if (text.empty())
    return fault;
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (colon == std::string::npos || (kind != "wrong" && kind != "unstable"))
    return Status(StatusCode::InvalidArgument,
                  "the fault is '" + text +
                      "', allowed is wrong:TARGET, wrong:TARGET:KERNEL "
                      "or unstable:TARGET");
  fault.kind = kind == "wrong" ? Kind::Wrong : Kind::Unstable;
  const size_t second = std::min(text.find(':', colon + 1), text.size());
  fault.variant = text.substr(colon + 1, second - colon - 1);
  if (second < text.size())
    fault.kernel = text.substr(second + 1);
  return fault;
}

bool isNumber(const std::string &text) {
  return !text.empty() && text.size() < 9 &&
         std::all_of(
             text.begin(), text.end(),
             [](unsigned char c) { return std::isdigit(c); });
}

} // namespace

void DeviceOptions::declare(Options &options) {
  options.text("device", "DEVICE", device,
               "its number in `llmc devices`, or a part of its name");
  options.text("variant", "TARGET", variant,
               "run the variant compiled for TARGET");
  options.text("cache-dir", "DIR", cacheFolder,
               "where compiled pipelines are kept (default ~/.cache/llmc)");
  options.flag("no-cache", usesNoCache, "don't keep compiled pipelines");
  options.choice("self-test", {"auto", "always", "never"}, selfTest,
                 "test the kernels on the device: auto (default) once for each "
                 "driver");
  // For tests of the fallback: wrong:TARGET, wrong:TARGET:KERNEL (how its name
  // begins) or unstable:TARGET.
  options.text("inject-fault", "KIND:TARGET", fault, "");
  options.integer("timeout", "SECONDS", timeoutSeconds, 0, 86400,
                  "for one step (default 30, software devices 600)");
}

std::string cacheFolderOf(const DeviceOptions &options) {
  if (options.usesNoCache)
    return "";
  return options.cacheFolder.empty() ? systemCacheFolder()
                                     : options.cacheFolder;
}

static StatusOr<runtime::ModuleOptions>
toModuleOptions(const DeviceOptions &options) {
  runtime::ModuleOptions moduleOptions;
  if (isNumber(options.device))
    moduleOptions.preference.index = std::atoi(options.device.c_str());
  else
    moduleOptions.preference.namePart = options.device;
  moduleOptions.preference.targetName = options.variant;
  moduleOptions.pipelineCacheFolder = cacheFolderOf(options);
  if (options.selfTest == "always")
    moduleOptions.selfTest = runtime::SelfTestMode::Always;
  else if (options.selfTest == "never")
    moduleOptions.selfTest = runtime::SelfTestMode::Never;
  LLMC_ASSIGN_OR_RETURN(moduleOptions.fault, parseFault(options.fault));
  return moduleOptions;
}

StatusOr<std::shared_ptr<runtime::Module>>
loadModule(const std::string &path, const DeviceOptions &options) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Engine> engine,
                        runtime::Engine::create());
  return loadModule(*engine, path, options);
}

StatusOr<std::shared_ptr<runtime::Module>>
loadModule(const runtime::Engine &engine, const std::string &path,
           const DeviceOptions &options) {
  LLMC_ASSIGN_OR_RETURN(const runtime::ModuleOptions moduleOptions,
                        toModuleOptions(options));
  return runtime::Module::load(engine, path, moduleOptions);
}

StatusOr<runtime::TextModule> loadTextModule(const runtime::Engine &engine,
                                             const std::string &path,
                                             const DeviceOptions &options) {
  LLMC_ASSIGN_OR_RETURN(runtime::ModuleOptions moduleOptions,
                        toModuleOptions(options));
  return runtime::loadTextModule(engine, path, std::move(moduleOptions));
}

runtime::SessionOptions toSessionOptions(const DeviceOptions &options,
                                         bool takesTimes) {
  runtime::SessionOptions sessionOptions;
  sessionOptions.stepTimeout = std::chrono::seconds(options.timeoutSeconds);
  sessionOptions.takesTimes = takesTimes;
  return sessionOptions;
}

StatusOr<std::unique_ptr<runtime::LanguageModel>>
loadLanguageModel(const std::string &path, const DeviceOptions &options) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Module> module,
                        loadModule(path, options));
  return runtime::LanguageModel::create(std::move(module),
                                        toSessionOptions(options));
}

StatusOr<std::unique_ptr<text::Tokenizer>>
createTokenizer(const format::Reader &file) {
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<text::Tokenizer> tokenizer,
                        text::Tokenizer::read(file));
  if (!tokenizer)
    return Status(StatusCode::Unsupported, "the file has no tokenizer");
  return tokenizer;
}

int fail(const Status &status) {
  std::fprintf(stderr, "llmc: %s\n", status.message().c_str());
  switch (status.code()) {
  case StatusCode::InvalidArgument:
    return kExitUsage;
  case StatusCode::InvalidFile:
  case StatusCode::NotFound:
  case StatusCode::Unsupported:
  case StatusCode::ContextFull:
    return kExitRefused;
  default:
    return kExitFailure;
  }
}

StatusOr<std::vector<int32_t>> parseTokens(const std::string &text) {
  const char *separators = ", \t\r\n";
  std::vector<int32_t> tokens;
  for (size_t begin = text.find_first_not_of(separators);
       begin != std::string::npos;) {
    const size_t end =
        std::min(text.find_first_of(separators, begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    char *rest = nullptr;
    errno = 0;
    const long long id = std::strtoll(word.c_str(), &rest, 10);
    if (*rest || errno || id < 0 || id > INT32_MAX)
      return Status(StatusCode::InvalidArgument,
                    "token " + std::to_string(tokens.size()) + " is '" + word +
                        "', allowed is an id from 0");
    tokens.push_back(static_cast<int32_t>(id));
    begin = text.find_first_not_of(separators, end);
  }
  return tokens;
}

StatusOr<std::string> readTextFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file),
                   std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad())
    return Status(errno == ENOENT ? StatusCode::NotFound : StatusCode::Io,
                  path + ": could not read: " + std::strerror(errno));
  return text;
}

} // namespace llmc::tool
