// SPDX-License-Identifier: Apache-2.0
//
// What the host does for a token and nothing else, for host-instructions: a
// program that loads a file on the fake Vulkan driver, whose kernels do
// nothing, and decodes.

#include "runtime/session/LanguageModel.h"
#include "test/support/fake_vulkan/FakeVulkan.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace llmc {
namespace {

Status run(const std::string &path, const std::string &act, size_t numTokens) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Engine> engine,
                        runtime::Engine::create(LLMC_FAKE_VULKAN));
  runtime::ModuleOptions options;
  options.numThreads = 1;
  options.selfTest = runtime::SelfTestMode::Never;
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Module> module,
                        runtime::Module::load(*engine, path, options));
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<runtime::LanguageModel> model,
                        runtime::LanguageModel::create(module, {}));
  if (act == "generate") {
    LLMC_RETURN_IF_ERROR(model->canChoose({}).status());
    size_t numGiven = 0;
    LLMC_RETURN_IF_ERROR(
        model->generate(std::vector<int32_t>{1}, {}, numTokens, [&](int32_t) {
          ++numGiven;
          return true;
        }));
    return numGiven == numTokens
               ? okStatus()
               : Status(StatusCode::Internal, std::to_string(numGiven) +
                                                  " tokens came instead of " +
                                                  std::to_string(numTokens));
  }
  std::vector<float> logits(model->vocabularySize());
  for (size_t token = 0; token < numTokens; ++token)
    LLMC_RETURN_IF_ERROR(model->decode(1, logits.data()));
  return okStatus();
}

} // namespace
} // namespace llmc

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fputs("usage: HostWork FILE decode|generate TOKENS\n", stderr);
    return 2;
  }
  const llmc::Status status =
      llmc::run(argv[1], argv[2], std::strtoul(argv[3], nullptr, 10));
  if (!status.ok())
    std::fprintf(stderr, "HostWork: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
