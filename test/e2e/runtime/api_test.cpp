// SPDX-License-Identifier: Apache-2.0
//
// The C API and its C++ wrapper, linked as programs link them.

#include "test/e2e/runtime/CountingModel.h"
#include "test/e2e/runtime/api_from_c.h"

#include <llmc/llmc.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

namespace llmc::test {
namespace {

using Tokens = std::vector<int32_t>;

/// The counting model with a tokenizer, in a file while the object lives. Ids:
/// unknown, BOS, "a", "b", EOS.
class CountingFile {
public:
  explicit CountingFile(const CountingModelOptions &options = {}) {
    ModuleFile file = makeCountingModel(options);
    format::Tokenizer tokenizer;
    tokenizer.set_kind(format::Tokenizer::SENTENCE_PIECE);
    const std::pair<const char *, uint32_t> tokens[] = {
        {"<unk>", 2}, {"<s>", 3}, {"a", 1}, {"b", 1}, {"</s>", 3}};
    for (const auto &[text, type] : tokens) {
      tokenizer.add_tokens(text);
      tokenizer.add_scores(0);
      tokenizer.add_types(type);
    }
    tokenizer.set_bos_id(1);
    tokenizer.set_eos_id(4);
    tokenizer.set_unknown_id(0);
    tokenizer.set_padding_id(-1);
    tokenizer.add_stop_ids(4);
    tokenizer.set_add_bos(true);
    file.manifest.set_tokenizer(tokenizer.SerializeAsString());
    name = writeTemporary("api.llmc", file.makeBytes());
  }
  ~CountingFile() { std::remove(name.c_str()); }
  const std::string &path() const { return name; }

private:
  std::string name;
};

/// Weights that make the model say b, b, b, … or end at once.
CountingModelOptions preferring(size_t token) {
  CountingModelOptions options;
  options.weight = {1, 1, 1, 1, 1};
  options.weight[token] = 2;
  return options;
}

TEST(Api, generatesFromC) {
  LLMC_NEED_DEVICE();
  const CountingFile file(preferring(3));
  char text[32];
  llmc_generate_result_t result;
  llmc_error_t error{};
  ASSERT_TRUE(generate_from_c(file.path().c_str(), "ab", text, sizeof(text),
                              &result, &error))
      << error.message;
  EXPECT_STREQ(text, "bbb");
  EXPECT_EQ(result.reason, LLMC_STOP_MAX_TOKENS);
  EXPECT_EQ(result.num_tokens, 3u);
  EXPECT_GT(result.prefill_seconds, 0);
}

TEST(Api, endsAtTheStopToken) {
  LLMC_NEED_DEVICE();
  const CountingFile file(preferring(4));
  char text[32];
  llmc_generate_result_t result;
  llmc_error_t error{};
  ASSERT_TRUE(generate_from_c(file.path().c_str(), "ab", text, sizeof(text),
                              &result, &error));
  EXPECT_STREQ(text, "");
  EXPECT_EQ(result.reason, LLMC_STOP_TOKEN);
  EXPECT_EQ(result.num_tokens, 0u);
}

TEST(Api, tellsFailuresInWords) {
  LLMC_NEED_DEVICE();
  char text[32];
  llmc_generate_result_t result;
  llmc_error_t error{};
  EXPECT_FALSE(generate_from_c("/nonexistent.llmc", "ab", text, sizeof(text),
                               &result, &error));
  EXPECT_EQ(error.status, LLMC_STATUS_NOT_FOUND);
  EXPECT_STREQ(error.message,
               "/nonexistent.llmc: could not open: No such file or directory");
}

TEST(Api, worksFromCpp) {
  LLMC_NEED_DEVICE();
  const CountingFile file;
  const Engine engine;
  EXPECT_GE(engine.numDevices(), 1u);
  const Module module(engine, file.path());
  EXPECT_EQ(module.selfTest(), "the file has none");
  EXPECT_EQ(llmc_engine_self_test(engine.get(), file.path().c_str(), nullptr,
                                  nullptr),
            LLMC_STATUS_OK);
  EXPECT_EQ(module.vocabularySize(), 5u);
  EXPECT_EQ(module.contextLength(), 64u);
  EXPECT_EQ(module.tokenize("ab"), (Tokens{1, 2, 3}));
  EXPECT_EQ(module.tokenize("ab", false), (Tokens{2, 3}));
  EXPECT_EQ(module.tokenBytes(3), "b");
  EXPECT_EQ(module.tokenBytes(4), "");
  Session session(module);
  EXPECT_EQ(session.prefill({1, 2}), expectedLogits({}, 3));
  EXPECT_EQ(session.decode(4), expectedLogits({}, 7));
  session.truncate(1);
  EXPECT_EQ(session.position(), 1u);
  EXPECT_EQ(session.decode(3), expectedLogits({}, 4));
  session.cancel();
  EXPECT_THROW(session.decode(3), Error);
}

TEST(Api, forksSavesAndRestores) {
  LLMC_NEED_DEVICE();
  const CountingFile file;
  const Module module(Engine(), file.path());
  const std::string path = temporaryPath("api.session");
  Session session(module);
  session.prefill({1, 2});
  Session fork = session.fork();
  session.save(path);
  EXPECT_EQ(fork.decode(4), expectedLogits({}, 7));
  EXPECT_EQ(session.decode(3), expectedLogits({}, 6));
  fork.restore(path);
  EXPECT_EQ(fork.position(), 2u);
  EXPECT_EQ(fork.decode(1), expectedLogits({}, 4));
  std::remove(path.c_str());
  EXPECT_THROW(fork.restore(path), Error);
  EXPECT_EQ(llmc_session_save(nullptr, path.c_str(), nullptr),
            LLMC_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(llmc_session_fork(session.get(), nullptr, nullptr),
            LLMC_STATUS_INVALID_ARGUMENT);
}

TEST(Api, stopsWhenTheContextIsFull_B41) {
  LLMC_NEED_DEVICE();
  CountingModelOptions options = preferring(3);
  options.context = 5;
  const CountingFile file(options);
  const Module module(Engine(), file.path());
  Session session(module);
  std::string text;
  const auto result =
      session.generate({1, 2}, nullptr, [&](int32_t, std::string_view piece) {
        text += piece;
        return true;
      });
  // Three more fit; the fourth is known but not evaluated.
  EXPECT_EQ(text, "bbbb");
  EXPECT_EQ(result.reason, LLMC_STOP_CONTEXT_FULL);
  EXPECT_EQ(session.position(), 5u);
}

TEST(Api, theCallbackMayEndOrThrow) {
  LLMC_NEED_DEVICE();
  const CountingFile file(preferring(3));
  const Module module(Engine(), file.path());
  Session session(module);
  const auto result = session.generate(
      {1, 2}, nullptr, [](int32_t, std::string_view) { return false; });
  EXPECT_EQ(result.reason, LLMC_STOP_CALLBACK);
  EXPECT_EQ(result.num_tokens, 1u);
  EXPECT_THROW(session.generate({2}, nullptr,
                                [](int32_t, std::string_view) -> bool {
                                  throw std::logic_error("enough");
                                }),
               std::logic_error);
  EXPECT_EQ(session.decode(2).size(), 5u);
}

TEST(Api, samplesTheSameForTheSameSeed) {
  LLMC_NEED_DEVICE();
  CountingModelOptions flat;
  flat.weight = {0, 0, 0, 0, -1000};
  const CountingFile file(flat);
  const Module module(Engine(), file.path());
  const auto draw = [&](uint64_t seed) {
    llmc_generate_options_t options;
    llmc_generate_options_init(&options);
    options.max_tokens = 20;
    options.temperature = 1;
    options.seed = seed;
    Tokens drawn;
    Session(module).generate({1}, &options, [&](int32_t id, std::string_view) {
      drawn.push_back(id);
      return true;
    });
    return drawn;
  };
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

TEST(Api, refusesNullsAndForeignSizes) {
  llmc_error_t error{};
  llmc_engine_t *engine = nullptr;
  llmc_engine_options_t options;
  llmc_engine_options_init(&options);
  options.struct_size = 3;
  EXPECT_EQ(llmc_engine_create(&options, &engine, &error),
            LLMC_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(engine, nullptr);
  EXPECT_EQ(llmc_engine_create(nullptr, nullptr, &error),
            LLMC_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "the pointer to the engine is null");
  EXPECT_EQ(llmc_module_load(nullptr, "f", nullptr, nullptr, nullptr),
            LLMC_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(llmc_session_decode(nullptr, 0, nullptr, nullptr),
            LLMC_STATUS_INVALID_ARGUMENT);
  size_t size = 0;
  EXPECT_EQ(llmc_tokenize(nullptr, "a", 1, 0, 0, nullptr, 0, &size, nullptr),
            LLMC_STATUS_INVALID_ARGUMENT);
  llmc_engine_destroy(nullptr);
  llmc_module_destroy(nullptr);
  llmc_session_destroy(nullptr);
}

TEST(Api, absenceOfVulkanIsAStatus) {
  llmc_error_t error{};
  llmc_engine_t *engine = nullptr;
  llmc_engine_options_t options;
  llmc_engine_options_init(&options);
  options.vulkan_library = "libno-such-vulkan.so";
  EXPECT_EQ(llmc_engine_create(&options, &engine, &error),
            LLMC_STATUS_NO_VULKAN);
  EXPECT_EQ(error.status, LLMC_STATUS_NO_VULKAN);
  EXPECT_STREQ(llmc_status_name(error.status), "no_vulkan");
}

TEST(Api, cutsLongMessages) {
  llmc_error_t error;
  std::memset(&error, 0x7f, sizeof(error));
  llmc_engine_t *engine = nullptr;
  const std::string name(3000, 'x');
  llmc_engine_options_t options;
  llmc_engine_options_init(&options);
  options.vulkan_library = name.c_str();
  EXPECT_NE(llmc_engine_create(&options, &engine, &error), LLMC_STATUS_OK);
  EXPECT_EQ(std::strlen(error.message), sizeof(error.message) - 1);
}

TEST(Api, everyStatusHasAName) {
  for (int status = 0; status <= LLMC_STATUS_SELF_TEST_FAILED; ++status)
    EXPECT_STRNE(llmc_status_name(static_cast<llmc_status_t>(status)),
                 "unknown");
  EXPECT_STREQ(llmc_status_name(static_cast<llmc_status_t>(18)), "unknown");
  EXPECT_EQ(llmc_api_version(), static_cast<uint32_t>(LLMC_API_VERSION));
}

} // namespace
} // namespace llmc::test
