// SPDX-License-Identifier: Apache-2.0
//
// Times the tiles of linears on a device, in whole models: all linears take
// their first tile, then all their second, and so on, so that each is timed
// between the dispatches and with the caches that it will have. Plain C++.

#ifndef LLMC_COMPILER_TUNING_DEVICETIMING_H
#define LLMC_COMPILER_TUNING_DEVICETIMING_H

#include "codegen/Strategy/tuning.pb.h"
#include "runtime/format/Status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace llmc::tuner {

/// Where a linear is computed: an entry of a model's file, and the label of its
/// dispatches there.
struct LinearPlace {
  size_t model = 0; // number among those that are tuned
  std::string function;
  int64_t rows = 1; // of the entry
  std::string label;
};

/// What a dispatch took, a run.
struct PlaceTime {
  std::string function;
  int64_t rows = 1;
  std::string label;
  double microseconds = 0;
};

struct ModelTimes {
  std::string device;
  std::vector<PlaceTime> dispatches;
};

/// Compiles a model, given by its path, with a tuning file and times it.
using TimeModel = std::function<StatusOr<ModelTimes>(
    const std::string &model, const std::string &tuningPath)>;

/// A linear that is timed with several tiles.
struct TimedLinear {
  tuning::Entry entry; // without config
  std::vector<LinearPlace> places;
  /// Strategy's choice first.
  std::vector<tuning::Config> proposals;
  /// A run, with each proposal: all dispatches of a place, the mean over
  /// places. Nothing: not timed.
  std::vector<std::optional<double>> microseconds;
};

/// What does the timing.
struct DeviceTiming {
  std::vector<std::string> models;
  /// Where tuning files are written.
  std::string folder;
  TimeModel timeModel;
  /// What is being done, and how much of it.
  std::function<void(const std::string &what, double done)> report;
};

struct TimingOutcome {
  std::string device;
  /// What failed with proposals other than Strategy's, which then have no
  /// times; empty: nothing.
  std::string remark;
};

/// Fills in `microseconds`. Fails when the models cannot be timed with
/// Strategy's choices, or with Io when a file cannot be written.
StatusOr<TimingOutcome> timeProposals(std::vector<TimedLinear> &linears,
                                      const DeviceTiming &timing);

/// The proposal that took the least time; the first unless another took at
/// least 2 % less. Nothing when the first was not timed.
std::optional<size_t> fastestProposal(const TimedLinear &linear);

} // namespace llmc::tuner

#endif // LLMC_COMPILER_TUNING_DEVICETIMING_H
