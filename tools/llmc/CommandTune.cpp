// SPDX-License-Identifier: Apache-2.0
//
// llmc tune: the best tile of each linear of some models, as a tuning file.

#include "tools/llmc/Commands.h"
#include "tools/llmc/ExitCode.h"
#include "tools/llmc/Options.h"
#include "tools/llmc/ProgressLine.h"
#include "tools/llmc/TuneTimer.h"

#include "compiler/Tuning/Tuner.h"

#include <cstdio>
#include <fstream>

namespace llmc::tool {

namespace {

void printSummary(const tuner::TuneResult &result, const std::string &path) {
  std::printf("%lld linears, %lld with another tile than Strategy's choice; ",
              static_cast<long long>(result.numLinears),
              static_cast<long long>(result.numChanged));
  if (!result.device.empty())
    std::printf("%lld tiles timed on %s\n",
                static_cast<long long>(result.numMeasured),
                result.device.c_str());
  else
    std::printf("%lld kernels compiled by the driver, %lld of them spilled\n",
                static_cast<long long>(result.numMeasured),
                static_cast<long long>(result.numSpilling));
  if (!result.remark.empty())
    std::printf("%s\n", result.remark.c_str());
  std::printf("written to %s\n", path.c_str());
}

struct TuneCommand {
  tuner::TuneOptions tune;
  TuneTimerOptions timer;
  std::string output;

  Options::Outcome parse(const Arguments &arguments) {
    Options options(
        "tune --target=NAME -o FILE MODEL…",
        "Compares tiles for each linear of the models by what the target's "
        "driver compiler makes of them,\nor by what a device takes for them, "
        "and writes the best to a file for `llmc compile --tuning`.\nNeeds no "
        "device without --device.");
    options.rest("MODEL…", tune.models, "model files, as for compile");
    options.text("target,t", "NAME", tune.target,
                 "the target, or the path of a .textproto file");
    options.text("output,o", "FILE", output, "the tuning file (.textproto)");
    options.text("shader-stats", "DIR", tune.shaderStats,
                 "the folder tools/shader-stats; without it the register model "
                 "alone decides");
    options.text("device", "DEVICE", timer.device.device,
                 "time the tiles in the whole models on a device instead: its "
                 "number in `llmc devices`, or a part of its name");
    options.integer("candidates", "N", tune.numCandidates, 1, 1000,
                    "tiles to compile for a kind of linear, or to time for "
                    "each (default: 6)");
    options.integer("repeat,r", "N", timer.repeats, 1, 1000,
                    "with --device: runs of each tile (default: 5)");
    options.integer("seconds", "N", tune.seconds, 1, 1000000,
                    "time for the driver compiler (default: 600)");
    options.flag("only-changes", tune.onlyChanges,
                 "linears for which the compiler's own choice is best get no "
                 "entry, but a comment");
    return options.parse(arguments);
  }

  /// Whether the options that are required are there; says so if not.
  bool isComplete() const {
    const char *problem = nullptr;
    if (tune.target.empty() || output.empty())
      problem = "tune needs --target and -o";
    else if (!tune.shaderStats.empty() && isOnDevice())
      problem = "tune takes either --device or --shader-stats";
    if (problem)
      std::fprintf(stderr, "llmc: %s; `llmc tune --help` explains them\n",
                   problem);
    return !problem;
  }

  bool isOnDevice() const { return !timer.device.device.empty(); }

  StatusOr<tuner::TuneResult> run() {
    ProgressLine line;
    tune.progress = [&line](const std::string &what, double done) {
      line.show(what, done);
    };
    timer.target = tune.target;
    timer.device.usesNoCache = true; // of kernels that run once
    if (isOnDevice())
      tune.timeModel = [this](const std::string &model,
                              const std::string &tuningPath) {
        return timeModel(timer, model, tuningPath);
      };
    return tuner::tuneModels(tune);
  }
};

} // namespace

int runTune(const Arguments &arguments) {
  TuneCommand command;
  if (auto outcome = command.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  if (!command.isComplete())
    return kExitUsage;
  auto result = command.run();
  if (!result.ok()) {
    std::fprintf(stderr, "llmc: %s\n", result.status().message().c_str());
    return exitCodeOf(result.status());
  }
  result->tuning.set_producer(
      "llmc " LLMC_VERSION " tune --target=" + command.tune.target +
      (command.isOnDevice() ? " --device" : ""));
  std::ofstream file(command.output);
  file << tuner::printTuning(result->tuning, result->kept);
  file.close();
  if (!file) {
    std::fprintf(stderr, "llmc: cannot write '%s'\n", command.output.c_str());
    return kExitFailure;
  }
  printSummary(*result, command.output);
  return kExitOk;
}

} // namespace llmc::tool
