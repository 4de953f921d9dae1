// SPDX-License-Identifier: Apache-2.0
//
// tokenizer.json: the model and the added tokens; TextRules.cpp reads the rest.

#include "compiler/Import/HuggingFace/TokenizerFromJson.h"

#include "compiler/Import/HuggingFace/Json.h"
#include "compiler/Import/HuggingFace/TextRules.h"
#include "compiler/Import/StopTokens.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace llmc::importer {

namespace {

using format::Tokenizer;
using huggingface::inQuotes;
using huggingface::JsonMistake;
using huggingface::JsonView;
using nlohmann::json;

/// The numbers that the manifest gives to types of tokens.
enum TokenType : uint32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

/// Ids may leave gaps, but not so many that a small file makes a large
/// vocabulary: this many beside four for each token.
constexpr int64_t kMostGaps = 1024;

/// Reads one file into one message.
class TokenizerReader {
public:
  TokenizerReader(const json &file, StringRef path)
      : mistake(path), root(file, "", mistake), model(root["model"]) {}

  llvm::Expected<Tokenizer> read();

private:
  std::string modelType() const;
  void readBytePair();
  void readWordPiece();
  void readUnigram();
  void readVocabulary();
  void readMerges();
  void readUnknownToken();
  void markByteTokens();
  void readAddedTokens();
  void readAddedToken(const JsonView &added, int64_t firstId, size_t numAdded);
  void addText(const huggingface::TextRules &rules);
  void addMarkedSpaces(const huggingface::TextRules &rules);
  void addEnclosure();

  std::string bytePairName(const huggingface::TextRules &rules) const;
  int64_t idOf(StringRef token) const;
  int64_t numTokens() const { return result.tokens_size(); }

  JsonMistake mistake;
  JsonView root;
  JsonView model;
  Tokenizer result;
};

llvm::Expected<Tokenizer> TokenizerReader::read() {
  result.set_bos_id(kNoToken);
  result.set_eos_id(kNoToken);
  result.set_unknown_id(kNoToken);
  result.set_padding_id(kNoToken);
  huggingface::TextRules rules =
      huggingface::readTextRules(root["normalizer"], root["pre_tokenizer"]);
  std::string type = modelType();
  if (type == "BPE") {
    result.set_kind(rules.isByteLevel ? Tokenizer::BYTE_PAIR
                                      : Tokenizer::SENTENCE_PIECE);
    readBytePair();
  } else if (type == "WordPiece") {
    result.set_kind(Tokenizer::WORD_PIECE);
    readWordPiece();
  } else if (type == "Unigram") {
    result.set_kind(Tokenizer::UNIGRAM);
    readUnigram();
  } else {
    model["type"].refuseValue(type, "BPE, WordPiece, Unigram");
  }
  if (!mistake.isFound() && numTokens() == 0)
    model["vocab"].refuse("is empty, expected at least one token");
  if (mistake.isFound())
    return mistake.take();
  readAddedTokens();
  addText(rules);
  addEnclosure();
  if (mistake.isFound())
    return mistake.take();
  setStopIds(result, {result.eos_id()});
  return std::move(result);
}

std::string TokenizerReader::modelType() const {
  if (!model["type"].isNull())
    return model["type"].string();
  // Older files don't say it.
  if (!model["merges"].isNull())
    return "BPE";
  return model["vocab"].isArray() ? "Unigram" : "WordPiece";
}

void TokenizerReader::readBytePair() {
  for (StringRef affix : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (std::string text = model[affix].string(); !text.empty())
      model[affix].refuse("is " + inQuotes(text) + ", supported is none");
  if (!model["dropout"].isNull() && model["dropout"].json() != 0)
    model["dropout"].refuse("is set, supported is none");
  readVocabulary();
  if (mistake.isFound())
    return;
  readMerges();
  readUnknownToken();
  result.set_fuse_unknown(model["fuse_unk"].boolean(false));
  if (model["byte_fallback"].boolean(false))
    markByteTokens();
}

void TokenizerReader::readWordPiece() {
  readVocabulary();
  if (mistake.isFound())
    return;
  readUnknownToken();
  if (result.unknown_id() == kNoToken)
    model["unk_token"].refuse("is missing");
  result.set_continuing_prefix(model["continuing_subword_prefix"].string("##"));
  int64_t most = model["max_input_chars_per_word"].integer(100);
  constexpr int64_t kMost = 10000;
  if (most < 1 || most > kMost)
    model["max_input_chars_per_word"].refuse(
        "is " + Twine(most) + ", allowed are 1 to " + Twine(kMost));
  else
    result.set_max_word_characters(static_cast<uint32_t>(most));
}

/// [["piece", score], …]: the index is the id.
void TokenizerReader::readUnigram() {
  JsonView vocabulary = model["vocab"];
  if (!vocabulary.isArray())
    return vocabulary.refuse("is no array, a Unigram model needs one");
  for (const json &entry : vocabulary.json()) {
    float score = NAN;
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
        entry[1].is_number())
      score = static_cast<float>(entry[1].get<double>());
    if (!std::isfinite(score))
      return vocabulary.refuse("has at index " + Twine(numTokens()) +
                               " no pair of a string and a finite number");
    result.add_tokens(entry[0].get_ref<const std::string &>());
    result.add_scores(score);
    result.add_types(kNormal);
  }
  int64_t unknown = model["unk_id"].integer(kNoToken);
  if (unknown < kNoToken || unknown >= numTokens())
    return model["unk_id"].refuse("is " + Twine(unknown) +
                                  ", allowed are 0 to " +
                                  Twine(numTokens() - 1));
  result.set_unknown_id(unknown);
  if (unknown != kNoToken)
    result.set_types(static_cast<int>(unknown), kUnknown);
  result.set_fuse_unknown(true);
  if (model["byte_fallback"].boolean(false))
    markByteTokens();
}

/// {"token": id, …}. Ids may leave gaps, which added tokens fill or nothing.
void TokenizerReader::readVocabulary() {
  JsonView vocabulary = model["vocab"];
  if (!vocabulary.isObject())
    return vocabulary.refuse("is no object from tokens to ids");
  auto count = static_cast<int64_t>(vocabulary.json().size());
  int64_t limit = 4 * count + kMostGaps;
  std::vector<const std::string *> tokens;
  for (const auto &[token, id] : vocabulary.json().items()) {
    if (!id.is_number_unsigned() ||
        id.get<uint64_t>() >= static_cast<uint64_t>(limit))
      return vocabulary.refuse("gives token " + inQuotes(token) +
                               " an id that is no integer from 0 to " +
                               Twine(limit - 1));
    auto index = id.get<size_t>();
    if (index >= tokens.size())
      tokens.resize(index + 1);
    if (tokens[index])
      return vocabulary.refuse("gives the id " + Twine(index) + " to both " +
                               inQuotes(*tokens[index]) + " and " +
                               inQuotes(token));
    tokens[index] = &token;
  }
  for (const std::string *token : tokens) {
    result.add_tokens(token ? *token : std::string());
    result.add_types(token ? kNormal : kUnused);
  }
}

void TokenizerReader::readMerges() {
  JsonView merges = model["merges"];
  if (!merges.isArray())
    return merges.refuse("is no array of pairs");
  for (const json &merge : merges.json()) {
    std::string line;
    if (merge.is_string()) {
      line = merge.get_ref<const std::string &>();
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string() && merge[0] != "" &&
               StringRef(merge[0].get_ref<const std::string &>())
                       .find(' ', 1) == StringRef::npos) {
      line = merge[0].get_ref<const std::string &>() + " " +
             merge[1].get_ref<const std::string &>();
    }
    // The left one is not empty and has no space, the right one is not empty.
    size_t space = StringRef(line).find(' ', 1);
    if (space == StringRef::npos || space + 1 == line.size())
      return merges.refuse("has at index " + Twine(result.merges_size()) +
                           " no pair of two symbols without spaces");
    result.add_merges(std::move(line));
  }
}

int64_t TokenizerReader::idOf(StringRef token) const {
  for (int i = 0; i < result.tokens_size(); ++i)
    if (StringRef(result.tokens(i)) == token)
      return i;
  return kNoToken;
}

void TokenizerReader::readUnknownToken() {
  JsonView name = model["unk_token"];
  if (name.isNull())
    return;
  int64_t id = idOf(name.string());
  if (id == kNoToken)
    return name.refuse("is " + inQuotes(name.string()) +
                       ", which is not in the vocabulary");
  result.set_unknown_id(id);
  result.set_types(static_cast<int>(id), kUnknown);
}

void TokenizerReader::markByteTokens() {
  for (int i = 0; i < result.tokens_size(); ++i) {
    StringRef token = result.tokens(i);
    unsigned byte;
    if (token.size() == 6 && token.consume_front("<0x") &&
        token.consume_back(">") && !token.getAsInteger(16, byte))
      result.set_types(i, kByte);
  }
}

void TokenizerReader::readAddedTokens() {
  std::vector<JsonView> added = root["added_tokens"].elements();
  int64_t firstId = numTokens();
  for (const JsonView &token : added)
    readAddedToken(token, firstId, added.size());
}

void TokenizerReader::readAddedToken(const JsonView &added, int64_t firstId,
                                     size_t numAdded) {
  std::string content = added["content"].string();
  int64_t id = added["id"].integer(-1);
  int64_t limit = firstId + 4 * static_cast<int64_t>(numAdded) + kMostGaps;
  if (content.empty())
    return added["content"].refuse("is empty or missing");
  if (id < 0 || id >= limit)
    return added["id"].refuse("is " + Twine(id) + ", allowed are 0 to " +
                              Twine(limit - 1));
  if (added["single_word"].boolean(false))
    return added["single_word"].refuse("is true, supported is false");
  while (numTokens() <= id) {
    result.add_tokens("");
    result.add_types(kUnused);
    if (result.kind() == Tokenizer::UNIGRAM)
      result.add_scores(0);
  }
  auto index = static_cast<int>(id);
  std::string &token = *result.mutable_tokens(index);
  if (!token.empty() && token != content)
    return added["id"].refuse("is " + Twine(id) + " for " + inQuotes(content) +
                              ", but the vocabulary has " + inQuotes(token) +
                              " there");
  token = content;
  if (result.types(index) != kUnknown)
    result.set_types(index,
                     added["special"].boolean(false) ? kControl : kUserDefined);
  if (added["lstrip"].boolean(false))
    result.add_left_strip_ids(id);
  if (added["rstrip"].boolean(false))
    result.add_right_strip_ids(id);
}

void TokenizerReader::addText(const huggingface::TextRules &rules) {
  for (Tokenizer::Normalization step : rules.normalizations)
    result.add_normalizations(step);
  bool isMarked = result.kind() == Tokenizer::SENTENCE_PIECE ||
                  result.kind() == Tokenizer::UNIGRAM;
  bool isBytePair = result.kind() == Tokenizer::BYTE_PAIR;
  JsonView preTokenizer = root["pre_tokenizer"];
  if (isMarked)
    return addMarkedSpaces(rules);
  if (rules.marksSpaces || rules.addsSpacePrefix || rules.cutsAtWhiteSpace)
    preTokenizer.refuse("or the normalizer writes spaces as U+2581, which does "
                        "not go with this model");
  if (rules.isBert == isBytePair || rules.isByteLevel != isBytePair)
    preTokenizer.refuse(isBytePair
                            ? "has BertPreTokenizer, which goes with WordPiece"
                            : "is not BertPreTokenizer, which WordPiece needs");
  if (isBytePair)
    result.set_pre(bytePairName(rules));
  else if (!rules.pattern.empty() || rules.separatesDigits)
    preTokenizer.refuse("has a pattern, supported for WordPiece is none");
}

void TokenizerReader::addMarkedSpaces(const huggingface::TextRules &rules) {
  JsonView preTokenizer = root["pre_tokenizer"];
  if (!rules.marksSpaces)
    preTokenizer.refuse("neither has ByteLevel nor writes spaces as U+2581");
  if (rules.isByteLevel || rules.isBert || !rules.pattern.empty() ||
      rules.separatesDigits)
    preTokenizer.refuse("has parts that do not go with U+2581 for spaces");
  if (model["ignore_merges"].boolean(false))
    model["ignore_merges"].refuse("is true, supported is false");
  if (rules.cutsAtWhiteSpace) {
    if (!rules.addsSpacePrefix || rules.prefixAtStartOnly)
      preTokenizer.refuse("splits at white space without a mark before each "
                          "word, supported is with it");
    result.set_pre("words");
    return;
  }
  result.set_pre(rules.cutsAtMarks ? "spaces" : "");
  result.set_add_space_prefix(rules.addsSpacePrefix);
  result.set_space_prefix_at_start_only(rules.prefixAtStartOnly);
  result.set_space_prefix_unless_there(rules.prefixUnlessThere);
}

std::string
TokenizerReader::bytePairName(const huggingface::TextRules &rules) const {
  bool prefersWhole = model["ignore_merges"].boolean(false);
  struct Known {
    StringRef pattern;
    bool separatesDigits;
    bool prefersWhole;
    StringRef name;
  };
  static constexpr Known kKnown[] = {{"gpt-2", false, false, "gpt-2"},
                                     {"gpt-2", true, false, "smollm"},
                                     {"llama-3", false, true, "llama-bpe"},
                                     {"llama-3", false, false, "smaug-bpe"},
                                     {"qwen2", false, false, "qwen2"},
                                     {"qwen35", false, false, "qwen35"}};
  for (const Known &known : kKnown)
    if (known.pattern == rules.pattern &&
        known.separatesDigits == rules.separatesDigits &&
        known.prefersWhole == prefersWhole)
      return known.name.str();
  root["pre_tokenizer"].refuse("has the pattern '" + rules.pattern + "'" +
                               (rules.separatesDigits ? " behind Digits" : "") +
                               (prefersWhole ? " with ignore_merges" : "") +
                               ", supported are the patterns of GPT-2 (behind "
                               "Digits too), Llama 3 (with "
                               "ignore_merges too), Qwen2 and Qwen3.5");
  return "";
}

void TokenizerReader::addEnclosure() {
  JsonView processor = root["post_processor"];
  huggingface::Enclosure enclosure = huggingface::readPostProcessor(processor);
  for (auto id : {enclosure.front, enclosure.back})
    if (id && (*id < 0 || *id >= numTokens()))
      return processor.refuse("has the id " + Twine(*id) +
                              ", allowed are 0 to " + Twine(numTokens() - 1));
  result.set_bos_id(enclosure.front.value_or(kNoToken));
  result.set_add_bos(enclosure.front.has_value());
  result.set_eos_id(enclosure.back.value_or(kNoToken));
  result.set_add_eos(enclosure.back.has_value());
}

} // namespace

llvm::Expected<Tokenizer> readTokenizerJson(StringRef text, StringRef path) {
  llvm::Expected<json> file = huggingface::parseJson(text, path);
  if (!file)
    return file.takeError();
  return TokenizerReader(*file, path).read();
}

} // namespace llmc::importer
