// SPDX-License-Identifier: Apache-2.0
//
// Real vocabularies: GGUF files with texts and the ids that llama.cpp's own
// tests expect for them, and tokenizer.json files of the same families. They
// are too large to be a part of the project; the CMake variable
// LLMC_SHARED_DIR says where they are.

#include "compiler/Import/HuggingFace/TokenizerFromJson.h"
#include "compiler/Import/TokenizerFromGguf.h"
#include "runtime/text/ChatTemplate.h"
#include "runtime/text/Tokenizer.h"

#include "gtest/gtest.h"

#include <nlohmann/json.hpp>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using llmc::text::EncodeOptions;
using llmc::text::Tokenizer;

constexpr const char *kSharedDir = LLMC_SHARED_DIR;

/// The bytes of a file, unpacked if it is compressed.
std::string readFile(const std::string &path) {
  std::string bytes;
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (!file)
    return bytes;
  char buffer[1 << 16];
  for (int n; (n = gzread(file, buffer, sizeof(buffer))) > 0;)
    bytes.append(buffer, n);
  gzclose(file);
  return bytes;
}

std::unique_ptr<Tokenizer>
makeTokenizer(const llmc::format::Tokenizer &manifest) {
  auto spec = llmc::text::tokenizerSpecFromManifest(manifest);
  if (!spec.ok()) {
    ADD_FAILURE() << spec.status().message();
    return nullptr;
  }
  auto tokenizer = Tokenizer::create(std::move(*spec));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return tokenizer.ok() ? std::move(*tokenizer) : nullptr;
}

std::unique_ptr<Tokenizer> readTokenizer(const std::string &path) {
  auto file = llmc::gguf::GgufFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(readFile(path)), path);
  if (!file) {
    ADD_FAILURE() << llvm::toString(file.takeError());
    return nullptr;
  }
  auto manifest = llmc::importer::readTokenizer(**file);
  if (!manifest || !*manifest) {
    ADD_FAILURE() << (manifest ? "no tokenizer"
                               : llvm::toString(manifest.takeError()));
    return nullptr;
  }
  return makeTokenizer(**manifest);
}

std::unique_ptr<Tokenizer> readTokenizerJson(const std::string &path) {
  auto manifest = llmc::importer::readTokenizerJson(readFile(path), path);
  if (!manifest) {
    ADD_FAILURE() << llvm::toString(manifest.takeError());
    return nullptr;
  }
  return makeTokenizer(*manifest);
}

std::vector<int32_t> parseIds(const std::string &line) {
  std::istringstream words(line);
  std::vector<int32_t> ids;
  for (int32_t id; words >> id;)
    ids.push_back(id);
  return ids;
}

/// The texts of a .inp file.
std::vector<std::string> splitTexts(const std::string &bytes) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  size_t begin = 0;
  for (size_t end; (end = bytes.find(separator, begin)) != std::string::npos;
       begin = end + separator.size())
    texts.push_back(bytes.substr(begin, end - begin));
  return texts;
}

bool isAbsent(const std::string &path) {
  return *kSharedDir == '\0' || !std::filesystem::exists(path);
}

constexpr const char *kSkipMessage =
    "no reference vocabularies: set the CMake variable LLMC_SHARED_DIR";

/// A tokenizer, and whose texts and ids it is held against.
struct Family {
  const char *name;
  const char *file;
  const char *cases;
};

class Vocabularies : public testing::TestWithParam<Family> {
protected:
  void SetUp() override {
    std::string folder = std::string(kSharedDir) + "/tokenizers/";
    path = folder + GetParam().file + ".gz";
    cases = folder + "ggml-vocab-" + GetParam().cases + ".gguf";
    if (isAbsent(path))
      GTEST_SKIP() << kSkipMessage;
    bool isGguf = path.find(".gguf") != std::string::npos;
    tokenizer = isGguf ? readTokenizer(path) : readTokenizerJson(path);
    ASSERT_NE(tokenizer, nullptr);
  }

  std::string path;
  std::string cases;
  std::unique_ptr<Tokenizer> tokenizer;
};

TEST_P(Vocabularies, IdsAreThoseOfTheReference) {
  std::vector<std::string> texts = splitTexts(readFile(cases + ".inp"));
  std::istringstream expected(readFile(cases + ".out"));
  ASSERT_GT(texts.size(), 40u);
  for (const std::string &text : texts) {
    std::string line;
    ASSERT_TRUE(std::getline(expected, line));
    auto ids = tokenizer->encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, parseIds(line)) << "text: '" << text << "'";

    // WordPiece keeps neither case nor white space.
    if (tokenizer->spec().kind == llmc::text::TokenizerKind::WordPiece)
      continue;
    auto bytes = tokenizer->decode(*ids);
    ASSERT_TRUE(bytes.ok());
    std::string prefixed =
        tokenizer->spec().addSpacePrefix && !text.empty() ? " " + text : text;
    EXPECT_EQ(*bytes, prefixed);
  }
}

/// Whatever the bytes: ids in range, and the same bytes back but for what
/// normalization is there to change.
TEST_P(Vocabularies, AnyBytesAreTokenized) {
  for (std::string text :
       {std::string(), std::string("\xe6\xad"), std::string("\xff\xfe"),
        std::string("\x80"), std::string("a\0b", 3),
        std::string("\xf0\x9f\x98"), std::string(1 << 20, 'a')}) {
    auto ids = tokenizer->encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    for (int32_t id : *ids)
      ASSERT_TRUE(id >= 0 && id < tokenizer->vocabularySize());
    if (tokenizer->spec().kind == llmc::text::TokenizerKind::WordPiece)
      continue;
    std::string prefixed =
        tokenizer->spec().addSpacePrefix && !text.empty() ? " " + text : text;
    auto bytes = tokenizer->decode(*ids);
    ASSERT_TRUE(bytes.ok());
    EXPECT_TRUE(*bytes == prefixed);
  }
}

// Gemma 4 has markers where Gemma 3 has unused tokens; all else is the same.
INSTANTIATE_TEST_SUITE_P(
    Families, Vocabularies,
    testing::Values(
        Family{"llama_spm", "ggml-vocab-llama-spm.gguf", "llama-spm"},
        Family{"phi_3", "ggml-vocab-phi-3.gguf", "phi-3"},
        Family{"llama_bpe", "ggml-vocab-llama-bpe.gguf", "llama-bpe"},
        Family{"qwen2", "ggml-vocab-qwen2.gguf", "qwen2"},
        Family{"gpt_2", "ggml-vocab-gpt-2.gguf", "gpt-2"},
        Family{"qwen35", "ggml-vocab-qwen35.gguf", "qwen35"},
        Family{"gemma_4", "ggml-vocab-gemma-4.gguf", "gemma-4"},
        Family{"bert_bge", "ggml-vocab-bert-bge.gguf", "bert-bge"},
        Family{"qwen3_json", "qwen3-tokenizer.json", "qwen2"},
        Family{"llama3_1_json", "llama3_1-tokenizer.json", "llama-bpe"},
        Family{"gemma3_json", "gemma3-tokenizer.json", "gemma-4"}),
    [](const testing::TestParamInfo<Family> &info) {
      return std::string(info.param.name);
    });

/// Prompt ids as llama.cpp gives them, with BOS.
void expectPrompt(const std::string &path, const char *text,
                  const std::vector<int32_t> &expected) {
  if (isAbsent(path))
    GTEST_SKIP() << kSkipMessage;
  std::unique_ptr<Tokenizer> tokenizer = readTokenizer(path);
  ASSERT_NE(tokenizer, nullptr);
  EncodeOptions options;
  options.addBos = options.addEos = true;
  auto ids = tokenizer->encode(text, /*parseSpecial=*/true, options);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(*ids, expected);
}

TEST(ReferencePrompts, Llama) {
  expectPrompt(std::string(kSharedDir) +
                   "/tokenizers/ggml-vocab-llama-spm.gguf.gz",
               "The capital of France is", {1, 450, 7483, 310, 3444, 338});
}

TEST(ReferencePrompts, Stories260K) {
  expectPrompt(std::string(kSharedDir) +
                   "/models/stories260K/stories260K-f32.gguf",
               "Once upon a time", {1, 403, 407, 261, 378});
}

/// With the ids around the text; the file's padding and truncation to 128
/// tokens do not count.
TEST(ReferencePrompts, MiniLm) {
  std::string folder = std::string(kSharedDir) + "/models/all-MiniLM-L6-v2";
  if (isAbsent(folder))
    GTEST_SKIP() << kSkipMessage;
  auto manifest = llmc::importer::readTokenizerOfFolder(folder);
  ASSERT_TRUE(static_cast<bool>(manifest))
      << llvm::toString(manifest.takeError());
  ASSERT_TRUE(manifest->has_value());
  std::unique_ptr<Tokenizer> tokenizer = makeTokenizer(**manifest);
  ASSERT_NE(tokenizer, nullptr);
  auto golden = nlohmann::json::parse(readFile(folder + "/golden.json"));
  ASSERT_EQ(golden.size(), 8u);
  EncodeOptions options;
  options.addBos = options.addEos = true;
  for (const nlohmann::json &entry : golden) {
    auto ids = tokenizer->encode(entry["text"].get<std::string>(),
                                 /*parseSpecial=*/false, options);
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(*ids, entry["ids"].get<std::vector<int32_t>>()) << entry["text"];
  }
}

//===----------------------------------------------------------------------===//
// Chat templates as the models' own files have them
//===----------------------------------------------------------------------===//

/// An entry of the cases that Jinja rendered; null: refused.
struct ChatCase {
  const char *templateName;
  const char *family;
  const char *bos;
  const char *eos;
  std::vector<llmc::text::Message> messages;
  bool addGenerationPrompt;
  bool enableThinking;
  const char *prompt;
};

const ChatCase kChatCases[] = {
#include "test/unit/runtime/text/chat_template_cases.inc"
};

/// What `c`'s template, in the words of the model's own file, becomes; none if
/// it is refused.
std::optional<std::string> renderOriginal(const ChatCase &c,
                                          const std::string &source) {
  llmc::text::TokenizerSpec spec;
  spec.tokens = {c.bos, c.eos};
  spec.bosId = 0;
  spec.eosId = 1;
  spec.chatTemplate = source;
  auto chatTemplate = llmc::text::ChatTemplate::create(spec);
  if (!chatTemplate.ok()) {
    ADD_FAILURE() << chatTemplate.status().message();
    return std::nullopt;
  }
  EXPECT_STREQ(chatTemplate->familyName(), c.family);
  llmc::text::ChatOptions options;
  options.addGenerationPrompt = c.addGenerationPrompt;
  options.enableThinking = c.enableThinking;
  auto segments = chatTemplate->render(c.messages, options);
  if (!segments.ok())
    return std::nullopt;
  std::string prompt;
  for (const llmc::text::Segment &segment : *segments)
    prompt += segment.text;
  return prompt;
}

TEST(ReferencePrompts, ChatTemplatesOfTheModelsThemselves) {
  for (auto [name, file] :
       {std::pair("qwen3", "qwen3-tokenizer_config.json"),
        std::pair("llama-3", "llama3_1-tokenizer_config.json"),
        std::pair("gemma", "gemma3-tokenizer_config.json.gz")}) {
    std::string path = std::string(kSharedDir) + "/tokenizers/" + file;
    if (isAbsent(path))
      GTEST_SKIP() << kSkipMessage;
    std::string source = nlohmann::json::parse(readFile(path))["chat_template"];
    for (const ChatCase &c : kChatCases) {
      if (c.templateName != std::string(name))
        continue;
      auto prompt = renderOriginal(c, source);
      EXPECT_EQ(prompt.value_or("refused"), c.prompt ? c.prompt : "refused")
          << name;
    }
  }
}

} // namespace
