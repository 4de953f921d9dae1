// SPDX-License-Identifier: Apache-2.0
//
// What the dispatches of a run took, by kernel.

#ifndef LLMC_TOOLS_LLMC_DISPATCHPROFILE_H
#define LLMC_TOOLS_LLMC_DISPATCHPROFILE_H

#include "runtime/format/manifest.pb.h"
#include "runtime/session/Session.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::tool {

/// All dispatches of one kernel in the entries of one function and size.
struct KernelTime {
  std::string function;
  uint32_t rows = 0; // most of a step
  std::string kernel, label;
  uint64_t runs = 0;
  double nanoseconds = 0;   // of all runs
  uint64_t weightBytes = 0; // that all runs bind
  /// Products of linears, with all rows of the step; 0 of other kernels.
  uint64_t multiplyAdds = 0;

  double gigabytesPerSecond() const {
    return nanoseconds > 0 ? static_cast<double>(weightBytes) / nanoseconds : 0;
  }
  /// A product and its sum are two operations.
  double gigaflopsPerSecond() const {
    return nanoseconds > 0 ? 2 * static_cast<double>(multiplyAdds) / nanoseconds
                           : 0;
  }
};

/// By kernel, what took longest first. Dispatches that never ran are left out.
/// `variant` is one of `manifest`.
std::vector<KernelTime>
sumByKernel(const format::Manifest &manifest, const format::Variant &variant,
            const std::vector<runtime::DispatchTime> &times);

/// A measurement's dispatches, each with the time of its last run.
struct TracedRun {
  std::string name;
  std::vector<runtime::DispatchTime> times;
};

/// What chrome://tracing and ui.perfetto.dev open: a process for each run, in
/// it a thread for each entry, whose dispatches follow one another.
std::string traceOf(const format::Variant &variant,
                    const std::vector<TracedRun> &runs);

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_DISPATCHPROFILE_H
