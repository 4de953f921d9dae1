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

} // namespace

struct StepChain::State {
  explicit State(Session &session) : session(session) {}

  Session &session;
  std::unique_ptr<vulkan::CommandPool> pool;
  std::vector<Link> links; // goes first, for the fences
  size_t oldest = 0;
  uint32_t inFlight = 0;

  Status record(const std::vector<uint32_t> &entries);
};

Status StepChain::State::record(const std::vector<uint32_t> &entries) {
  std::string name = "chain:";
  for (const uint32_t index : entries)
    name +=
        " " +
        session.module().variant().entries(static_cast<int>(index)).function();
  LLMC_ASSIGN_OR_RETURN(vulkan::CommandBuffer recording, pool->allocate(name));
  LLMC_RETURN_IF_ERROR(recording.begin());
  recording.acquireFromHost();
  for (const uint32_t index : entries)
    LLMC_RETURN_IF_ERROR(session.recordCommands(recording, index));
  recording.releaseToHost();
  LLMC_RETURN_IF_ERROR(recording.end());
  Link &link = links.emplace_back(recording);
  link.submission = {recording.handle()};
  LLMC_ASSIGN_OR_RETURN(link.fence,
                        vulkan::Fence::create(session.module().device()));
  return okStatus();
}

StepChain::StepChain(std::unique_ptr<State> state) : state(std::move(state)) {}

StepChain::~StepChain() = default;

StatusOr<std::unique_ptr<StepChain>>
StepChain::create(Session &session, const std::vector<uint32_t> &entries,
                  uint32_t depth) {
  auto state = std::make_unique<State>(session);
  LLMC_ASSIGN_OR_RETURN(state->pool,
                        vulkan::CommandPool::create(session.module().device()));
  for (uint32_t i = 0; i < depth; ++i)
    LLMC_RETURN_IF_ERROR(state->record(entries));
  return std::unique_ptr<StepChain>(new StepChain(std::move(state)));
}

uint32_t StepChain::inFlight() const { return state->inFlight; }

bool StepChain::isFull() const {
  return state->inFlight == state->links.size();
}

Status StepChain::submit() {
  LLMC_RETURN_IF_ERROR(state->session.failure());
  Link &link =
      state->links[(state->oldest + state->inFlight) % state->links.size()];
  LLMC_RETURN_IF_ERROR(
      state->session.module().device().submit(link.submission, *link.fence));
  ++state->inFlight;
  return okStatus();
}

Status StepChain::wait() {
  LLMC_RETURN_IF_ERROR(state->session.failure());
  const Link &link = state->links[state->oldest];
  const Status status = link.fence->waitAndReset(state->session.stepTimeout());
  if (!status.ok())
    return state->session.fail(status);
  state->oldest = (state->oldest + 1) % state->links.size();
  --state->inFlight;
  return okStatus();
}

Status StepChain::drain() {
  while (state->inFlight)
    LLMC_RETURN_IF_ERROR(wait());
  return okStatus();
}

} // namespace llmc::runtime
