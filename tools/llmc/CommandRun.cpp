// SPDX-License-Identifier: Apache-2.0
//
// llmc run: text in, text out.

#include "tools/llmc/Commands.h"
#include "tools/llmc/RuntimeCommand.h"

#include "runtime/session/Generator.h"
#include "runtime/text/ChatTemplate.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace llmc::tool {

namespace {

struct RunOptions {
  std::string path;
  std::string prompt;
  std::string promptFile;
  std::string system;
  bool isRaw = false;
  bool thinks = false;
  bool asJson = false;
  bool isQuiet = false;
  bool ignoresEos = false;
  int64_t maxTokens = 0;
  double temperature = 0;
  int64_t topK = 0;
  double topP = 1;
  double repetitionPenalty = 1;
  int64_t seed = 0;
  int64_t lookup = 0;
  DeviceOptions device;

  Options::Outcome parse(const Arguments &arguments) {
    Options options("run F -p TEXT [-n N]",
                    "Answers a prompt, in the model's own chat format unless "
                    "--raw is given. Text goes to standard output as it comes, "
                    "speeds to standard error.");
    options.positional("F", path, "a .llmc file");
    options.text("prompt,p", "TEXT", prompt, "the prompt");
    options.text("prompt-file", "FILE", promptFile,
                 "take the prompt from FILE");
    options.text("system", "TEXT", system, "instructions before the prompt");
    options.flag("raw", isRaw,
                 "the prompt is text to continue, without chat format; special "
                 "tokens may be spelt out");
    options.flag("think", thinks, "let a model that can think do so");
    options.integer("max-tokens,n", "N", maxTokens, 0, INT32_MAX,
                    "most tokens (default: what the context holds)");
    options.real("temperature", "T", temperature, 0, 100,
                 "0 takes the likeliest token (default)");
    options.integer("top-k", "K", topK, 0, INT32_MAX,
                    "sample from the K likeliest tokens; 0: all");
    options.real("top-p", "P", topP, 0, 1,
                 "sample from the likeliest tokens that make up P");
    options.real("repetition-penalty", "R", repetitionPenalty, 0, 100,
                 "divide the logits of recent tokens by R");
    options.integer("seed", "S", seed, 0, INT64_MAX, "of sampling (default 0)");
    options.integer("prompt-lookup", "N", lookup, 0, 64,
                    "guess up to N tokens from the text and check them in one "
                    "step; 0: don't (default)");
    options.flag("ignore-eos", ignoresEos,
                 "go on after tokens that end a turn");
    options.flag("json", asJson,
                 "print ids, text and speeds as JSON, at the end");
    options.flag("quiet,q", isQuiet, "print no speeds");
    device.declare(options);
    return options.parse(arguments);
  }

  runtime::GenerateOptions generation() const {
    runtime::GenerateOptions options;
    if (maxTokens)
      options.maxTokens = static_cast<uint32_t>(maxTokens);
    options.ignoresStopTokens = ignoresEos;
    options.sampler.temperature = static_cast<float>(temperature);
    options.sampler.topK = static_cast<int32_t>(topK);
    options.sampler.topP = static_cast<float>(topP);
    options.sampler.repetitionPenalty = static_cast<float>(repetitionPenalty);
    options.sampler.seed = static_cast<uint64_t>(seed);
    if (lookup)
      options.draftLength = static_cast<uint32_t>(lookup);
    return options;
  }
};

StatusOr<std::vector<int32_t>> encodePrompt(const text::Tokenizer &tokenizer,
                                            const RunOptions &options) {
  text::EncodeOptions encodeOptions;
  encodeOptions.addBos = true;
  // Who writes the whole prompt also writes its markers.
  if (options.isRaw)
    return tokenizer.encode(options.prompt, /*parseSpecial=*/true,
                            encodeOptions);
  LLMC_ASSIGN_OR_RETURN(const text::ChatTemplate chat,
                        text::ChatTemplate::create(tokenizer.spec()));
  std::vector<text::Message> messages;
  if (!options.system.empty())
    messages.push_back({"system", options.system});
  messages.push_back({"user", options.prompt});
  text::ChatOptions chatOptions;
  chatOptions.enableThinking = options.thinks;
  LLMC_ASSIGN_OR_RETURN(const std::vector<text::Segment> segments,
                        chat.render(messages, chatOptions));
  return tokenizer.encode(segments, encodeOptions);
}

double perSecond(size_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

/// Of tokens after the first, which belongs to the prefill.
double decodeRate(const runtime::GenerateResult &result) {
  return result.ids.size() > 1
             ? perSecond(result.ids.size() - 1, result.decodeSeconds)
             : 0;
}

void printSpeeds(size_t numPromptTokens, const runtime::GenerateResult &result,
                 const runtime::LanguageModel &model) {
  std::fprintf(stderr,
               "\n[%s on %s: prompt %zu tokens, %.1f tokens/s; first token "
               "after %.0f ms; %zu tokens, %.1f tokens/s; %s]\n",
               model.module().variant().target().name().c_str(),
               model.module().device().facts().name.c_str(), numPromptTokens,
               perSecond(numPromptTokens, result.prefillSeconds),
               result.firstTokenSeconds * 1e3, result.ids.size(),
               decodeRate(result), runtime::stopReasonName(result.reason));
}

void printJson(const std::vector<int32_t> &prompt, const std::string &text,
               const runtime::GenerateResult &result,
               const runtime::LanguageModel &model) {
  const nlohmann::json json = {
      {"prompt_ids", prompt},
      {"ids", result.ids},
      {"text", text},
      {"steps", result.numSteps},
      {"stop_reason", runtime::stopReasonName(result.reason)},
      {"variant", model.module().variant().target().name()},
      {"device", model.module().device().facts().name},
      {"prefill_seconds", result.prefillSeconds},
      {"prefill_tokens_per_second",
       perSecond(prompt.size(), result.prefillSeconds)},
      {"first_token_seconds", result.firstTokenSeconds},
      {"decode_seconds", result.decodeSeconds},
      {"decode_tokens_per_second", decodeRate(result)}};
  std::puts(json.dump(2).c_str());
}

Status run(const RunOptions &options) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Engine> engine,
                        runtime::Engine::create());
  LLMC_ASSIGN_OR_RETURN(runtime::TextModule loaded,
                        loadTextModule(*engine, options.path, options.device));
  LLMC_ASSIGN_OR_RETURN(
      const std::unique_ptr<runtime::LanguageModel> model,
      runtime::LanguageModel::create(std::move(loaded.module),
                                     toSessionOptions(options.device)));
  if (!loaded.tokenizer)
    return Status(StatusCode::Unsupported, "the file has no tokenizer");
  LLMC_ASSIGN_OR_RETURN(const std::vector<int32_t> prompt,
                        encodePrompt(*loaded.tokenizer, options));
  if (prompt.empty())
    return Status(StatusCode::InvalidArgument, "the prompt has no tokens");
  std::string whole;
  const auto tell = [&](int32_t, const std::string &text) {
    whole += text;
    if (!options.asJson) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    }
    return true;
  };
  LLMC_ASSIGN_OR_RETURN(const runtime::GenerateResult result,
                        runtime::generate(*model, loaded.tokenizer.get(),
                                          prompt, options.generation(), tell));
  if (options.asJson)
    printJson(prompt, whole, result, *model);
  else
    std::puts("");
  if (!options.isQuiet && !options.asJson)
    printSpeeds(prompt.size(), result, *model);
  return okStatus();
}

} // namespace

int runRun(const Arguments &arguments) {
  RunOptions options;
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  if (!options.promptFile.empty()) {
    auto content = readTextFile(options.promptFile);
    if (!content.ok())
      return fail(content.status());
    options.prompt = std::move(*content);
  }
  if (Status status = run(options); !status.ok())
    return fail(status);
  return kExitOk;
}

} // namespace llmc::tool
