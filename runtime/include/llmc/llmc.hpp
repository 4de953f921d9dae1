// SPDX-License-Identifier: Apache-2.0
//
// llmc.h for C++: objects that destroy themselves, failures as exceptions of
// the including program. Everything is inline; llmc.h has the contracts.

#ifndef LLMC_LLMC_HPP
#define LLMC_LLMC_HPP

#include <llmc/llmc.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llmc {

/// A failure of a function of llmc.h.
class Error : public std::runtime_error {
public:
  explicit Error(const llmc_error_t &error)
      : std::runtime_error(error.message), code(error.status) {}

  llmc_status_t status() const { return code; }

private:
  llmc_status_t code;
};

namespace detail {

/// Calls `function` with an error to fill and throws it.
template <typename Function>
void check(const Function &function) {
  llmc_error_t error{};
  if (function(&error) != LLMC_STATUS_OK)
    throw Error(error);
}

/// Calls `function(data, capacity, &size, error)` once to learn the size and
/// once for the values.
template <typename Container, typename Function>
Container fill(const Function &function) {
  size_t size = 0;
  check(
      [&](llmc_error_t *error) { return function(nullptr, 0, &size, error); });
  Container values(size, {});
  check([&](llmc_error_t *error) {
    return function(values.data(), values.size(), &size, error);
  });
  return values;
}

template <typename Object, void (*destroy)(Object *)>
struct Destroyer {
  void operator()(Object *object) const { destroy(object); }
};

} // namespace detail

class Engine {
public:
  explicit Engine(const llmc_engine_options_t *options = nullptr) {
    llmc_engine_t *created = nullptr;
    detail::check([&](llmc_error_t *error) {
      return llmc_engine_create(options, &created, error);
    });
    handle.reset(created);
  }

  llmc_engine_t *get() const { return handle.get(); }
  uint32_t numDevices() const { return llmc_engine_num_devices(get()); }
  std::string deviceName(uint32_t index) const {
    const char *name = llmc_engine_device_name(get(), index);
    return name ? name : "";
  }

private:
  std::unique_ptr<llmc_engine_t,
                  detail::Destroyer<llmc_engine_t, llmc_engine_destroy>>
      handle;
};

class Module {
public:
  Module(const Engine &engine, const std::string &path,
         const llmc_module_options_t *options = nullptr) {
    llmc_module_t *created = nullptr;
    detail::check([&](llmc_error_t *error) {
      return llmc_module_load(engine.get(), path.c_str(), options, &created,
                              error);
    });
    handle.reset(created);
  }

  llmc_module_t *get() const { return handle.get(); }
  std::string deviceName() const { return llmc_module_device_name(get()); }
  std::string choice() const { return llmc_module_choice(get()); }
  std::string selfTest() const { return llmc_module_self_test(get()); }
  uint32_t vocabularySize() const { return llmc_module_vocabulary_size(get()); }
  uint32_t contextLength() const { return llmc_module_context_length(get()); }

  std::vector<int32_t> tokenize(std::string_view text, bool addBos = true,
                                bool parseSpecial = false) const {
    return detail::fill<std::vector<int32_t>>([&](int32_t *tokens,
                                                  size_t capacity, size_t *size,
                                                  llmc_error_t *error) {
      return llmc_tokenize(get(), text.data(), text.size(), addBos,
                           parseSpecial, tokens, capacity, size, error);
    });
  }

  /// Pairs of role and content.
  std::vector<int32_t> tokenizeChat(
      const std::vector<std::pair<std::string, std::string>> &conversation,
      bool enableThinking = true) const {
    std::vector<llmc_message_t> messages;
    for (const auto &[role, content] : conversation)
      messages.push_back({role.c_str(), content.c_str()});
    return detail::fill<std::vector<int32_t>>([&](int32_t *tokens,
                                                  size_t capacity, size_t *size,
                                                  llmc_error_t *error) {
      return llmc_tokenize_chat(get(), messages.data(), messages.size(),
                                enableThinking, tokens, capacity, size, error);
    });
  }

  std::string tokenBytes(int32_t token) const {
    return detail::fill<std::string>(
        [&](char *bytes, size_t capacity, size_t *size, llmc_error_t *error) {
          return llmc_token_bytes(get(), token, bytes, capacity, size, error);
        });
  }

private:
  std::unique_ptr<llmc_module_t,
                  detail::Destroyer<llmc_module_t, llmc_module_destroy>>
      handle;
};

class Session {
public:
  explicit Session(const Module &module,
                   const llmc_session_options_t *options = nullptr)
      : vocabularySize(module.vocabularySize()) {
    llmc_session_t *created = nullptr;
    detail::check([&](llmc_error_t *error) {
      return llmc_session_create(module.get(), options, &created, error);
    });
    handle.reset(created);
  }

  llmc_session_t *get() const { return handle.get(); }
  uint32_t position() const { return llmc_session_position(get()); }

  /// The logits after the last token.
  std::vector<float> prefill(const std::vector<int32_t> &tokens) {
    std::vector<float> logits(vocabularySize);
    detail::check([&](llmc_error_t *error) {
      return llmc_session_prefill(get(), tokens.data(), tokens.size(),
                                  logits.data(), error);
    });
    return logits;
  }

  std::vector<float> decode(int32_t token) {
    std::vector<float> logits(vocabularySize);
    detail::check([&](llmc_error_t *error) {
      return llmc_session_decode(get(), token, logits.data(), error);
    });
    return logits;
  }

  void truncate(uint32_t numTokens) {
    detail::check([&](llmc_error_t *error) {
      return llmc_session_truncate(get(), numTokens, error);
    });
  }

  /// A session of its own that has evaluated the same tokens.
  Session fork() const {
    llmc_session_t *created = nullptr;
    detail::check([&](llmc_error_t *error) {
      return llmc_session_fork(get(), &created, error);
    });
    return Session(created, vocabularySize);
  }

  void save(const std::string &path) const {
    detail::check([&](llmc_error_t *error) {
      return llmc_session_save(get(), path.c_str(), error);
    });
  }

  void restore(const std::string &path) {
    detail::check([&](llmc_error_t *error) {
      return llmc_session_restore(get(), path.c_str(), error);
    });
  }

  void cancel() { llmc_session_cancel(get()); }

  /// `callback` as llmc_token_callback_t, but true goes on and false ends. An
  /// exception of the callback ends the generation and comes out here.
  llmc_generate_result_t
  generate(const std::vector<int32_t> &prompt,
           const llmc_generate_options_t *options,
           const std::function<bool(int32_t, std::string_view)> &callback) {
    struct Call {
      const std::function<bool(int32_t, std::string_view)> &callback;
      std::exception_ptr thrown;
    } call{callback, nullptr};
    const llmc_token_callback_t trampoline = [](void *data, int32_t token,
                                                const char *text, size_t size) {
      Call &call = *static_cast<Call *>(data);
      try {
        return call.callback(token, std::string_view(text, size)) ? 0 : 1;
      } catch (...) {
        call.thrown = std::current_exception();
        return 1;
      }
    };
    llmc_generate_result_t result;
    llmc_generate_result_init(&result);
    detail::check([&](llmc_error_t *error) {
      return llmc_session_generate(get(), prompt.data(), prompt.size(), options,
                                   callback ? trampoline : nullptr, &call,
                                   &result, error);
    });
    if (call.thrown)
      std::rethrow_exception(call.thrown);
    return result;
  }

private:
  Session(llmc_session_t *owned, uint32_t vocabularySize)
      : handle(owned), vocabularySize(vocabularySize) {}

  std::unique_ptr<llmc_session_t,
                  detail::Destroyer<llmc_session_t, llmc_session_destroy>>
      handle;
  uint32_t vocabularySize;
};

class Embedder {
public:
  explicit Embedder(const Module &module,
                    const llmc_session_options_t *options = nullptr) {
    llmc_embedder_t *created = nullptr;
    detail::check([&](llmc_error_t *error) {
      return llmc_embedder_create(module.get(), options, &created, error);
    });
    handle.reset(created);
  }

  llmc_embedder_t *get() const { return handle.get(); }
  uint32_t size() const { return llmc_embedder_size(get()); }

  /// size() numbers for each text.
  std::vector<std::vector<float>>
  embed(const std::vector<std::vector<int32_t>> &texts) {
    std::vector<int32_t> tokens;
    std::vector<size_t> counts;
    for (const std::vector<int32_t> &text : texts) {
      tokens.insert(tokens.end(), text.begin(), text.end());
      counts.push_back(text.size());
    }
    std::vector<float> all(texts.size() * size());
    detail::check([&](llmc_error_t *error) {
      return llmc_embed(get(), tokens.data(), counts.data(), counts.size(),
                        all.data(), error);
    });
    std::vector<std::vector<float>> embeddings;
    for (size_t i = 0; i < texts.size(); ++i)
      embeddings.emplace_back(all.begin() + static_cast<ptrdiff_t>(i * size()),
                              all.begin() +
                                  static_cast<ptrdiff_t>((i + 1) * size()));
    return embeddings;
  }

private:
  std::unique_ptr<llmc_embedder_t,
                  detail::Destroyer<llmc_embedder_t, llmc_embedder_destroy>>
      handle;
};

} // namespace llmc

#endif // LLMC_LLMC_HPP
