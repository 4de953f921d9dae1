// SPDX-License-Identifier: Apache-2.0
//
// DispatchProfile.h.

#include "tools/llmc/DispatchProfile.h"

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

} // namespace

std::vector<KernelTime>
sumByKernel(const format::Variant &variant,
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

} // namespace llmc::tool
