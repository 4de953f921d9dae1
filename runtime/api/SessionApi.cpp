// SPDX-License-Identifier: Apache-2.0
//
// llmc.h: sessions and generation.

#include "runtime/api/Objects.h"
#include "runtime/session/Generator.h"

#include <algorithm>

namespace api = llmc::api;
namespace runtime = llmc::runtime;
using llmc::okStatus;
using llmc::Status;

namespace {

runtime::GenerateOptions
toGenerateOptions(const llmc_generate_options_t &given) {
  runtime::GenerateOptions options;
  if (given.max_tokens)
    options.maxTokens = given.max_tokens;
  options.sampler.temperature = given.temperature;
  options.sampler.topK = given.top_k;
  options.sampler.topP = given.top_p;
  options.sampler.repetitionPenalty = given.repetition_penalty;
  options.sampler.seed = given.seed;
  if (given.prompt_lookup)
    options.draftLength = given.prompt_lookup;
  return options;
}

llmc_stop_reason_t toStopReason(runtime::StopReason reason) {
  switch (reason) {
  case runtime::StopReason::StopToken:
    return LLMC_STOP_TOKEN;
  case runtime::StopReason::MaxTokens:
    return LLMC_STOP_MAX_TOKENS;
  case runtime::StopReason::ContextFull:
    return LLMC_STOP_CONTEXT_FULL;
  case runtime::StopReason::Cancelled:
    break;
  }
  return LLMC_STOP_CALLBACK;
}

} // namespace

extern "C" {

void llmc_session_options_init(llmc_session_options_t *options) {
  if (options)
    *options = {sizeof(*options), 0};
}

llmc_status_t llmc_session_create(llmc_module_t *module,
                                  const llmc_session_options_t *options,
                                  llmc_session_t **session,
                                  llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!session)
      return api::missing("the pointer to the session");
    *session = nullptr;
    if (!module)
      return api::missing("the module");
    LLMC_ASSIGN_OR_RETURN(const runtime::SessionOptions sessionOptions,
                          api::toSessionOptions(options));
    auto created = std::make_unique<llmc_session>();
    created->tokenizer = module->tokenizer;
    LLMC_ASSIGN_OR_RETURN(created->model, runtime::LanguageModel::create(
                                              module->module, sessionOptions));
    *session = created.release();
    return okStatus();
  });
}

void llmc_session_destroy(llmc_session_t *session) { delete session; }

uint32_t llmc_session_position(const llmc_session_t *session) {
  return session ? session->model->position() : 0;
}

llmc_status_t llmc_session_prefill(llmc_session_t *session,
                                   const int32_t *tokens, size_t num_tokens,
                                   float *logits, llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!session || (!tokens && num_tokens))
      return api::missing(session ? "the list of tokens" : "the session");
    return session->model->prefill({tokens, tokens + num_tokens}, logits);
  });
}

llmc_status_t llmc_session_decode(llmc_session_t *session, int32_t token,
                                  float *logits, llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!session)
      return api::missing("the session");
    return session->model->decode(token, logits);
  });
}

llmc_status_t llmc_session_truncate(llmc_session_t *session,
                                    uint32_t num_tokens, llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!session)
      return api::missing("the session");
    return session->model->truncate(num_tokens);
  });
}

llmc_status_t llmc_session_fork(llmc_session_t *session, llmc_session_t **fork,
                                llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!fork)
      return api::missing("the pointer to the fork");
    *fork = nullptr;
    if (!session)
      return api::missing("the session");
    auto created = std::make_unique<llmc_session>();
    created->tokenizer = session->tokenizer;
    LLMC_ASSIGN_OR_RETURN(created->model, session->model->fork());
    *fork = created.release();
    return okStatus();
  });
}

llmc_status_t llmc_session_save(llmc_session_t *session, const char *path,
                                llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!session || !path)
      return api::missing(session ? "the path" : "the session");
    return session->model->save(path);
  });
}

llmc_status_t llmc_session_restore(llmc_session_t *session, const char *path,
                                   llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!session || !path)
      return api::missing(session ? "the path" : "the session");
    return session->model->restore(path);
  });
}

void llmc_session_cancel(llmc_session_t *session) {
  if (session)
    session->model->cancel();
}

void llmc_generate_options_init(llmc_generate_options_t *options) {
  if (options)
    *options = {sizeof(*options), 0, 0.0f, 0, 1.0f, 1.0f, 0, 0};
}

void llmc_generate_result_init(llmc_generate_result_t *result) {
  if (result)
    *result = {sizeof(*result), LLMC_STOP_TOKEN, 0, 0, 0, 0, 0};
}

llmc_status_t llmc_session_generate(
    llmc_session_t *session, const int32_t *prompt, size_t num_prompt_tokens,
    const llmc_generate_options_t *options, llmc_token_callback_t callback,
    void *user_data, llmc_generate_result_t *result, llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!session || (!prompt && num_prompt_tokens))
      return api::missing(session ? "the prompt" : "the session");
    llmc_generate_options_t given;
    llmc_generate_options_init(&given);
    LLMC_RETURN_IF_ERROR(api::readOptions(options, given));
    runtime::TokenCallback tell;
    if (callback)
      tell = [&](int32_t token, const std::string &text) {
        return callback(user_data, token, text.data(), text.size()) == 0;
      };
    LLMC_ASSIGN_OR_RETURN(
        const runtime::GenerateResult generated,
        runtime::generate(*session->model, session->tokenizer.get(),
                          {prompt, prompt + num_prompt_tokens},
                          toGenerateOptions(given), tell));
    if (!result)
      return okStatus();
    const llmc_generate_result_t full = {
        result->struct_size,
        toStopReason(generated.reason),
        static_cast<uint32_t>(generated.ids.size()),
        generated.prefillSeconds,
        generated.firstTokenSeconds,
        generated.decodeSeconds,
        generated.numSteps};
    std::memcpy(result, &full, std::min(result->struct_size, sizeof(full)));
    return okStatus();
  });
}

} // extern "C"
