// SPDX-License-Identifier: Apache-2.0
//
// The llmc command line: a table of commands.

#include "tools/llmc/Commands.h"
#include "tools/llmc/Options.h"

#include <cstdio>

namespace llmc::tool {

namespace {

struct Command {
  const char *name;
  const char *summary;
  int (*run)(const Arguments &arguments); // null: not in this build
};

#ifdef LLMC_WITH_COMPILER
constexpr auto kRunCompile = runCompile;
constexpr auto kRunEstimate = runEstimate;
constexpr auto kRunTargets = runTargets;
constexpr auto kRunTune = runTune;
constexpr auto kRunVerify = runVerify;
#else
constexpr std::nullptr_t kRunCompile = nullptr;
constexpr std::nullptr_t kRunEstimate = nullptr;
constexpr std::nullptr_t kRunTargets = nullptr;
constexpr std::nullptr_t kRunTune = nullptr;
constexpr std::nullptr_t kRunVerify = nullptr;
#endif

const Command kCommands[] = {
    {"compile", "turn a model file into a .llmc file", kRunCompile},
    {"run", "answer a prompt", runRun},
    {"embed", "turn texts into vectors", runEmbed},
    {"bench", "measure prefill and decode", runBench},
    {"logits", "write the logits after every token", runLogits},
    {"perplexity", "say how well a model predicts a text", runPerplexity},
    {"verify", "compare a .llmc file with its model", kRunVerify},
    {"inspect", "show what is in a .llmc file", runInspect},
    {"estimate", "predict speed and memory on a target", kRunEstimate},
    {"tune", "find the best tiles for a target", kRunTune},
    {"targets", "list the devices to compile for", kRunTargets},
    {"devices", "list the Vulkan devices of this machine", runDevices},
    {"tokenize", "print the token ids of a text", runTokenize},
};

void printHelp(FILE *to) {
  std::fputs("Usage: llmc COMMAND [ARGUMENTS]\n\nCommands:\n", to);
  for (const Command &command : kCommands)
    std::fprintf(to, "  %-10s %s%s\n", command.name, command.summary,
                 command.run ? "" : " (not in this build)");
  std::fputs("\n`llmc COMMAND --help` explains one. Exit codes: 0 success, 1 "
             "failure, 2 wrong command line,\n3 the input file is refused.\n",
             to);
}

int run(const Arguments &arguments) {
  if (arguments.empty()) {
    printHelp(stderr);
    return kExitUsage;
  }
  const std::string &name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    printHelp(stdout);
    return kExitOk;
  }
  if (name == "--version") {
    std::puts("llmc " LLMC_VERSION);
    return kExitOk;
  }
  for (const Command &command : kCommands) {
    if (name != command.name)
      continue;
    if (command.run)
      return command.run({arguments.begin() + 1, arguments.end()});
    std::fprintf(stderr,
                 "llmc: this build has no compiler, so no command '%s'; build "
                 "with -DLLMC_BUILD_COMPILER=ON\n",
                 command.name);
    return kExitFailure;
  }
  std::fprintf(stderr, "llmc: unknown command '%s'; `llmc --help` lists them\n",
               name.c_str());
  return kExitUsage;
}

} // namespace

} // namespace llmc::tool

int main(int argc, char **argv) {
  return llmc::tool::run({argv + 1, argv + argc});
}
