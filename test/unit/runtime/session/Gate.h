// SPDX-License-Identifier: Apache-2.0
//
// What holds threads of a test until it lets them go on.

#ifndef LLMC_TEST_UNIT_RUNTIME_SESSION_GATE_H
#define LLMC_TEST_UNIT_RUNTIME_SESSION_GATE_H

#include <atomic>
#include <chrono>
#include <future>

namespace llmc::test {

/// Opens for all that wait at it; who waits too long goes on, and it is said.
class Gate {
public:
  void open() { promise.set_value(); }
  void pass() {
    if (future.wait_for(std::chrono::seconds(30)) != std::future_status::ready)
      hasHeldTooLong = true;
  }
  std::atomic<bool> hasHeldTooLong{false};

private:
  std::promise<void> promise;
  std::shared_future<void> future = promise.get_future().share();
};

} // namespace llmc::test

#endif // LLMC_TEST_UNIT_RUNTIME_SESSION_GATE_H
