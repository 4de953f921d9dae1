// SPDX-License-Identifier: Apache-2.0
//
// llmc.h: modules and their text.

#include "runtime/api/Objects.h"

#include <algorithm>

namespace api = llmc::api;
namespace text = llmc::text;
using llmc::okStatus;
using llmc::Status;
using llmc::StatusCode;

namespace {

llmc::runtime::ModuleOptions
toModuleOptions(const llmc_module_options_t &given) {
  llmc::runtime::ModuleOptions options;
  options.preference.index = given.device_index;
  options.preference.namePart = api::orEmpty(given.device_name);
  options.preference.targetName = api::orEmpty(given.variant);
  options.pipelineCacheFolder = api::orEmpty(given.pipeline_cache_dir);
  options.numThreads = given.num_threads;
  if (given.self_test == LLMC_SELF_TEST_ALWAYS)
    options.selfTest = llmc::runtime::SelfTestMode::Always;
  else if (given.self_test == LLMC_SELF_TEST_NEVER)
    options.selfTest = llmc::runtime::SelfTestMode::Never;
  return options;
}

Status checkTokenizer(const llmc_module_t *module) {
  if (!module)
    return api::missing("the module");
  if (!module->tokenizer)
    return Status(StatusCode::Unsupported, "the file has no tokenizer");
  return okStatus();
}

} // namespace

extern "C" {

void llmc_module_options_init(llmc_module_options_t *options) {
  if (options)
    *options = {sizeof(*options),           -1, nullptr, nullptr, nullptr, 0,
                LLMC_SELF_TEST_WHEN_UNKNOWN};
}

llmc_status_t llmc_module_load(llmc_engine_t *engine, const char *path,
                               const llmc_module_options_t *options,
                               llmc_module_t **module, llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!module)
      return api::missing("the pointer to the module");
    *module = nullptr;
    if (!engine || !path)
      return api::missing(engine ? "the path" : "the engine");
    llmc_module_options_t given;
    llmc_module_options_init(&given);
    LLMC_RETURN_IF_ERROR(api::readOptions(options, given));
    auto loaded = std::make_unique<llmc_module>();
    LLMC_ASSIGN_OR_RETURN(llmc::runtime::TextModule whole,
                          llmc::runtime::loadTextModule(
                              *engine->engine, path, toModuleOptions(given)));
    loaded->module = std::move(whole.module);
    loaded->tokenizer = std::move(whole.tokenizer);
    loaded->deviceName = loaded->module->device().facts().name;
    *module = loaded.release();
    return okStatus();
  });
}

void llmc_module_destroy(llmc_module_t *module) { delete module; }

const char *llmc_module_device_name(const llmc_module_t *module) {
  return module ? module->deviceName.c_str() : nullptr;
}

const char *llmc_module_choice(const llmc_module_t *module) {
  return module ? module->module->choiceReason().c_str() : nullptr;
}

const char *llmc_module_self_test(const llmc_module_t *module) {
  return module ? module->module->selfTestSummary().c_str() : nullptr;
}

llmc_status_t llmc_engine_self_test(llmc_engine_t *engine, const char *path,
                                    const llmc_module_options_t *options,
                                    llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    if (!engine || !path)
      return api::missing(engine ? "the path" : "the engine");
    llmc_module_options_t given;
    llmc_module_options_init(&given);
    LLMC_RETURN_IF_ERROR(api::readOptions(options, given));
    llmc::runtime::ModuleOptions moduleOptions = toModuleOptions(given);
    moduleOptions.selfTest = llmc::runtime::SelfTestMode::Always;
    moduleOptions.fallsBack = false;
    return llmc::runtime::Module::load(*engine->engine, path, moduleOptions)
        .status();
  });
}

uint32_t llmc_module_vocabulary_size(const llmc_module_t *module) {
  return module ? static_cast<uint32_t>(
                      module->module->manifest().model().vocabulary_size())
                : 0;
}

uint32_t llmc_module_context_length(const llmc_module_t *module) {
  return module
             ? static_cast<uint32_t>(std::min<uint64_t>(
                   module->module->manifest().model().max_context(), INT32_MAX))
             : 0;
}

llmc_status_t llmc_tokenize(const llmc_module_t *module, const char *text,
                            size_t text_size, int add_bos, int parse_special,
                            int32_t *tokens, size_t capacity,
                            size_t *num_tokens, llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    LLMC_RETURN_IF_ERROR(checkTokenizer(module));
    if (!text && text_size)
      return api::missing("the text");
    text::EncodeOptions options;
    options.addBos = add_bos != 0;
    LLMC_ASSIGN_OR_RETURN(
        const std::vector<int32_t> ids,
        module->tokenizer->encode(std::string_view(text ? text : "", text_size),
                                  parse_special != 0, options));
    return api::giveBack(ids, tokens, capacity, num_tokens);
  });
}

llmc_status_t llmc_tokenize_chat(const llmc_module_t *module,
                                 const llmc_message_t *messages,
                                 size_t num_messages, int enable_thinking,
                                 int32_t *tokens, size_t capacity,
                                 size_t *num_tokens, llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    LLMC_RETURN_IF_ERROR(checkTokenizer(module));
    if (!messages && num_messages)
      return api::missing("the list of messages");
    LLMC_ASSIGN_OR_RETURN(
        const text::ChatTemplate chat,
        text::ChatTemplate::create(module->tokenizer->spec()));
    std::vector<text::Message> conversation;
    for (size_t i = 0; i < num_messages; ++i)
      conversation.push_back(
          {api::orEmpty(messages[i].role), api::orEmpty(messages[i].content)});
    text::ChatOptions chatOptions;
    chatOptions.enableThinking = enable_thinking != 0;
    LLMC_ASSIGN_OR_RETURN(const std::vector<text::Segment> segments,
                          chat.render(conversation, chatOptions));
    text::EncodeOptions options;
    options.addBos = true;
    LLMC_ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                          module->tokenizer->encode(segments, options));
    return api::giveBack(ids, tokens, capacity, num_tokens);
  });
}

llmc_status_t llmc_token_bytes(const llmc_module_t *module, int32_t token,
                               char *bytes, size_t capacity, size_t *num_bytes,
                               llmc_error_t *error) {
  return api::guarded(error, [&]() -> Status {
    LLMC_RETURN_IF_ERROR(checkTokenizer(module));
    LLMC_ASSIGN_OR_RETURN(const std::string piece,
                          module->tokenizer->piece(token));
    return api::giveBack(piece, bytes, capacity, num_bytes);
  });
}

} // extern "C"
