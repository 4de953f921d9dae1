// SPDX-License-Identifier: Apache-2.0
//
// What `llmc tune --device` times models with.

#ifndef LLMC_TOOLS_LLMC_TUNETIMER_H
#define LLMC_TOOLS_LLMC_TUNETIMER_H

#include "compiler/Tuning/DeviceTiming.h"
#include "tools/llmc/RuntimeCommand.h"

#include <string>

namespace llmc::tool {

struct TuneTimerOptions {
  std::string target;
  DeviceOptions device;
  /// Runs of each entry that count.
  int64_t repeats = 5;
};

/// Compiles a model with a tuning file, into a file beside the latter, and runs
/// all its entries but those that choose tokens on the device, with inputs of
/// zeros and all rows, in turn, so that none finds its weights in a cache that
/// it alone has filled.
StatusOr<tuner::ModelTimes> timeModel(const TuneTimerOptions &options,
                                      const std::string &model,
                                      const std::string &tuningPath);

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_TUNETIMER_H
