// SPDX-License-Identifier: Apache-2.0
//
// llmc tune: the best tile of each linear of some models, as a tuning file.

#include "tools/llmc/Commands.h"
#include "tools/llmc/ExitCode.h"
#include "tools/llmc/Options.h"
#include "tools/llmc/ProgressLine.h"

#include "compiler/Tuning/Tuner.h"

#include <cstdio>
#include <fstream>

namespace llmc::tool {

namespace {

void printSummary(const tuner::TuneResult &result, const std::string &path) {
  std::printf("%lld linears, %lld with another tile than Strategy's choice; "
              "%lld kernels compiled by the driver, %lld of them spilled\n",
              static_cast<long long>(result.numLinears),
              static_cast<long long>(result.numChanged),
              static_cast<long long>(result.numMeasured),
              static_cast<long long>(result.numSpilling));
  if (!result.remark.empty())
    std::printf("%s\n", result.remark.c_str());
  std::printf("written to %s\n", path.c_str());
}

} // namespace

int runTune(const Arguments &arguments) {
  tuner::TuneOptions tune;
  std::string output;
  Options options(
      "tune --target=NAME -o FILE MODEL…",
      "Compares tiles for each linear of the models by what the target's "
      "driver "
      "compiler makes of them,\nand writes the best to a file for `llmc "
      "compile --tuning`. Needs no device.");
  options.rest("MODEL…", tune.models, "model files, as for compile");
  options.text("target,t", "NAME", tune.target,
               "the target, or the path of a .textproto file");
  options.text("output,o", "FILE", output, "the tuning file (.textproto)");
  options.text("shader-stats", "DIR", tune.shaderStats,
               "the folder tools/shader-stats; without it the register model "
               "alone decides");
  options.integer("candidates", "N", tune.numCandidates, 1, 1000,
                  "tiles to compile for a kind of linear (default: 6)");
  options.integer("seconds", "N", tune.seconds, 1, 1000000,
                  "time for the driver compiler (default: 600)");
  options.flag("only-changes", tune.onlyChanges,
               "linears for which the compiler's own choice is best get no "
               "entry, but a comment");
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  if (tune.target.empty() || output.empty()) {
    std::fputs("llmc: tune needs --target and -o; `llmc tune --help` explains "
               "them\n",
               stderr);
    return kExitUsage;
  }

  auto result = [&] {
    ProgressLine line;
    tune.progress = [&line](const std::string &what, double done) {
      line.show(what, done);
    };
    return tuner::tuneModels(tune);
  }();
  if (!result.ok()) {
    std::fprintf(stderr, "llmc: %s\n", result.status().message().c_str());
    return exitCodeOf(result.status());
  }
  result->tuning.set_producer("llmc " LLMC_VERSION " tune --target=" +
                              tune.target);
  std::ofstream file(output);
  file << tuner::printTuning(result->tuning, result->kept);
  file.close();
  if (!file) {
    std::fprintf(stderr, "llmc: cannot write '%s'\n", output.c_str());
    return kExitFailure;
  }
  printSummary(*result, output);
  return kExitOk;
}

} // namespace llmc::tool
