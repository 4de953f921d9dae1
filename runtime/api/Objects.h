// SPDX-License-Identifier: Apache-2.0
//
// What is behind the handles of llmc.h, and how Status crosses into C.

#ifndef LLMC_RUNTIME_API_OBJECTS_H
#define LLMC_RUNTIME_API_OBJECTS_H

#include "runtime/session/EmbeddingModel.h"
#include "runtime/session/LanguageModel.h"
#include "runtime/session/TextModule.h"
#include "runtime/text/ChatTemplate.h"

#include <llmc/llmc.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct llmc_engine {
  std::shared_ptr<llmc::runtime::Engine> engine;
  std::vector<std::string> deviceNames;
};

struct llmc_module {
  std::shared_ptr<llmc::runtime::Module> module;
  std::shared_ptr<const llmc::text::Tokenizer> tokenizer; // null: none
  std::string deviceName;
};

struct llmc_session {
  std::unique_ptr<llmc::runtime::LanguageModel> model;
  std::shared_ptr<const llmc::text::Tokenizer> tokenizer;
};

struct llmc_embedder {
  std::unique_ptr<llmc::runtime::EmbeddingModel> model;
};

namespace llmc::api {

/// Fills `error`, when there is one, and gives the status as C has it.
inline llmc_status_t report(const Status &status, llmc_error_t *error) {
  const auto code = static_cast<llmc_status_t>(status.code());
  if (error && !status.ok()) {
    error->status = code;
    std::strncpy(error->message, status.message().c_str(),
                 sizeof(error->message) - 1);
    error->message[sizeof(error->message) - 1] = '\0';
  }
  return code;
}

/// Runs the body of an API function, which gives a Status; exceptions end here.
template <typename Body>
llmc_status_t guarded(llmc_error_t *error, const Body &body) noexcept {
  try {
    return report(body(), error);
  } catch (const std::bad_alloc &) {
    if (error) {
      error->status = LLMC_STATUS_OUT_OF_HOST_MEMORY;
      std::strcpy(error->message, "the host has no memory left");
    }
    return LLMC_STATUS_OUT_OF_HOST_MEMORY;
  } catch (const std::exception &exception) {
    if (error) {
      error->status = LLMC_STATUS_INTERNAL;
      std::strncpy(error->message, exception.what(),
                   sizeof(error->message) - 1);
      error->message[sizeof(error->message) - 1] = '\0';
    }
    return LLMC_STATUS_INTERNAL;
  }
}

inline Status missing(const char *what) {
  return Status(StatusCode::InvalidArgument, std::string(what) + " is null");
}

inline std::string orEmpty(const char *text) { return text ? text : ""; }

/// Takes the caller's options over the defaults: as many bytes as the caller's
/// header knew.
template <typename Options>
Status readOptions(const Options *given, Options &options) {
  if (!given)
    return okStatus();
  if (given->struct_size < sizeof(size_t) ||
      given->struct_size > sizeof(Options))
    return Status(StatusCode::InvalidArgument,
                  "struct_size of the options is " +
                      std::to_string(given->struct_size) +
                      ", allowed is what their _init function sets");
  std::memcpy(&options, given, given->struct_size);
  return okStatus();
}

/// The caller's options as the runtime has them.
inline StatusOr<runtime::SessionOptions>
toSessionOptions(const llmc_session_options_t *options) {
  llmc_session_options_t given;
  llmc_session_options_init(&given);
  LLMC_RETURN_IF_ERROR(readOptions(options, given));
  runtime::SessionOptions result;
  result.stepTimeout = std::chrono::milliseconds(given.step_timeout_ms);
  return result;
}

/// The pattern of two calls: tells the size, fills when there is room.
template <typename T, typename Range>
Status giveBack(const Range &values, T *target, size_t capacity, size_t *size) {
  if (!size)
    return missing("the pointer to the size");
  *size = values.size();
  if (values.size() > capacity || values.size() == 0)
    return okStatus();
  if (!target)
    return missing("the pointer to the result");
  std::memcpy(target, values.data(), values.size() * sizeof(T));
  return okStatus();
}

} // namespace llmc::api

#endif // LLMC_RUNTIME_API_OBJECTS_H
