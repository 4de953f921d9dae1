// SPDX-License-Identifier: Apache-2.0
//
// What loading spent its time on.

#ifndef LLMC_RUNTIME_SESSION_TIMELINE_H
#define LLMC_RUNTIME_SESSION_TIMELINE_H

#include <chrono>
#include <mutex>
#include <vector>

namespace llmc::runtime {

/// In seconds since the timeline was made.
struct TimeSpan {
  const char *name = nullptr; // a literal, or of the module's file
  double begin = 0, end = 0;
};

/// Any thread.
class Timeline {
public:
  /// Notes the time from its creation to its end.
  class Mark {
  public:
    Mark(Timeline &timeline, const char *name)
        : timeline(timeline), name(name), begin(timeline.now()) {}
    ~Mark();
    Mark(const Mark &) = delete;
    Mark &operator=(const Mark &) = delete;

  private:
    Timeline &timeline;
    const char *name;
    double begin;
  };

  /// In the order in which they ended.
  std::vector<TimeSpan> spans() const;

private:
  double now() const;

  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
  mutable std::mutex lock;
  std::vector<TimeSpan> noted;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_TIMELINE_H
