// SPDX-License-Identifier: Apache-2.0
//
// Generator.h.

#include "runtime/session/Generator.h"

#include "runtime/session/PromptLookup.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
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

/// One call of `generate`.
class Generation {
public:
  Generation(LanguageModel &model, const text::Tokenizer *tokenizer,
             const GenerateOptions &options, const TokenCallback &callback)
      : model(model), tokenizer(tokenizer), options(options),
        teller(tokenizer, callback) {}

  StatusOr<GenerateResult> run(const std::vector<int32_t> &prompt);

private:
  Status prefill(const std::vector<int32_t> &prompt);
  Status decodeOneByOne();
  ChoiceOptions choiceOptions(const std::vector<int32_t> &prompt) const;
  Status generateOnDevice(const std::vector<int32_t> &prompt,
                          const ChoiceOptions &choice);
  Status decodeWithDrafts(const std::vector<int32_t> &prompt);
  Status decodeStep(std::vector<int32_t> &text);
  StatusOr<bool> choose(const float *row, int32_t &token);
  Status tell(int32_t token);
  bool hasRoom();

  LanguageModel &model;
  const text::Tokenizer *tokenizer;
  std::optional<text::Sampler> sampler; // where the host samples
  const GenerateOptions &options;
  Teller teller;
  Clock::time_point start = Clock::now();
  std::vector<float> logits;
  bool hasEnded = false; // for the reason in the result
  GenerateResult result;
};

/// The token after a row of logits; false for one that ends the turn.
StatusOr<bool> Generation::choose(const float *row, int32_t &token) {
  LLMC_ASSIGN_OR_RETURN(token, sampler->sample(row, model.vocabularySize()));
  if (tokenizer && !options.ignoresStopTokens && tokenizer->isStop(token))
    return false;
  sampler->accept(token);
  return true;
}

Status Generation::tell(int32_t token) {
  result.ids.push_back(token);
  LLMC_ASSIGN_OR_RETURN(const bool goesOn, teller.tell(token));
  if (result.ids.size() == 1)
    result.firstTokenSeconds = secondsSince(start);
  if (!goesOn)
    result.reason = StopReason::Cancelled;
  hasEnded = !goesOn || result.ids.size() == options.maxTokens;
  return okStatus();
}

/// Whether the last token can be evaluated.
bool Generation::hasRoom() {
  if (model.position() < model.contextLength())
    return true;
  result.reason = StopReason::ContextFull;
  return false;
}

/// Evaluates the prompt and tells the first token.
Status Generation::prefill(const std::vector<int32_t> &prompt) {
  LLMC_ASSIGN_OR_RETURN(
      sampler,
      text::Sampler::create(options.sampler,
                            static_cast<int32_t>(model.vocabularySize())));
  for (const int32_t token : prompt)
    sampler->accept(token);
  logits.resize(model.vocabularySize());
  LLMC_RETURN_IF_ERROR(model.prefill(prompt, logits.data()));
  result.prefillSeconds = secondsSince(start);
  hasEnded = options.maxTokens == 0;
  if (hasEnded)
    return okStatus();
  int32_t token = 0;
  LLMC_ASSIGN_OR_RETURN(const bool goesOn, choose(logits.data(), token));
  if (goesOn)
    return tell(token);
  result.reason = StopReason::StopToken;
  hasEnded = true;
  return okStatus();
}

Status Generation::decodeOneByOne() {
  while (!hasEnded && hasRoom()) {
    LLMC_RETURN_IF_ERROR(model.decode(result.ids.back(), logits.data()));
    ++result.numSteps;
    int32_t token = 0;
    LLMC_ASSIGN_OR_RETURN(const bool goesOn, choose(logits.data(), token));
    if (goesOn) {
      LLMC_RETURN_IF_ERROR(tell(token));
      continue;
    }
    result.reason = StopReason::StopToken;
    hasEnded = true;
  }
  return okStatus();
}

ChoiceOptions
Generation::choiceOptions(const std::vector<int32_t> &prompt) const {
  ChoiceOptions choice;
  choice.temperature = options.sampler.temperature;
  choice.topK = static_cast<uint32_t>(options.sampler.topK);
  choice.topP = options.sampler.topP;
  choice.repetitionPenalty = options.sampler.repetitionPenalty;
  choice.repetitionWindow =
      static_cast<uint32_t>(options.sampler.repetitionWindow);
  choice.recent = prompt;
  choice.draw = [random = text::Random(options.sampler.seed)]() mutable {
    return static_cast<float>(random.nextUniform());
  };
  return choice;
}

/// The device chooses and evaluates; the host follows with the text.
Status Generation::generateOnDevice(const std::vector<int32_t> &prompt,
                                    const ChoiceOptions &choice) {
  bool isFirst = true;
  auto take = [&](int32_t token) -> StatusOr<bool> {
    if (isFirst)
      result.prefillSeconds = secondsSince(start);
    else
      ++result.numSteps;
    isFirst = false;
    if (tokenizer && !options.ignoresStopTokens && tokenizer->isStop(token)) {
      result.reason = StopReason::StopToken;
      hasEnded = true;
    } else {
      LLMC_RETURN_IF_ERROR(tell(token));
    }
    return !hasEnded;
  };
  LLMC_RETURN_IF_ERROR(model.generate(prompt, choice, options.maxTokens, take));
  if (!hasEnded)
    result.reason = StopReason::ContextFull;
  return okStatus();
}

/// The last token and a draft of what follows it, in one step: as long as the
/// draft is what the model says, each row gives a token.
Status Generation::decodeStep(std::vector<int32_t> &text) {
  std::vector<int32_t> draft = {text.back()};
  const size_t most =
      std::min<size_t>({size_t{*options.draftLength}, model.draftRows() - 1,
                        model.contextLength() - model.position() - 1,
                        options.maxTokens - result.ids.size() - 1});
  draftFromText(text, most, draft);
  const uint32_t first = model.position();
  std::vector<int32_t> chosen;
  bool isRight = true, isStop = false;
  LLMC_RETURN_IF_ERROR(model.decodeDraft(
      draft.data(), draft.size(), [&](const float *row) -> Status {
        if (!isRight || isStop)
          return okStatus();
        int32_t token = 0;
        LLMC_ASSIGN_OR_RETURN(const bool goesOn, choose(row, token));
        isStop = !goesOn;
        if (isStop)
          return okStatus();
        chosen.push_back(token);
        isRight = chosen.size() < draft.size() && draft[chosen.size()] == token;
        return okStatus();
      }));
  ++result.numSteps;
  size_t numTold = 0;
  while (numTold < chosen.size() && !hasEnded)
    LLMC_RETURN_IF_ERROR(tell(chosen[numTold++]));
  text.insert(text.end(), chosen.begin(), chosen.end());
  // A stop token comes of one row more.
  const bool endsHere = isStop && !hasEnded;
  if (endsHere) {
    result.reason = StopReason::StopToken;
    hasEnded = true;
  }
  return model.truncate(first + static_cast<uint32_t>(numTold) + endsHere);
}

Status Generation::decodeWithDrafts(const std::vector<int32_t> &prompt) {
  if (model.draftRows() == 0)
    return Status(StatusCode::Unsupported,
                  "the model can't decode several tokens in one step: it can't "
                  "go back, or its file has no step of a few rows");
  std::vector<int32_t> text = prompt;
  text.insert(text.end(), result.ids.begin(), result.ids.end());
  while (!hasEnded && hasRoom())
    LLMC_RETURN_IF_ERROR(decodeStep(text));
  return okStatus();
}

StatusOr<GenerateResult> Generation::run(const std::vector<int32_t> &prompt) {
  LLMC_RETURN_IF_ERROR(text::Sampler::check(options.sampler));
  const ChoiceOptions choice = choiceOptions(prompt);
  LLMC_ASSIGN_OR_RETURN(const bool canChoose, model.canChoose(choice));
  if (canChoose && !options.draftLength && options.maxTokens != 0) {
    LLMC_RETURN_IF_ERROR(generateOnDevice(prompt, choice));
  } else {
    LLMC_RETURN_IF_ERROR(prefill(prompt));
    LLMC_RETURN_IF_ERROR(options.draftLength ? decodeWithDrafts(prompt)
                                             : decodeOneByOne());
  }
  teller.finish();
  if (!result.ids.empty())
    result.decodeSeconds = secondsSince(start) - result.firstTokenSeconds;
  return std::move(result);
}

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
  return Generation(model, tokenizer, options, callback).run(prompt);
}

} // namespace llmc::runtime
