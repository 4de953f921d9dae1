// SPDX-License-Identifier: Apache-2.0
//
// Work that several threads share while a file is loaded.

#ifndef LLMC_RUNTIME_SESSION_PARALLEL_H
#define LLMC_RUNTIME_SESSION_PARALLEL_H

#include "runtime/format/Status.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>
#include <vector>

namespace llmc::runtime {

/// Calls `work(thread, i)` for all i < count on up to `numThreads` threads,
/// this one among them, until one call fails; `thread` < numThreads tells them
/// apart. Returns the failure with the lowest i; throws bad_alloc, behind the
/// end of all threads, where one ran out of memory.
template <typename Work>
Status forEachInParallel(size_t count, unsigned numThreads, const Work &work) {
  std::vector<Status> results(count);
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false}, ranOut{false};
  const auto loop = [&](size_t thread) noexcept {
    try {
      for (size_t i = next++; i < count && !failed; i = next++) {
        results[i] = work(thread, i);
        if (!results[i].ok())
          failed = true;
      }
    } catch (const std::bad_alloc &) {
      failed = ranOut = true;
    }
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < std::min<size_t>(numThreads, count))
      threads.emplace_back(loop, threads.size() + 1);
  } catch (const std::exception &) {
    // Fewer threads than wished are enough.
  }
  loop(0);
  for (std::thread &thread : threads)
    thread.join();
  if (ranOut)
    throw std::bad_alloc();
  for (Status &result : results)
    LLMC_RETURN_IF_ERROR(std::move(result));
  return okStatus();
}

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_PARALLEL_H
