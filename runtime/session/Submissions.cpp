// SPDX-License-Identifier: Apache-2.0
//
// Submissions.h.

#include "runtime/session/Submissions.h"

#include <algorithm>
#include <limits>

namespace llmc::runtime {

size_t barriersPerPart(const format::Entry &entry, double mostMilliseconds) {
  // A step of so few rows takes about as long as one of a single row, which
  // nobody would wait for if it took longer than a driver bears.
  constexpr uint32_t kMostRowsOfOnePart = 8;
  constexpr size_t kMostParts = 64;
  if (mostMilliseconds <= 0 || entry.rows() <= kMostRowsOfOnePart)
    return std::numeric_limits<size_t>::max();
  const auto barriers = static_cast<size_t>(std::count_if(
      entry.commands().begin(), entry.commands().end(),
      [](const format::Command &command) { return !command.has_dispatch(); }));
  return barriers / kMostParts + 1;
}

size_t endOfSubmission(const std::vector<PartTime *> &parts, size_t first,
                       double mostMilliseconds) {
  if (mostMilliseconds <= 0)
    return parts.size();
  size_t end = first;
  for (double sum = 0; end < parts.size(); ++end) {
    const double time = parts[end]->milliseconds;
    sum += time;
    if (end > first && (time < 0 || sum > mostMilliseconds))
      return end;
    if (time < 0)
      return end + 1;
  }
  return end;
}

void noteTime(const std::vector<PartTime *> &parts, size_t first, size_t end,
              double milliseconds) {
  double before = 0;
  for (size_t i = first; i < end; ++i)
    before += parts[i]->milliseconds;
  for (size_t i = first; i < end; ++i)
    parts[i]->milliseconds =
        before > 0 ? parts[i]->milliseconds * milliseconds / before
                   : milliseconds / static_cast<double>(end - first);
}

} // namespace llmc::runtime
