// SPDX-License-Identifier: Apache-2.0
//
// llmc tune as a library: models in, a tuning file's contents out. No MLIR in
// this header.

#ifndef LLMC_COMPILER_TUNING_TUNER_H
#define LLMC_COMPILER_TUNING_TUNER_H

#include "codegen/Strategy/tuning.pb.h"
#include "compiler/Tuning/DeviceTiming.h"
#include "runtime/format/Status.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace llmc::tuner {

struct TuneOptions {
  /// .gguf files, or .mlir files in the graph dialect.
  std::vector<std::string> models;
  /// A shipped target, or the path of a .textproto file.
  std::string target;
  /// The folder tools/shader-stats; empty: the register model alone decides.
  std::string shaderStats;
  /// Times models on a device, which then decides; empty: no device is asked.
  TimeModel timeModel;
  /// Tiles that are compiled for a kind of linear, or timed for each, at most.
  int64_t numCandidates = 6;
  /// Time for the driver compilers; linears whose own tile is not measured by
  /// then get no entry.
  int64_t seconds = 600;
  /// Linears for which Strategy's choice is the best get no entry.
  bool onlyChanges = false;
  /// What is being done, and how much of it (0 to 1). May be empty; called from
  /// one thread at a time.
  std::function<void(const std::string &what, double done)> progress;
};

struct TuneResult {
  tuning::Tuning tuning;
  /// What would have been entries without onlyChanges.
  tuning::Tuning kept;
  int64_t numLinears = 0; // distinct, over all models
  int64_t numMeasured =
      0; // kernels that a driver compiler made or a device timed
  int64_t numSpilling = 0; // of them
  int64_t numChanged = 0;  // linears that got another tile than Strategy's
  /// That timed the tiles; empty: none did.
  std::string device;
  /// Why no driver compiler was asked, or stopped being, or what could not be
  /// timed; empty if all was.
  std::string remark;
};

/// Finds the best tile of every distinct linear of the models. Those in matrix
/// units are among them when a device decides.
///
/// Fails with InvalidArgument without a model, NotFound for an unknown target
/// or a folder without the tool, InvalidFile for a refused model, Unsupported
/// for one that the target cannot run.
StatusOr<TuneResult> tuneModels(const TuneOptions &options);

/// The tuning as text, an entry a line. What was kept follows in comments, a
/// line for all linears of which everything but N and K is the same.
std::string printTuning(const tuning::Tuning &tuning,
                        const tuning::Tuning &kept = {});

} // namespace llmc::tuner

#endif // LLMC_COMPILER_TUNING_TUNER_H
