// SPDX-License-Identifier: Apache-2.0
//
// tokenizer.json: what each part becomes, and what is refused by which name.

#include "compiler/Import/HuggingFace/TokenizerFromJson.h"
#include "runtime/text/Tokenizer.h"
#include "test/support/TestFolder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace {

using llmc::format::Tokenizer;
using llmc::importer::readTokenizerJson;
using llmc::importer::readTokenizerOfFolder;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char *kMark = "\u2581";
constexpr const char *kQwen2 =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr const char *kLlama3 =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";

json byteLevel(bool usesRegex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", usesRegex}};
}

json splitBy(const char *regex) {
  json split = {{"type", "Split"},
                {"pattern", {{"Regex", regex}}},
                {"behavior", "Isolated"},
                {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, byteLevel(false)}}};
}

/// As Qwen's files are.
json bytePair() {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", {{"pad_id", 0}}},
          {"added_tokens",
           {{{"id", 3}, {"content", "<|im_end|>"}, {"special", true}},
            {{"id", 5}, {"content", "<think>"}, {"special", false}}}},
          {"normalizer", {{"type", "NFC"}}},
          {"pre_tokenizer", splitBy(kQwen2)},
          {"post_processor", byteLevel(false)},
          {"decoder", byteLevel(false)},
          {"model",
           {{"type", "BPE"},
            {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}},
            {"merges", {"a b"}}}}};
}

/// As Llama 2's are.
json sentencePiece() {
  json tokens = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}, {"<0x41>", 3},
                 {kMark, 4},   {"a", 5},   {"aa", 6}};
  return {{"added_tokens",
           {{{"id", 0}, {"content", "<unk>"}, {"special", true}},
            {{"id", 1}, {"content", "<s>"}, {"special", true}}}},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", kMark}},
              {{"type", "Replace"},
               {"pattern", {{"String", " "}}},
               {"content", kMark}}}}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single",
             {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
              {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
            {"special_tokens",
             {{"<s>", {{"id", "<s>"}, {"ids", {1}}, {"tokens", {"<s>"}}}}}}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"vocab", tokens},
            {"merges", json::parse(R"([["a", "a"]])")}}}};
}

json bert() {
  return {
      {"added_tokens",
       {{{"id", 0}, {"content", "[UNK]"}, {"special", true}},
        {{"id", 2}, {"content", "[SEP]"}, {"special", true}}}},
      {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", true}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor",
       {{"type", "BertProcessing"},
        {"sep", {"[SEP]", 2}},
        {"cls", {"[CLS]", 1}}}},
      {"decoder", {{"type", "WordPiece"}}},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", "[UNK]"},
        {"continuing_subword_prefix", "##"},
        {"max_input_chars_per_word", 100},
        {"vocab",
         {{"[UNK]", 0}, {"[CLS]", 1}, {"[SEP]", 2}, {"a", 3}, {"##b", 4}}}}}};
}

json unigram() {
  json pieces = json::parse(R"([["<unk>", 0.0], ["a", -1.5], ["\u2581", -2]])");
  return {{"pre_tokenizer",
           {{"type", "Metaspace"},
            {"replacement", kMark},
            {"prepend_scheme", "always"}}},
          {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", pieces}}}};
}

Tokenizer mustRead(const json &file) {
  auto tokenizer = readTokenizerJson(file.dump(), "tokenizer.json");
  if (tokenizer)
    return *tokenizer;
  ADD_FAILURE() << llvm::toString(tokenizer.takeError());
  return Tokenizer();
}

std::string refusal(const json &file) {
  auto tokenizer = readTokenizerJson(file.dump(), "toy/tokenizer.json");
  return tokenizer ? "" : llvm::toString(tokenizer.takeError());
}

/// `file` with `value` at `pointer`.
json with(json file, const char *pointer, const json &value) {
  file[json::json_pointer(pointer)] = value;
  return file;
}

std::vector<int32_t> encode(const Tokenizer &manifest, const char *text) {
  auto spec = llmc::text::tokenizerSpecFromManifest(manifest);
  if (!spec.ok()) {
    ADD_FAILURE() << spec.status().message();
    return {};
  }
  auto tokenizer = llmc::text::Tokenizer::create(std::move(*spec));
  if (!tokenizer.ok()) {
    ADD_FAILURE() << tokenizer.status().message();
    return {};
  }
  llmc::text::EncodeOptions options;
  options.addBos = options.addEos = true;
  return *(*tokenizer)->encode(text, /*parseSpecial=*/true, options);
}

TEST(TokenizerFromJson, BytePair) {
  Tokenizer tokenizer = mustRead(bytePair());
  EXPECT_EQ(tokenizer.kind(), Tokenizer::BYTE_PAIR);
  EXPECT_EQ(tokenizer.pre(), "qwen2");
  // Nothing has the id 4.
  EXPECT_THAT(tokenizer.tokens(),
              ElementsAre("a", "b", "ab", "<|im_end|>", "", "<think>"));
  EXPECT_THAT(tokenizer.types(), ElementsAre(1, 1, 1, 3, 5, 4));
  EXPECT_THAT(tokenizer.merges(), ElementsAre("a b"));
  EXPECT_THAT(tokenizer.normalizations(), ElementsAre(Tokenizer::NFC));
  EXPECT_THAT(tokenizer.stop_ids(), ElementsAre(3));
  EXPECT_EQ(tokenizer.bos_id(), -1);
  EXPECT_FALSE(tokenizer.add_bos());
  EXPECT_THAT(encode(tokenizer, "ab<think>a<|im_end|>"),
              ElementsAre(2, 5, 0, 3));
}

TEST(TokenizerFromJson, PatternsHaveTheNamesOfGgufFiles) {
  json llama3 = with(bytePair(), "/pre_tokenizer", splitBy(kLlama3));
  EXPECT_EQ(mustRead(llama3).pre(), "smaug-bpe");
  EXPECT_EQ(mustRead(with(llama3, "/model/ignore_merges", true)).pre(),
            "llama-bpe");
  json gpt2 = with(bytePair(), "/pre_tokenizer", byteLevel(true));
  EXPECT_EQ(mustRead(gpt2).pre(), "gpt-2");
  json digits = {{"type", "Digits"}, {"individual_digits", true}};
  EXPECT_EQ(mustRead(with(gpt2, "/pre_tokenizer",
                          {{"type", "Sequence"},
                           {"pretokenizers", {digits, byteLevel(true)}}}))
                .pre(),
            "smollm");
}

TEST(TokenizerFromJson, MarkedSpacesMakeItSentencePiece) {
  Tokenizer tokenizer = mustRead(sentencePiece());
  EXPECT_EQ(tokenizer.kind(), Tokenizer::SENTENCE_PIECE);
  EXPECT_EQ(tokenizer.pre(), "");
  EXPECT_THAT(tokenizer.types(), ElementsAre(2, 3, 1, 6, 1, 1, 1));
  EXPECT_THAT(tokenizer.merges(), ElementsAre("a a"));
  EXPECT_EQ(tokenizer.unknown_id(), 0);
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_TRUE(tokenizer.add_bos());
  EXPECT_FALSE(tokenizer.add_eos());
  EXPECT_TRUE(tokenizer.fuse_unknown());
  EXPECT_TRUE(tokenizer.add_space_prefix());
  EXPECT_FALSE(tokenizer.space_prefix_unless_there());
  EXPECT_THAT(encode(tokenizer, "aa Azz"), ElementsAre(1, 4, 6, 4, 3, 0));
  // Without fallback <0x41> is a token like others.
  EXPECT_THAT(
      encode(mustRead(with(sentencePiece(), "/model/byte_fallback", false)),
             "A"),
      ElementsAre(1, 4, 0));
}

TEST(TokenizerFromJson, MetaspaceSaysWhereTheSpaceGoes) {
  json file = with(sentencePiece(), "/normalizer", nullptr);
  json metaspace = {{"type", "Metaspace"},
                    {"replacement", kMark},
                    {"prepend_scheme", "first"},
                    {"split", false}};
  Tokenizer first = mustRead(with(file, "/pre_tokenizer", metaspace));
  EXPECT_EQ(first.pre(), "");
  EXPECT_TRUE(first.add_space_prefix());
  EXPECT_TRUE(first.space_prefix_at_start_only());
  EXPECT_TRUE(first.space_prefix_unless_there());
  metaspace = {{"type", "Metaspace"},
               {"replacement", kMark},
               {"add_prefix_space", false}};
  Tokenizer never = mustRead(with(file, "/pre_tokenizer", metaspace));
  EXPECT_EQ(never.pre(), "spaces");
  EXPECT_FALSE(never.add_space_prefix());
}

TEST(TokenizerFromJson, WordPiece) {
  Tokenizer tokenizer = mustRead(bert());
  EXPECT_EQ(tokenizer.kind(), Tokenizer::WORD_PIECE);
  EXPECT_THAT(tokenizer.normalizations(),
              ElementsAre(Tokenizer::CLEAN_CONTROLS, Tokenizer::SPACE_HAN,
                          Tokenizer::NFD, Tokenizer::STRIP_NONSPACING_MARKS,
                          Tokenizer::LOWERCASE));
  EXPECT_THAT(encode(tokenizer, "AB \u00e4b c"),
              ElementsAre(1, 3, 4, 3, 4, 0, 2));
  // Accents go with the case unless the file says otherwise.
  json cased = with(bert(), "/normalizer/lowercase", false);
  EXPECT_THAT(mustRead(cased).normalizations(),
              ElementsAre(Tokenizer::CLEAN_CONTROLS, Tokenizer::SPACE_HAN));
}

TEST(TokenizerFromJson, Unigram) {
  Tokenizer tokenizer = mustRead(unigram());
  EXPECT_EQ(tokenizer.kind(), Tokenizer::UNIGRAM);
  EXPECT_EQ(tokenizer.pre(), "spaces");
  EXPECT_THAT(tokenizer.scores(), ElementsAre(0, -1.5, -2));
  EXPECT_EQ(tokenizer.unknown_id(), 0);
  EXPECT_TRUE(tokenizer.fuse_unknown());
  EXPECT_THAT(encode(tokenizer, "a zz"), ElementsAre(2, 1, 2, 0));
  json words = {{"type", "Sequence"},
                {"pretokenizers",
                 {{{"type", "WhitespaceSplit"}}, unigram()["pre_tokenizer"]}}};
  EXPECT_EQ(mustRead(with(unigram(), "/pre_tokenizer", words)).pre(), "words");
}

TEST(TokenizerFromJson, AddedTokensMayTakeWhiteSpaceWithThem) {
  json file = with(bytePair(), "/added_tokens/0/lstrip", true);
  Tokenizer tokenizer = mustRead(with(file, "/added_tokens/1/rstrip", true));
  EXPECT_THAT(tokenizer.left_strip_ids(), ElementsAre(3));
  EXPECT_THAT(tokenizer.right_strip_ids(), ElementsAre(5));
}

TEST(TokenizerFromJson, WhatIsNotUnderstoodIsRefusedByName) {
  struct Case {
    json file;
    const char *field;
    const char *found;
  };
  json twoTokens = {{{"SpecialToken", {{"id", "<s>"}}}},
                    {{"SpecialToken", {{"id", "<s>"}}}},
                    {{"Sequence", {{"id", "A"}}}}};
  for (const Case &c : std::initializer_list<Case>{
           {with(bytePair(), "/model/type", "WordLevel"), "'model.type'",
            "'WordLevel', supported are BPE"},
           {with(bytePair(), "/normalizer/type", "NFKC"), "'normalizer.type'",
            "'NFKC'"},
           {with(bytePair(), "/pre_tokenizer/pretokenizers/0/type",
                 "Whitespace"),
            "'pre_tokenizer.pretokenizers[0].type'", "'Whitespace'"},
           {with(bytePair(), "/pre_tokenizer", splitBy("\\w+")),
            "'pre_tokenizer.pretokenizers[0]'", "splits by"},
           {with(bytePair(), "/pre_tokenizer/pretokenizers/0/behavior",
                 "MergedWithNext"),
            ".behavior'", "'MergedWithNext'"},
           {with(bytePair(), "/pre_tokenizer/pretokenizers/1/add_prefix_space",
                 true),
            ".add_prefix_space'", "is true"},
           {with(bytePair(), "/post_processor/type", "Other"),
            "'post_processor.type'", "'Other'"},
           {with(bytePair(), "/model/end_of_word_suffix", "</w>"),
            "'model.end_of_word_suffix'", "'</w>'"},
           {with(bytePair(), "/model/dropout", 0.1), "'model.dropout'",
            "is set"},
           {with(bytePair(), "/model/ignore_merges", true), "'pre_tokenizer'",
            "'qwen2' with ignore_merges"},
           {with(bytePair(), "/added_tokens/0/single_word", true),
            "'added_tokens[0].single_word'", "is true"},
           {with(bytePair(), "/pre_tokenizer", nullptr), "'pre_tokenizer'",
            "neither has ByteLevel"},
           {with(sentencePiece(), "/normalizer/normalizers/1/content", "_"),
            "'normalizer.normalizers[1]'", "by '_'"},
           {with(sentencePiece(), "/post_processor/single", twoTokens),
            "'post_processor.single[1]'", "several tokens"},
           {with(bert(), "/pre_tokenizer", nullptr), "'pre_tokenizer'",
            "WordPiece needs"}})
    EXPECT_THAT(refusal(c.file), AllOf(HasSubstr("toy/tokenizer.json: "),
                                       HasSubstr(c.field), HasSubstr(c.found)));
}

TEST(TokenizerFromJson, MalformedFilesAreRefused) {
  struct Case {
    json file;
    const char *message;
  };
  for (const Case &c : std::initializer_list<Case>{
           {json::array(), "expected an object"},
           {with(bytePair(), "/model/vocab", json::object()), "is empty"},
           {with(bytePair(), "/model/vocab", 3), "no object from tokens"},
           {with(bytePair(), "/model/vocab/a", -1), "'a' an id that is no"},
           {with(bytePair(), "/model/vocab/a", 1e9), "'a' an id that is no"},
           {with(bytePair(), "/model/vocab/a", 1u << 30), "'a' an id that"},
           {with(bytePair(), "/model/vocab/a", 1), "the id 1 to both"},
           {with(bytePair(), "/model/merges", nullptr), "no array of pairs"},
           {with(bytePair(), "/model/merges/0", "ab"), "no pair of two"},
           {with(bytePair(), "/model/merges/0", json::array({"a b", "c"})),
            "no pair of two"},
           {with(bytePair(), "/model/merges/0", json::array({"", "c"})),
            "no pair of two"},
           {with(bytePair(), "/model/merges/0", json::array({"a", ""})),
            "no pair of two"},
           {with(bytePair(), "/added_tokens/0/id", 1), "vocabulary has 'b'"},
           {with(bytePair(), "/added_tokens/0/id", 1 << 30), "is 1073741824"},
           {with(bytePair(), "/added_tokens/0/id", ~0ull), "larger than 64"},
           {with(bytePair(), "/added_tokens/0/content", nullptr), "is empty"},
           {with(bytePair(), "/added_tokens/0/special", 1), "expected true or"},
           {with(bytePair(), "/added_tokens", 1), "expected an array"},
           {with(sentencePiece(), "/model/unk_token", "?"), "not in the"},
           {with(sentencePiece(), "/post_processor/special_tokens/<s>/ids/0",
                 7),
            "has the id 7, allowed are 0 to 6"},
           {with(sentencePiece(), "/post_processor/single", json::array()),
            "no place for the text"},
           {with(bert(), "/model/max_input_chars_per_word", 0), "is 0"},
           {with(bert(), "/model/unk_token", nullptr), "is missing"},
           {with(bert(), "/post_processor/sep", json::array({"[SEP]"})),
            "has 1 elements"},
           {with(unigram(), "/model/unk_id", 3), "is 3, allowed are 0 to 2"},
           {with(unigram(), "/model/vocab/1", json::array({"a"})),
            "at index 1 no pair"},
           {with(unigram(), "/model/vocab/1/1", 1e300), "at index 1 no pair"}})
    EXPECT_THAT(refusal(c.file), HasSubstr(c.message)) << c.file;
}

TEST(TokenizerFromJson, EveryPrefixOfAFileIsRefused) {
  std::string text = sentencePiece().dump();
  for (size_t length = 0; length < text.size(); ++length) {
    auto tokenizer =
        readTokenizerJson(llvm::StringRef(text).take_front(length), "x");
    ASSERT_FALSE(static_cast<bool>(tokenizer)) << length;
    llvm::consumeError(tokenizer.takeError());
  }
}

//===----------------------------------------------------------------------===//
// Directories
//===----------------------------------------------------------------------===//

class TokenizerFolder : public testing::Test {
protected:
  void SetUp() override {
    folder = llmc::test::makeTestFolder();
    write("tokenizer.json", bytePair().dump());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string &name, const std::string &text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
  }

  Tokenizer mustRead() {
    auto tokenizer = readTokenizerOfFolder(folder);
    if (tokenizer && *tokenizer)
      return **tokenizer;
    ADD_FAILURE() << (tokenizer ? "none"
                                : llvm::toString(tokenizer.takeError()));
    return Tokenizer();
  }

  std::string refusal() {
    auto tokenizer = readTokenizerOfFolder(folder);
    return tokenizer ? "" : llvm::toString(tokenizer.takeError());
  }

  std::string folder;
};

TEST_F(TokenizerFolder, ConfigurationNamesTokensAndTemplate) {
  write("tokenizer_config.json",
        R"({"bos_token": null, "eos_token": {"content": "<|im_end|>"},
            "pad_token": "a", "chat_template": "{{ x }}"})");
  Tokenizer tokenizer = mustRead();
  EXPECT_EQ(tokenizer.bos_id(), -1);
  EXPECT_EQ(tokenizer.eos_id(), 3);
  EXPECT_FALSE(tokenizer.add_eos());
  EXPECT_EQ(tokenizer.padding_id(), 0);
  EXPECT_EQ(tokenizer.chat_template(), "{{ x }}");
  // A file of its own goes before.
  write("chat_template.jinja", "{{ y }}");
  EXPECT_EQ(mustRead().chat_template(), "{{ y }}");
}

TEST_F(TokenizerFolder, TheTemplateNamedDefaultCounts) {
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "tool_use", "template": "t"},
                              {"name": "default", "template": "d"}]})");
  EXPECT_EQ(mustRead().chat_template(), "d");
}

TEST_F(TokenizerFolder, StopIdsOfAllFiles) {
  write("tokenizer_config.json", R"({"eos_token": "a"})");
  write("generation_config.json", R"({"eos_token_id": [1, 2]})");
  write("config.json", R"({"eos_token_id": 2})");
  EXPECT_THAT(mustRead().stop_ids(), ElementsAre(0, 1, 2, 3));
}

TEST_F(TokenizerFolder, WithoutTokenizerThereIsNone) {
  std::filesystem::remove(folder + "/tokenizer.json");
  auto tokenizer = readTokenizerOfFolder(folder);
  ASSERT_TRUE(static_cast<bool>(tokenizer));
  EXPECT_FALSE(tokenizer->has_value());
}

TEST_F(TokenizerFolder, MistakesNameTheFile) {
  write("tokenizer_config.json", R"({"eos_token": "nope"})");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("tokenizer_config.json: 'eos_token'"),
                               HasSubstr("'nope', which is no token")));
  write("tokenizer_config.json", R"({"chat_template": [{"name": "a"}]})");
  EXPECT_THAT(refusal(), HasSubstr("no template named 'default'"));
  write("tokenizer_config.json", "{");
  EXPECT_THAT(refusal(), HasSubstr("tokenizer_config.json: no valid JSON"));
  write("tokenizer_config.json", "{}");
  write("config.json", R"({"eos_token_id": 6})");
  EXPECT_THAT(refusal(), HasSubstr("config.json: 'eos_token_id' is 6, allowed "
                                   "are 0 to 5"));
}

} // namespace
