// SPDX-License-Identifier: Apache-2.0
//
// StepChain.h.

#include "runtime/session/StepChain.h"

namespace llmc::runtime {

namespace {

/// One submission: its commands, and the fence that says when they are done.
struct Link {
  explicit Link(const vulkan::CommandBuffer &commands) : commands(commands) {}

  vulkan::CommandBuffer commands;
  std::vector<VkCommandBuffer> submission;
  std::unique_ptr<vulkan::Fence> fence;
};

/// Submissions of as many steps, used in turn.
struct Ring {
  uint32_t numSteps = 1;
  std::vector<Link> links; // goes first, for the fences
  size_t next = 0;

  Link &take() {
    Link &link = links[next];
    next = (next + 1) % links.size();
    return link;
  }
};

/// A submission in flight, and how many of its steps were not waited for.
struct Flight {
  const Link *link = nullptr;
  uint32_t numSteps = 0, numLeft = 0;
};

} // namespace

struct StepChain::State {
  explicit State(Session &session) : session(session) {}

  Session &session;
  std::unique_ptr<vulkan::CommandPool> pool;
  Ring single, together;
  /// `depth` places, used in turn.
  std::vector<Flight> flights;
  size_t oldest = 0, numFlights = 0;
  uint32_t inFlight = 0;

  Status record(const std::vector<uint32_t> &entries, Ring &ring);
};

Status StepChain::State::record(const std::vector<uint32_t> &entries,
                                Ring &ring) {
  std::string name = "chain:";
  for (const uint32_t index : entries)
    name +=
        " " +
        session.module().variant().entries(static_cast<int>(index)).function();
  LLMC_ASSIGN_OR_RETURN(vulkan::CommandBuffer recording, pool->allocate(name));
  LLMC_RETURN_IF_ERROR(recording.begin());
  recording.acquireFromHost();
  for (uint32_t step = 0; step < ring.numSteps; ++step) {
    // A step's last dispatch writes what the next step reads.
    if (step != 0)
      recording.barrier();
    for (const uint32_t index : entries)
      LLMC_RETURN_IF_ERROR(session.recordCommands(recording, index));
  }
  recording.releaseToHost();
  LLMC_RETURN_IF_ERROR(recording.end());
  Link &link = ring.links.emplace_back(recording);
  link.submission = {recording.handle()};
  LLMC_ASSIGN_OR_RETURN(link.fence,
                        vulkan::Fence::create(session.module().device()));
  return okStatus();
}

StepChain::StepChain(std::unique_ptr<State> state) : state(std::move(state)) {}

StepChain::~StepChain() = default;

StatusOr<std::unique_ptr<StepChain>>
StepChain::create(Session &session, const std::vector<uint32_t> &entries,
                  uint32_t depth, uint32_t together) {
  auto state = std::make_unique<State>(session);
  LLMC_ASSIGN_OR_RETURN(state->pool,
                        vulkan::CommandPool::create(session.module().device()));
  state->flights.resize(depth);
  state->together.numSteps = together;
  for (uint32_t i = 0; i < depth; ++i) {
    LLMC_RETURN_IF_ERROR(state->record(entries, state->single));
    if (together > 1)
      LLMC_RETURN_IF_ERROR(state->record(entries, state->together));
  }
  return std::unique_ptr<StepChain>(new StepChain(std::move(state)));
}

uint32_t StepChain::inFlight() const { return state->inFlight; }

bool StepChain::isFull() const {
  return state->numFlights == state->flights.size();
}

uint32_t StepChain::stepsOf(uint64_t most) const {
  return most >= state->together.numSteps ? state->together.numSteps : 1;
}

Status StepChain::submit(uint64_t most) {
  LLMC_RETURN_IF_ERROR(state->session.failure());
  Ring &ring = stepsOf(most) > 1 ? state->together : state->single;
  Link &link = ring.take();
  LLMC_RETURN_IF_ERROR(
      state->session.module().device().submit(link.submission, *link.fence));
  state->flights[(state->oldest + state->numFlights) % state->flights.size()] =
      {&link, ring.numSteps, ring.numSteps};
  ++state->numFlights;
  state->inFlight += ring.numSteps;
  return okStatus();
}

Status StepChain::wait() {
  LLMC_RETURN_IF_ERROR(state->session.failure());
  Flight &flight = state->flights[state->oldest];
  // The first step is told when the last is done.
  if (flight.numLeft == flight.numSteps) {
    const Status status = flight.link->fence->waitAndReset(
        state->session.stepTimeout() * flight.numSteps);
    if (!status.ok())
      return state->session.fail(status);
  }
  --state->inFlight;
  if (--flight.numLeft == 0) {
    state->oldest = (state->oldest + 1) % state->flights.size();
    --state->numFlights;
  }
  return okStatus();
}

Status StepChain::drain() {
  while (state->inFlight)
    LLMC_RETURN_IF_ERROR(wait());
  return okStatus();
}

} // namespace llmc::runtime
