// SPDX-License-Identifier: Apache-2.0
//
// Timeline.h.

#include "runtime/session/Timeline.h"

#include <new>

namespace llmc::runtime {

double Timeline::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// A span for which there is no memory is nobody's loss.
Timeline::Mark::~Mark() {
  const double end = timeline.now();
  const std::lock_guard<std::mutex> guard(timeline.lock);
  try {
    timeline.noted.push_back({name, begin, end});
  } catch (const std::bad_alloc &) {
  }
}

std::vector<TimeSpan> Timeline::spans() const {
  const std::lock_guard<std::mutex> guard(lock);
  return noted;
}

} // namespace llmc::runtime
