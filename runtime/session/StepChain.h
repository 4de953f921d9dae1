// SPDX-License-Identifier: Apache-2.0
//
// Steps that follow one another on the device: the same entries again and
// again, several submissions in flight, several steps in a submission.

#ifndef LLMC_RUNTIME_SESSION_STEPCHAIN_H
#define LLMC_RUNTIME_SESSION_STEPCHAIN_H

#include "runtime/session/Session.h"

#include <memory>
#include <vector>

namespace llmc::runtime {

/// Belongs to the thread that has its session.
class StepChain {
public:
  /// Records `entries` of the session, in order, as one step, for `depth`
  /// submissions of one step and as many of `together` steps (at least 1). The
  /// session has to outlive the chain.
  static StatusOr<std::unique_ptr<StepChain>>
  create(Session &session, const std::vector<uint32_t> &entries, uint32_t depth,
         uint32_t together);
  ~StepChain();
  StepChain(const StepChain &) = delete;
  StepChain &operator=(const StepChain &) = delete;

  /// Steps that were submitted and not waited for.
  uint32_t inFlight() const;
  /// Whether `depth` submissions are in flight.
  bool isFull() const;
  /// Steps of the next submission where `most` are wanted, at least one.
  uint32_t stepsOf(uint64_t most) const;
  /// Submits stepsOf(most) more steps behind those in flight. Not when it is
  /// full.
  Status submit(uint64_t most);
  /// Waits for the oldest step in flight. After a failure the session only
  /// fails.
  Status wait();
  /// Waits for all of them.
  Status drain();

private:
  struct State;
  explicit StepChain(std::unique_ptr<State> state);

  std::unique_ptr<State> state;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_STEPCHAIN_H
