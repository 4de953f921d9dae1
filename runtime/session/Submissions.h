// SPDX-License-Identifier: Apache-2.0
//
// How recorded parts of a step are dealt to submissions, none of which should
// last longer than a device's driver bears.

#ifndef LLMC_RUNTIME_SESSION_SUBMISSIONS_H
#define LLMC_RUNTIME_SESSION_SUBMISSIONS_H

#include "runtime/format/manifest.pb.h"

#include <cstddef>
#include <vector>

namespace llmc::runtime {

/// What the last submissions say about a part.
struct PartTime {
  double milliseconds = -1; // negative: it did not run yet
};

/// How many barriers a part of `entry` has at most, when a submission may last
/// `mostMilliseconds` (0: as long as it likes). An entry of a few rows is one
/// part, as is every entry without a limit; others have up to 64 parts.
size_t barriersPerPart(const format::Entry &entry, double mostMilliseconds);

/// The part behind the last one of a submission that begins with part `first`:
/// as many as are known to end within `mostMilliseconds` (0: all of them); one
/// if it takes longer, and one that did not run yet alone.
size_t endOfSubmission(const std::vector<PartTime *> &parts, size_t first,
                       double mostMilliseconds);

/// Parts `first` to `end` (not included) ran in one submission for
/// `milliseconds`: their times follow in proportion.
void noteTime(const std::vector<PartTime *> &parts, size_t first, size_t end,
              double milliseconds);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_SUBMISSIONS_H
