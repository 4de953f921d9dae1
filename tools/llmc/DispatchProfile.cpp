// SPDX-License-Identifier: Apache-2.0
//
// DispatchProfile.h.

#include "tools/llmc/DispatchProfile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace llmc::tool {

namespace {

std::vector<const format::Dispatch *> dispatchesOf(const format::Entry &entry) {
  std::vector<const format::Dispatch *> dispatches;
  for (const format::Command &command : entry.commands())
    if (command.has_dispatch())
      dispatches.push_back(&command.dispatch());
  return dispatches;
}

uint64_t weightBytesOf(const format::Dispatch &dispatch,
                       const format::Variant &variant) {
  uint64_t bytes = 0;
  for (const format::Slice &slice : dispatch.bindings())
    if (variant.buffers(static_cast<int>(slice.buffer())).kind() ==
        format::Buffer::WEIGHTS)
      bytes += slice.range();
  return bytes;
}

/// Numbers of the matrices that a dispatch binds, each once; a part of a matrix
/// counts as its share.
double matrixElementsOf(const format::Dispatch &dispatch,
                        const format::Manifest &manifest,
                        const format::Variant &variant) {
  double elements = 0;
  for (const format::WeightPlacement &placement : variant.weights()) {
    const format::Section &section =
        manifest.sections(static_cast<int>(placement.section()));
    uint64_t bound = 0;
    for (const format::Slice &slice : dispatch.bindings())
      if (slice.buffer() == placement.buffer() &&
          slice.offset() >= placement.offset() &&
          slice.offset() < placement.offset() + section.size())
        bound += slice.range();
    if (section.layout() != "vector" && bound)
      elements += static_cast<double>(section.elements()) *
                  std::min(1.0, static_cast<double>(bound) /
                                    static_cast<double>(section.size()));
  }
  return elements;
}

/// Of a run of a linear.
uint64_t multiplyAddsOf(const format::Dispatch &dispatch,
                        const format::Entry &entry,
                        const format::Manifest &manifest,
                        const format::Variant &variant) {
  const std::string &kind =
      variant.kernels(static_cast<int>(dispatch.kernel())).estimate().kind();
  if (kind.rfind("gem", 0) != 0) // gemv, gemm
    return 0;
  return static_cast<uint64_t>(matrixElementsOf(dispatch, manifest, variant) *
                               entry.rows());
}

} // namespace

std::vector<KernelTime>
sumByKernel(const format::Manifest &manifest, const format::Variant &variant,
            const std::vector<runtime::DispatchTime> &times) {
  std::vector<std::vector<const format::Dispatch *>> dispatches;
  for (const format::Entry &entry : variant.entries())
    dispatches.push_back(dispatchesOf(entry));
  std::map<std::pair<uint32_t, uint32_t>, KernelTime> sums; // entry, kernel
  for (const runtime::DispatchTime &time : times) {
    if (!time.runs)
      continue;
    const format::Dispatch &dispatch = *dispatches[time.entry][time.dispatch];
    KernelTime &sum = sums[{time.entry, dispatch.kernel()}];
    const format::Entry &entry = variant.entries(static_cast<int>(time.entry));
    const format::Kernel &kernel =
        variant.kernels(static_cast<int>(dispatch.kernel()));
    sum.function = entry.function();
    sum.rows = entry.rows();
    sum.kernel = kernel.name();
    sum.label = kernel.label();
    sum.runs += time.runs;
    sum.nanoseconds += time.nanoseconds;
    sum.weightBytes += time.runs * weightBytesOf(dispatch, variant);
    sum.multiplyAdds +=
        time.runs * multiplyAddsOf(dispatch, entry, manifest, variant);
  }
  std::vector<KernelTime> sorted;
  for (auto &[key, sum] : sums)
    sorted.push_back(std::move(sum));
  std::sort(sorted.begin(), sorted.end(),
            [](const KernelTime &a, const KernelTime &b) {
              return std::tie(b.nanoseconds, a.kernel) <
                     std::tie(a.nanoseconds, b.kernel);
            });
  return sorted;
}

std::string traceOf(const format::Variant &variant,
                    const std::vector<TracedRun> &runs) {
  nlohmann::json events = nlohmann::json::array();
  const auto addName = [&](const char *what, size_t process, size_t thread,
                           const std::string &name) {
    events.push_back({{"ph", "M"},
                      {"name", what},
                      {"pid", process},
                      {"tid", thread},
                      {"args", {{"name", name}}}});
  };
  for (size_t process = 0; process < runs.size(); ++process) {
    addName("process_name", process, 0, runs[process].name);
    double begin = 0;
    uint32_t last = UINT32_MAX;
    for (const runtime::DispatchTime &time : runs[process].times) {
      if (!time.runs)
        continue;
      const format::Entry &entry =
          variant.entries(static_cast<int>(time.entry));
      if (time.entry != last)
        addName("thread_name", process, time.entry,
                entry.function() + ", " + std::to_string(entry.rows()) +
                    " rows");
      last = time.entry;
      const format::Dispatch &dispatch = *dispatchesOf(entry)[time.dispatch];
      const format::Kernel &kernel =
          variant.kernels(static_cast<int>(dispatch.kernel()));
      events.push_back({{"ph", "X"},
                        {"name", dispatch.label()},
                        {"cat", kernel.estimate().kind()},
                        {"pid", process},
                        {"tid", time.entry},
                        {"ts", begin / 1e3},
                        {"dur", time.lastNanoseconds / 1e3},
                        {"args",
                         {{"kernel", kernel.name()},
                          {"what", kernel.label()},
                          {"runs", time.runs}}}});
      begin += time.lastNanoseconds;
    }
  }
  // Labels come from files and may hold any bytes.
  return nlohmann::json{{"displayTimeUnit", "ns"}, {"traceEvents", events}}
      .dump(1, ' ', /*ensure_ascii=*/false,
            nlohmann::json::error_handler_t::replace);
}

} // namespace llmc::tool
