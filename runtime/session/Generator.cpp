// SPDX-License-Identifier: Apache-2.0
//
// Generator.h.

#include "runtime/session/Generator.h"

#include "runtime/text/Utf8.h"

#include <chrono>

namespace llmc::runtime {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Turns tokens into whole characters and tells the callback.
class Teller {
public:
  Teller(const text::Tokenizer *tokenizer, const TokenCallback &callback)
      : tokenizer(tokenizer), callback(callback) {}

  StatusOr<bool> tell(int32_t token) {
    std::string text;
    if (tokenizer) {
      LLMC_ASSIGN_OR_RETURN(const std::string bytes, tokenizer->piece(token));
      text = stream.push(bytes);
    }
    return !callback || callback(token, text);
  }

  void finish() {
    const std::string text = stream.finish();
    if (callback && !text.empty())
      callback(-1, text);
  }

private:
  const text::Tokenizer *tokenizer;
  const TokenCallback &callback;
  text::Utf8Stream stream;
};

} // namespace

const char *stopReasonName(StopReason reason) {
  switch (reason) {
  case StopReason::StopToken:
    return "stop_token";
  case StopReason::MaxTokens:
    return "max_tokens";
  case StopReason::ContextFull:
    return "context_full";
  case StopReason::Cancelled:
    break;
  }
  return "cancelled";
}

StatusOr<GenerateResult> generate(LanguageModel &model,
                                  const text::Tokenizer *tokenizer,
                                  const std::vector<int32_t> &prompt,
                                  const GenerateOptions &options,
                                  const TokenCallback &callback) {
  LLMC_ASSIGN_OR_RETURN(
      text::Sampler sampler,
      text::Sampler::create(options.sampler,
                            static_cast<int32_t>(model.vocabularySize())));
  for (const int32_t token : prompt)
    sampler.accept(token);
  const Clock::time_point start = Clock::now();
  std::vector<float> logits(model.vocabularySize());
  LLMC_RETURN_IF_ERROR(model.prefill(prompt, logits.data()));
  GenerateResult result;
  result.prefillSeconds = secondsSince(start);
  Teller teller(tokenizer, callback);
  while (result.ids.size() < options.maxTokens) {
    LLMC_ASSIGN_OR_RETURN(const int32_t token,
                          sampler.sample(logits.data(), logits.size()));
    if (tokenizer && !options.ignoresStopTokens && tokenizer->isStop(token)) {
      result.reason = StopReason::StopToken;
      break;
    }
    sampler.accept(token);
    result.ids.push_back(token);
    LLMC_ASSIGN_OR_RETURN(const bool goesOn, teller.tell(token));
    if (result.ids.size() == 1)
      result.firstTokenSeconds = secondsSince(start);
    if (!goesOn) {
      result.reason = StopReason::Cancelled;
      break;
    }
    if (result.ids.size() == options.maxTokens)
      break;
    if (model.position() == model.contextLength()) {
      result.reason = StopReason::ContextFull;
      break;
    }
    LLMC_RETURN_IF_ERROR(model.decode(token, logits.data()));
  }
  teller.finish();
  if (!result.ids.empty())
    result.decodeSeconds = secondsSince(start) - result.firstTokenSeconds;
  return result;
}

} // namespace llmc::runtime
