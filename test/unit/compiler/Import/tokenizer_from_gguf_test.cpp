// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of a GGUF file: defaults, stop ids, and what is refused.

#include "compiler/Import/TokenizerFromGguf.h"
#include "runtime/text/PreTokenizer.h"
#include "test/unit/compiler/Import/gguf_builder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <map>

namespace {

using llmc::format::Tokenizer;
using llmc::gguf::GgufFile;
using llmc::importer::readTokenizer;
using llmc::importer::supportedPreTokenizers;
using llmc::test::GgufBuilder;
using llmc::test::ggufString;
using llmc::test::GgufType;
using llmc::test::littleEndian;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string array(GgufType type, size_t count, const std::string &elements) {
  return littleEndian<uint32_t>(type) + littleEndian<uint64_t>(count) +
         elements;
}

std::string strings(const std::vector<std::string> &values) {
  std::string elements;
  for (const std::string &value : values)
    elements += ggufString(value);
  return array(llmc::test::kString, values.size(), elements);
}

template <typename T>
std::string numbers(GgufType type, const std::vector<T> &values) {
  std::string elements;
  for (T value : values)
    elements += littleEndian(value);
  return array(type, values.size(), elements);
}

/// Metadata by key, so that a test can change one thing.
class Metadata {
public:
  Metadata &set(const std::string &key, uint32_t type,
                const std::string &value) {
    pairs["tokenizer." + key] = {type, value};
    return *this;
  }
  Metadata &text(const std::string &key, const std::string &value) {
    return set(key, llmc::test::kString, ggufString(value));
  }
  Metadata &number(const std::string &key, uint32_t value) {
    return set(key, llmc::test::kUInt32, littleEndian(value));
  }
  Metadata &flag(const std::string &key, bool value) {
    return set(key, llmc::test::kBool, std::string(1, value));
  }
  Metadata &list(const std::string &key, const std::string &value) {
    return set(key, llmc::test::kArray, value);
  }
  Metadata &without(const std::string &key) {
    pairs.erase("tokenizer." + key);
    return *this;
  }

  llvm::Expected<std::optional<Tokenizer>> read() const {
    GgufBuilder builder;
    builder.text("general.architecture", "toy");
    for (const auto &[key, value] : pairs)
      builder.pair(key, value.first, value.second);
    auto file = GgufFile::parse(
        llvm::MemoryBuffer::getMemBufferCopy(builder.build()), "toy.gguf");
    if (!file)
      return file.takeError();
    return readTokenizer(**file);
  }

  Tokenizer mustRead() const {
    auto tokenizer = read();
    if (!tokenizer) {
      ADD_FAILURE() << llvm::toString(tokenizer.takeError());
      return {};
    }
    EXPECT_TRUE(tokenizer->has_value());
    return tokenizer->value_or(Tokenizer());
  }

  /// The message with which the file is refused; "" if it is not.
  std::string refusal() const {
    auto tokenizer = read();
    return tokenizer ? "" : llvm::toString(tokenizer.takeError());
  }

private:
  std::map<std::string, std::pair<uint32_t, std::string>> pairs;
};

Metadata sentencePiece() {
  return Metadata()
      .text("ggml.model", "llama")
      .list("ggml.tokens", strings({"<unk>", "<s>", "</s>", "a", "<|im_end|>"}))
      .list("ggml.scores",
            numbers<float>(llmc::test::kFloat32, {0, 0, 0, -1, -2}))
      .list("ggml.token_type",
            numbers<int32_t>(llmc::test::kInt32, {2, 3, 3, 1, 4}));
}

Metadata bytePair() {
  return Metadata()
      .text("ggml.model", "gpt2")
      .text("ggml.pre", "qwen2")
      .list("ggml.tokens", strings({"a", "b", "ab", "<|im_end|>", "<|eot_id|>",
                                    std::string("\0x", 2)}))
      .list("ggml.token_type",
            numbers<int32_t>(llmc::test::kInt32, {1, 1, 1, 3, 1, 1}))
      .list("ggml.merges", strings({"a b"}));
}

TEST(TokenizerFromGguf, SentencePieceTakesItsCustomaryDefaults) {
  Tokenizer tokenizer = sentencePiece().mustRead();
  EXPECT_EQ(tokenizer.kind(), Tokenizer::SENTENCE_PIECE);
  EXPECT_EQ(tokenizer.pre(), "");
  EXPECT_THAT(tokenizer.tokens(),
              ElementsAre("<unk>", "<s>", "</s>", "a", "<|im_end|>"));
  EXPECT_THAT(tokenizer.scores(), ElementsAre(0, 0, 0, -1, -2));
  EXPECT_THAT(tokenizer.types(), ElementsAre(2, 3, 3, 1, 4));
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_EQ(tokenizer.eos_id(), 2);
  EXPECT_EQ(tokenizer.unknown_id(), 0);
  EXPECT_EQ(tokenizer.padding_id(), -1);
  EXPECT_TRUE(tokenizer.add_bos());
  EXPECT_FALSE(tokenizer.add_eos());
  EXPECT_TRUE(tokenizer.add_space_prefix());
  EXPECT_EQ(tokenizer.chat_template(), "");
}

TEST(TokenizerFromGguf, BytePairTakesItsCustomaryDefaults) {
  Tokenizer tokenizer = bytePair().mustRead();
  EXPECT_EQ(tokenizer.kind(), Tokenizer::BYTE_PAIR);
  EXPECT_EQ(tokenizer.pre(), "qwen2");
  EXPECT_THAT(tokenizer.merges(), ElementsAre("a b"));
  EXPECT_EQ(tokenizer.tokens(5), std::string("\0x", 2));
  EXPECT_EQ(tokenizer.bos_id(), -1);
  EXPECT_EQ(tokenizer.eos_id(), -1);
  EXPECT_EQ(tokenizer.unknown_id(), -1);
  EXPECT_FALSE(tokenizer.add_bos());
  EXPECT_FALSE(tokenizer.add_space_prefix());
  EXPECT_TRUE(bytePair().text("ggml.pre", "llama-bpe").mustRead().add_bos());
  EXPECT_EQ(bytePair().without("ggml.pre").mustRead().pre(), "default");
}

TEST(TokenizerFromGguf, WordPieceIsSpeltAsBertDoes) {
  Tokenizer tokenizer =
      Metadata()
          .text("ggml.model", "bert")
          .list("ggml.tokens",
                strings({"[UNK]", "[CLS]", "[SEP]", "\u2581a", "ing", "[]"}))
          .list("ggml.token_type",
                numbers<int32_t>(llmc::test::kInt32, {3, 3, 3, 1, 1, 1}))
          .number("ggml.unknown_token_id", 0)
          .number("ggml.cls_token_id", 1)
          .number("ggml.seperator_token_id", 2)
          .mustRead();
  EXPECT_EQ(tokenizer.kind(), Tokenizer::WORD_PIECE);
  EXPECT_THAT(tokenizer.tokens(),
              ElementsAre("[UNK]", "[CLS]", "[SEP]", "a", "##ing", "##[]"));
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_EQ(tokenizer.eos_id(), 2);
  EXPECT_TRUE(tokenizer.add_bos());
  EXPECT_TRUE(tokenizer.add_eos());
  EXPECT_EQ(tokenizer.continuing_prefix(), "##");
  EXPECT_EQ(tokenizer.max_word_characters(), 100u);
}

TEST(TokenizerFromGguf, Gemma4MergesPiecesByRank) {
  Tokenizer tokenizer = sentencePiece()
                            .text("ggml.model", "gemma4")
                            .list("ggml.merges", strings({"a a"}))
                            .mustRead();
  EXPECT_EQ(tokenizer.kind(), Tokenizer::SENTENCE_PIECE);
  EXPECT_THAT(tokenizer.merges(), ElementsAre("a a"));
  EXPECT_THAT(tokenizer.scores(), ElementsAre());
  EXPECT_THAT(sentencePiece().text("ggml.model", "gemma4").refusal(),
              HasSubstr("'tokenizer.ggml.merges' is missing"));
}

TEST(TokenizerFromGguf, TheFileHasTheLastWord) {
  Tokenizer tokenizer = sentencePiece()
                            .flag("ggml.add_bos_token", false)
                            .flag("ggml.add_eos_token", true)
                            .flag("ggml.add_space_prefix", false)
                            .number("ggml.bos_token_id", 3)
                            .number("ggml.eos_token_id", 3)
                            .number("ggml.unknown_token_id", 3)
                            .number("ggml.padding_token_id", 3)
                            .text("chat_template", "{{ x }}")
                            .mustRead();
  EXPECT_FALSE(tokenizer.add_bos());
  EXPECT_TRUE(tokenizer.add_eos());
  EXPECT_FALSE(tokenizer.add_space_prefix());
  EXPECT_EQ(tokenizer.bos_id(), 3);
  EXPECT_EQ(tokenizer.eos_id(), 3);
  EXPECT_EQ(tokenizer.unknown_id(), 3);
  EXPECT_EQ(tokenizer.padding_id(), 3);
  EXPECT_EQ(tokenizer.chat_template(), "{{ x }}");
}

TEST(TokenizerFromGguf, StopIdsAreEndsByKeyAndKnownMarkers) {
  EXPECT_THAT(sentencePiece().mustRead().stop_ids(), ElementsAre(2, 4));
  // <|eot_id|> is an ordinary word there.
  EXPECT_THAT(bytePair().mustRead().stop_ids(), ElementsAre(3));
  EXPECT_THAT(bytePair()
                  .number("ggml.eos_token_id", 3)
                  .number("ggml.eot_token_id", 1)
                  .number("ggml.eom_token_id", 0)
                  .mustRead()
                  .stop_ids(),
              ElementsAre(0, 1, 3));
}

TEST(TokenizerFromGguf, AllOnesMeansNoToken) {
  EXPECT_EQ(sentencePiece()
                .number("ggml.padding_token_id", UINT32_MAX)
                .number("ggml.bos_token_id", UINT32_MAX)
                .mustRead()
                .bos_id(),
            -1);
}

TEST(TokenizerFromGguf, FilesWithoutTokenizerHaveNone) {
  for (const Metadata &metadata :
       {Metadata(), Metadata().text("ggml.model", "no_vocab")}) {
    auto tokenizer = metadata.read();
    ASSERT_TRUE(static_cast<bool>(tokenizer));
    EXPECT_FALSE(tokenizer->has_value());
  }
}

TEST(TokenizerFromGguf, RefusesUnknownKindsAndPreTokenizers) {
  EXPECT_THAT(sentencePiece().text("ggml.model", "rwkv").refusal(),
              AllOf(HasSubstr("toy.gguf"), HasSubstr("tokenizer.ggml.model"),
                    HasSubstr("'rwkv'"), HasSubstr("llama, gpt2")));
  EXPECT_THAT(bytePair().text("ggml.pre", "tekken").refusal(),
              AllOf(HasSubstr("tokenizer.ggml.pre"), HasSubstr("'tekken'"),
                    HasSubstr("llama-bpe, ")));
}

TEST(TokenizerFromGguf, RefusesMissingAndEmptyLists) {
  EXPECT_THAT(sentencePiece().without("ggml.tokens").refusal(),
              HasSubstr("'tokenizer.ggml.tokens' is missing"));
  EXPECT_THAT(sentencePiece().list("ggml.tokens", strings({})).refusal(),
              HasSubstr("is empty"));
  EXPECT_THAT(bytePair().without("ggml.merges").refusal(),
              HasSubstr("'tokenizer.ggml.merges' is missing"));
}

TEST(TokenizerFromGguf, RefusesCountsThatDisagree) {
  EXPECT_THAT(
      sentencePiece()
          .list("ggml.scores", numbers<float>(llmc::test::kFloat32, {0}))
          .refusal(),
      AllOf(HasSubstr("tokenizer.ggml.scores"), HasSubstr("has 1 elements"),
            HasSubstr("5 tokens")));
  EXPECT_THAT(
      sentencePiece()
          .list("ggml.token_type", numbers<int32_t>(llmc::test::kInt32, {1}))
          .refusal(),
      AllOf(HasSubstr("tokenizer.ggml.token_type"),
            HasSubstr("has 1 elements")));
}

TEST(TokenizerFromGguf, RefusesValuesOutOfRange) {
  EXPECT_THAT(sentencePiece()
                  .list("ggml.token_type",
                        numbers<int32_t>(llmc::test::kInt32, {2, 3, 3, 1, 7}))
                  .refusal(),
              HasSubstr("holds 7, allowed are 1 to 6"));
  EXPECT_THAT(
      sentencePiece()
          .list("ggml.scores", numbers<float>(llmc::test::kFloat32,
                                              {0, 0, 0, std::nanf(""), 0}))
          .refusal(),
      HasSubstr("not finite for token 3"));
  EXPECT_THAT(sentencePiece().number("ggml.eos_token_id", 5).refusal(),
              AllOf(HasSubstr("tokenizer.ggml.eos_token_id"),
                    HasSubstr("is 5, allowed are 0 to 4")));
  EXPECT_THAT(bytePair().list("ggml.merges", strings({"ab"})).refusal(),
              HasSubstr("holds 'ab', expected 'left right'"));
}

TEST(TokenizerFromGguf, TheRuntimeHasEveryPreTokenizer) {
  for (llvm::StringRef name : supportedPreTokenizers())
    EXPECT_TRUE(llmc::text::PreTokenizer::create(name.str()).ok())
        << name.str();
}

} // namespace
