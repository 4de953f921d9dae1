// SPDX-License-Identifier: Apache-2.0
//
// TokenChoice.h. The ports are described in docs/file-format.md.

#include "runtime/session/TokenChoice.h"

#include <algorithm>
#include <cstring>

namespace llmc::runtime {

namespace {

constexpr const char *kNext = "next";
constexpr size_t kNumSamplingWords = 8;
constexpr int32_t kNoToken = -1;

int32_t bitsOf(float number) {
  int32_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

bool penalizes(const ChoiceOptions &options) {
  return options.repetitionPenalty != 1 && options.repetitionWindow != 0;
}

} // namespace

StatusOr<std::unique_ptr<TokenChoice>>
TokenChoice::create(Session &session, uint32_t forward, uint32_t mostInFlight) {
  std::unique_ptr<TokenChoice> choice(new TokenChoice(session));
  const auto next = session.findEntry(kNext, 1);
  if (!next.ok())
    return std::unique_ptr<TokenChoice>();
  choice->next = *next;
  LLMC_RETURN_IF_ERROR(choice->findPorts());
  // A model that has one step in flight has one in a submission. Rings have a
  // place for every step in flight, and one more.
  const uint32_t wanted =
      session.module().variant().target().decode_steps_per_submit();
  const uint32_t most = (choice->ringSize - 1) / mostInFlight;
  const uint32_t together =
      mostInFlight == 1 ? 1 : std::clamp(wanted, 1U, std::max(most, 1U));
  LLMC_ASSIGN_OR_RETURN(choice->chain,
                        StepChain::create(session, {forward, choice->next},
                                          mostInFlight, together));
  return choice;
}

Status TokenChoice::findPorts() {
  LLMC_ASSIGN_OR_RETURN(sampling, session.findInput(next, "sampling"));
  LLMC_ASSIGN_OR_RETURN(recent, session.findInput(next, "recent"));
  LLMC_ASSIGN_OR_RETURN(draws, session.findInput(next, "draws"));
  LLMC_ASSIGN_OR_RETURN(chosen, session.findOutput(next, "chosen"));
  const format::Entry &entry =
      session.module().variant().entries(static_cast<int>(next));
  const auto elements = [&](uint32_t input) {
    return entry.inputs(static_cast<int>(input)).row_elements();
  };
  const uint64_t size = entry.outputs(static_cast<int>(chosen)).row_elements();
  const bool isKnown = elements(sampling) == kNumSamplingWords && size > 0 &&
                       elements(recent) == size && elements(draws) == size;
  if (!isKnown)
    return Status(StatusCode::InvalidFile,
                  "function next has rings of " +
                      std::to_string(elements(recent)) + ", " +
                      std::to_string(elements(draws)) + " and " +
                      std::to_string(size) +
                      " elements, which are one number, "
                      "and " +
                      std::to_string(elements(sampling)) +
                      " words of sampling, which are 8");
  ringSize = static_cast<uint32_t>(size);
  return okStatus();
}

bool TokenChoice::has(const ChoiceOptions &options) const {
  const bool hasCandidates = options.temperature == 0 ||
                             (options.topK >= 1 && options.topK <= ringSize);
  return hasCandidates &&
         (!penalizes(options) || options.repetitionWindow <= ringSize);
}

Status TokenChoice::begin(const ChoiceOptions &options) {
  const uint32_t window = penalizes(options) ? options.repetitionWindow : 0;
  const size_t numRecent = std::min<size_t>(window, options.recent.size());
  std::vector<int32_t> ring(ringSize, kNoToken);
  std::copy(options.recent.end() - static_cast<ptrdiff_t>(numRecent),
            options.recent.end(), ring.begin());
  const auto nextPlace = static_cast<int32_t>(window ? numRecent % window : 0);
  const int32_t candidates =
      options.temperature == 0 ? 1 : static_cast<int32_t>(options.topK);
  const int32_t words[kNumSamplingWords] = {
      bitsOf(options.temperature),  candidates,
      bitsOf(options.topP),         bitsOf(options.repetitionPenalty),
      static_cast<int32_t>(window), nextPlace};
  draw = options.temperature == 0 ? nullptr : options.draw;
  LLMC_RETURN_IF_ERROR(session.writeInput(next, sampling, words, 1));
  return session.writeInput(next, recent, ring.data(), 1);
}

void TokenChoice::writeDraw(uint32_t position) {
  if (draw)
    session.writeElement(next, draws, position % ringSize, bitsOf(draw()));
}

StatusOr<int32_t> TokenChoice::chosenAt(uint32_t position) const {
  const int32_t token = session.readElement(next, chosen, position % ringSize);
  if (token == kNoToken)
    return Status(StatusCode::NonFinite,
                  "the model computed logits that are not finite");
  return token;
}

StatusOr<int32_t> TokenChoice::chooseFirst(uint32_t position, uint32_t row) {
  writeDraw(position);
  session.writeStep(
      next, {static_cast<int32_t>(position), 1, static_cast<int32_t>(row)});
  LLMC_RETURN_IF_ERROR(session.submit({next}));
  return chosenAt(position);
}

StatusOr<uint32_t> TokenChoice::submit(uint32_t position, uint64_t most) {
  const uint32_t numSteps = chain->stepsOf(most);
  for (uint32_t step = 0; step < numSteps; ++step)
    writeDraw(position + step);
  LLMC_RETURN_IF_ERROR(chain->submit(most));
  return numSteps;
}

StatusOr<int32_t> TokenChoice::wait(uint32_t position) {
  LLMC_RETURN_IF_ERROR(chain->wait());
  return chosenAt(position);
}

} // namespace llmc::runtime
