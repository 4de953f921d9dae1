// SPDX-License-Identifier: Apache-2.0
//
// Real vocabularies: GGUF files with texts and the ids that llama.cpp's own
// tests expect for them. They are too large to be a part of the project; the
// CMake variable LLMC_SHARED_DIR says where they are.

#include "compiler/Import/TokenizerFromGguf.h"
#include "runtime/text/Tokenizer.h"

#include "gtest/gtest.h"

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
  auto spec = llmc::text::tokenizerSpecFromManifest(**manifest);
  if (!spec.ok()) {
    ADD_FAILURE() << spec.status().message();
    return nullptr;
  }
  auto tokenizer = Tokenizer::create(std::move(*spec));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return tokenizer.ok() ? std::move(*tokenizer) : nullptr;
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

class Vocabularies : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    prefix = std::string(kSharedDir) + "/tokenizers/ggml-vocab-" + GetParam() +
             ".gguf";
    if (isAbsent(prefix + ".gz"))
      GTEST_SKIP() << kSkipMessage;
    tokenizer = readTokenizer(prefix + ".gz");
    ASSERT_NE(tokenizer, nullptr);
  }

  std::string prefix;
  std::unique_ptr<Tokenizer> tokenizer;
};

TEST_P(Vocabularies, IdsAreThoseOfTheReference) {
  std::vector<std::string> texts = splitTexts(readFile(prefix + ".inp"));
  std::istringstream expected(readFile(prefix + ".out"));
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

INSTANTIATE_TEST_SUITE_P(Families, Vocabularies,
                         testing::Values("llama-spm", "phi-3", "llama-bpe",
                                         "qwen2", "gpt-2", "qwen35", "gemma-4",
                                         "bert-bge"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = std::isalnum(static_cast<unsigned char>(c))
                                     ? c
                                     : '_';
                           return name;
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

} // namespace
