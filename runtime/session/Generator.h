// SPDX-License-Identifier: Apache-2.0
//
// The loop of text generation: evaluate the prompt, then sample, tell, decode.

#ifndef LLMC_RUNTIME_SESSION_GENERATOR_H
#define LLMC_RUNTIME_SESSION_GENERATOR_H

#include "runtime/session/LanguageModel.h"
#include "runtime/text/Sampler.h"
#include "runtime/text/Tokenizer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace llmc::runtime {

struct GenerateOptions {
  uint32_t maxTokens = UINT32_MAX;
  text::SamplerOptions sampler;
  bool ignoresStopTokens = false; // for measurements
  /// Prompt lookup: most tokens that a step guesses from the text and checks,
  /// in a step of a few rows. 0 takes such steps without guessing, which gives
  /// the same tokens in more steps; none: a step of one row for each token.
  std::optional<uint32_t> draftLength;
};

/// Called with each new token and the characters that are complete with it,
/// perhaps none; at the end once more with -1 when bytes were left. False ends
/// the generation.
using TokenCallback =
    std::function<bool(int32_t token, const std::string &text)>;

enum class StopReason { StopToken, MaxTokens, ContextFull, Cancelled };

/// "stop_token", "max_tokens", "context_full", "cancelled".
const char *stopReasonName(StopReason reason);

struct GenerateResult {
  std::vector<int32_t> ids; // without the stop token
  StopReason reason = StopReason::MaxTokens;
  uint32_t numSteps = 0; // of decoding, without the prompt's
  double prefillSeconds = 0;
  double firstTokenSeconds = 0; // from the call to the first token told
  double decodeSeconds = 0;     // of all tokens but the first
};

/// Evaluates `prompt` after what `model` holds and generates. `tokenizer` may
/// be null: then no token is a stop and no text is told. The last generated
/// token is not evaluated. Unsupported: drafts of a model that can't go back.
StatusOr<GenerateResult> generate(LanguageModel &model,
                                  const text::Tokenizer *tokenizer,
                                  const std::vector<int32_t> &prompt,
                                  const GenerateOptions &options,
                                  const TokenCallback &callback);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_GENERATOR_H
