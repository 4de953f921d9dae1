// SPDX-License-Identifier: Apache-2.0
//
// The device chooses the next token (docs/decisions/0012-next-token-on-the-
// device.md): what the host writes for it and reads from it.

#ifndef LLMC_RUNTIME_SESSION_TOKENCHOICE_H
#define LLMC_RUNTIME_SESSION_TOKENCHOICE_H

#include "runtime/session/StepChain.h"

#include <functional>
#include <memory>
#include <vector>

namespace llmc::runtime {

/// By what the device chooses; runtime/text/Sampler.h has the meaning.
struct ChoiceOptions {
  float temperature = 0;
  uint32_t topK = 0;
  float topP = 1;
  float repetitionPenalty = 1;
  uint32_t repetitionWindow = 0;
  std::vector<int32_t> recent; // the text so far; its end counts
  std::function<float()> draw; // a random number in [0, 1); not when greedy
};

/// Belongs to the thread that has its session.
class TokenChoice {
public:
  /// Null when the file has no function `next`. `forward`: the entry of one
  /// row.
  static StatusOr<std::unique_ptr<TokenChoice>>
  create(Session &session, uint32_t forward, uint32_t mostInFlight);

  /// Whether the device has room for as many candidates and recent tokens.
  bool has(const ChoiceOptions &options) const;

  /// Before the first choice of a text.
  Status begin(const ChoiceOptions &options);
  /// The token behind `position`, whose row is `row` of the step that ran last.
  /// NonFinite: a logit is NaN or infinite.
  StatusOr<int32_t> chooseFirst(uint32_t position, uint32_t row);

  uint32_t inFlight() const { return chain->inFlight(); }
  bool isFull() const { return chain->isFull(); }
  /// Submits the step at `position`, which evaluates the token that was chosen
  /// last and chooses another, and those behind it that go with it, at most
  /// `most` together. Returns how many.
  StatusOr<uint32_t> submit(uint32_t position, uint64_t most);
  /// Waits for the oldest step in flight, which was at `position`. Errors as
  /// for chooseFirst.
  StatusOr<int32_t> wait(uint32_t position);
  Status drain() { return chain->drain(); }

private:
  explicit TokenChoice(Session &session) : session(session) {}
  Status findPorts();
  void writeDraw(uint32_t position);
  StatusOr<int32_t> chosenAt(uint32_t position) const;

  Session &session;
  uint32_t next = 0;                            // the entry
  uint32_t sampling = 0, recent = 0, draws = 0; // inputs
  uint32_t chosen = 0;                          // output
  uint32_t ringSize = 0;
  std::unique_ptr<StepChain> chain;
  std::function<float()> draw;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_TOKENCHOICE_H
