// SPDX-License-Identifier: Apache-2.0
//
// GGUF's tokenizer metadata: keys, and defaults for keys that files leave out
// (conventions of the format's writers).

#include "compiler/Import/TokenizerFromGguf.h"

#include "compiler/Import/StopTokens.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace llmc::importer {

namespace {

constexpr StringRef kKindKey = "tokenizer.ggml.model";
/// Some writers say "none" with it.
constexpr uint64_t kNoTokenInFile = UINT32_MAX;

constexpr StringRef kPreTokenizers[] = {
    "default", "gpt-2",     "phi-2",     "mellum",           "llama-bpe",
    "llama3",  "llama-v3",  "falcon3",   "falcon-h1",        "pixtral",
    "lfm2",    "smaug-bpe", "qwen2",     "deepseek-r1-qwen", "megrez",
    "qwen35",  "smollm",    "starcoder", "refact",           "command-r"};

constexpr StringRef kBeginWithBos[] = {"llama-bpe", "llama3",    "llama-v3",
                                       "falcon3",   "falcon-h1", "pixtral",
                                       "lfm2"};

constexpr uint32_t kLastTokenType = 6;

/// GGUF files write a token that begins a word with U+2581 in front and one
/// that goes on with a word as it is; BERT's own files say `word`, `##ing`.
std::string wordPieceSpelling(StringRef token) {
  if (token.consume_front("\xe2\x96\x81"))
    return token.str();
  if (token.size() > 2 && token.front() == '[' && token.back() == ']')
    return token.str();
  return ("##" + token).str();
}

/// What GGUF files of BERT leave to the reader; the uncased models' rules.
void setBertRules(format::Tokenizer &tokenizer) {
  tokenizer.set_kind(format::Tokenizer::WORD_PIECE);
  tokenizer.set_continuing_prefix("##");
  tokenizer.set_max_word_characters(100);
  for (auto step :
       {format::Tokenizer::CLEAN_CONTROLS, format::Tokenizer::SPACE_HAN,
        format::Tokenizer::NFD, format::Tokenizer::STRIP_NONSPACING_MARKS,
        format::Tokenizer::LOWERCASE})
    tokenizer.add_normalizations(step);
}

/// Reads one file into one message.
class TokenizerReader {
public:
  explicit TokenizerReader(const gguf::GgufFile &file) : file(file) {}

  llvm::Error read();

  format::Tokenizer result;

private:
  llvm::Error readKind();
  llvm::Error readPreTokenizer();
  llvm::Error readTokens();
  llvm::Error readScores();
  llvm::Error readTypes();
  llvm::Error readMerges();
  llvm::Error readIds();
  llvm::Error readFlags();

  bool isWordPiece() const {
    return result.kind() == format::Tokenizer::WORD_PIECE;
  }
  bool isSentencePiece() const {
    return result.kind() == format::Tokenizer::SENTENCE_PIECE;
  }
  llvm::Expected<int64_t> readId(StringRef key, int64_t otherwise) const;
  llvm::Expected<bool> readFlag(StringRef key, bool otherwise) const;
  llvm::Error checkCount(StringRef key, size_t found) const;
  llvm::Error error(StringRef key, const llvm::Twine &sentence) const {
    return llvm::createStringError(file.path() + ": metadata '" + key + "' " +
                                   sentence);
  }

  const gguf::GgufFile &file;
  bool mergesByRank = false;
};

llvm::Error TokenizerReader::read() {
  for (auto step : {&TokenizerReader::readKind, &TokenizerReader::readTokens,
                    &TokenizerReader::readScores, &TokenizerReader::readTypes,
                    &TokenizerReader::readMerges, &TokenizerReader::readIds,
                    &TokenizerReader::readFlags})
    if (llvm::Error failure = (this->*step)())
      return failure;
  auto chatTemplate = file.findString("tokenizer.chat_template");
  if (!chatTemplate)
    return chatTemplate.takeError();
  result.set_chat_template(chatTemplate->value_or("").str());
  return llvm::Error::success();
}

llvm::Error TokenizerReader::readKind() {
  auto kind = file.getString(kKindKey);
  if (!kind)
    return kind.takeError();
  // Gemma 4's merges have ranks, its tokens are SentencePiece's.
  if (*kind == "llama" || *kind == "gemma4") {
    result.set_kind(format::Tokenizer::SENTENCE_PIECE);
    mergesByRank = *kind == "gemma4";
    return llvm::Error::success();
  }
  if (*kind == "bert") {
    setBertRules(result);
    return llvm::Error::success();
  }
  if (*kind != "gpt2")
    return error(kKindKey,
                 "is '" + *kind + "', supported are llama, gpt2, gemma4, bert");
  result.set_kind(format::Tokenizer::BYTE_PAIR);
  mergesByRank = true;
  return readPreTokenizer();
}

llvm::Error TokenizerReader::readPreTokenizer() {
  constexpr StringRef kPreKey = "tokenizer.ggml.pre";
  auto pre = file.findString(kPreKey);
  if (!pre)
    return pre.takeError();
  StringRef name = pre->value_or("default");
  if (!llvm::is_contained(kPreTokenizers, name))
    return error(kPreKey, "is '" + name + "', supported are " +
                              llvm::join(supportedPreTokenizers(), ", "));
  result.set_pre(name.str());
  return llvm::Error::success();
}

llvm::Error TokenizerReader::readTokens() {
  constexpr StringRef kKey = "tokenizer.ggml.tokens";
  auto tokens = file.getStrings(kKey);
  if (!tokens)
    return tokens.takeError();
  if (tokens->empty())
    return error(kKey, "is empty, expected at least one token");
  result.mutable_tokens()->Reserve(static_cast<int>(tokens->size()));
  for (StringRef token : *tokens) {
    if (isWordPiece())
      result.add_tokens(wordPieceSpelling(token));
    else
      result.add_tokens(token.data(), token.size());
  }
  return llvm::Error::success();
}

llvm::Error TokenizerReader::checkCount(StringRef key, size_t found) const {
  if (found == static_cast<size_t>(result.tokens_size()))
    return llvm::Error::success();
  return error(key, "has " + llvm::Twine(found) +
                        " elements, expected one for each of the " +
                        llvm::Twine(result.tokens_size()) + " tokens");
}

llvm::Error TokenizerReader::readScores() {
  constexpr StringRef kKey = "tokenizer.ggml.scores";
  // Files that merge by rank may have scores, which mean nothing.
  if (!isSentencePiece() || mergesByRank || !file.has(kKey))
    return llvm::Error::success();
  auto scores = file.getFloats(kKey);
  if (!scores)
    return scores.takeError();
  for (size_t i = 0; i < scores->size(); ++i)
    if (!std::isfinite((*scores)[i]))
      return error(kKey, "holds a number that is not finite for token " +
                             llvm::Twine(i));
  result.mutable_scores()->Add(scores->begin(), scores->end());
  return checkCount(kKey, scores->size());
}

llvm::Error TokenizerReader::readTypes() {
  constexpr StringRef kKey = "tokenizer.ggml.token_type";
  if (!file.has(kKey))
    return llvm::Error::success();
  auto types = file.getIntegers(kKey);
  if (!types)
    return types.takeError();
  for (int64_t type : *types) {
    if (type < 1 || type > kLastTokenType)
      return error(kKey, "holds " + llvm::Twine(type) + ", allowed are 1 to " +
                             llvm::Twine(kLastTokenType));
    result.add_types(static_cast<uint32_t>(type));
  }
  return checkCount(kKey, types->size());
}

llvm::Error TokenizerReader::readMerges() {
  if (!mergesByRank)
    return llvm::Error::success();
  constexpr StringRef kKey = "tokenizer.ggml.merges";
  auto merges = file.getStrings(kKey);
  if (!merges)
    return merges.takeError();
  for (StringRef merge : *merges) {
    // A symbol may begin with a space, but not be empty.
    size_t space = merge.find(' ', 1);
    if (space == StringRef::npos || space + 1 == merge.size())
      return error(kKey, "holds '" + merge + "', expected 'left right'");
    result.add_merges(merge.data(), merge.size());
  }
  return llvm::Error::success();
}

llvm::Expected<int64_t> TokenizerReader::readId(StringRef key,
                                                int64_t otherwise) const {
  auto id = file.findUnsigned(key);
  if (!id)
    return id.takeError();
  auto numTokens = static_cast<uint64_t>(result.tokens_size());
  if (!*id)
    return otherwise < result.tokens_size() ? otherwise : kNoToken;
  if (**id == kNoTokenInFile)
    return kNoToken;
  if (**id >= numTokens)
    return error(key, "is " + llvm::Twine(**id) + ", allowed are 0 to " +
                          llvm::Twine(numTokens - 1));
  return static_cast<int64_t>(**id);
}

llvm::Error TokenizerReader::readIds() {
  // SentencePiece files that name no ids have its customary ones.
  int64_t bos = isSentencePiece() ? 1 : kNoToken;
  int64_t eos = isSentencePiece() ? 2 : kNoToken;
  int64_t unknown = isSentencePiece() ? 0 : kNoToken;
  int64_t padding = kNoToken, endOfTurn = kNoToken, endOfMessage = kNoToken;
  // BERT's sequences begin with a class token and end with a separator.
  std::pair<StringRef, int64_t *> fields[] = {
      {isWordPiece() ? "tokenizer.ggml.cls_token_id"
                     : "tokenizer.ggml.bos_token_id",
       &bos},
      {isWordPiece() ? "tokenizer.ggml.seperator_token_id" // the key's spelling
                     : "tokenizer.ggml.eos_token_id",
       &eos},
      {"tokenizer.ggml.unknown_token_id", &unknown},
      {"tokenizer.ggml.padding_token_id", &padding},
      {"tokenizer.ggml.eot_token_id", &endOfTurn},
      {"tokenizer.ggml.eom_token_id", &endOfMessage}};
  for (auto [key, id] : fields) {
    auto found = readId(key, *id);
    if (!found)
      return found.takeError();
    *id = *found;
  }
  result.set_bos_id(bos);
  result.set_eos_id(eos);
  result.set_unknown_id(unknown);
  result.set_padding_id(padding);
  setStopIds(result, {eos, endOfTurn, endOfMessage});
  return llvm::Error::success();
}

llvm::Expected<bool> TokenizerReader::readFlag(StringRef key,
                                               bool otherwise) const {
  auto flag = file.findBool(key);
  if (!flag)
    return flag.takeError();
  return flag->value_or(otherwise);
}

llvm::Error TokenizerReader::readFlags() {
  bool beginsWithBos = isSentencePiece() || isWordPiece() ||
                       llvm::is_contained(kBeginWithBos, result.pre());
  auto addBos = readFlag("tokenizer.ggml.add_bos_token", beginsWithBos);
  if (!addBos)
    return addBos.takeError();
  result.set_add_bos(*addBos);
  auto addEos = readFlag("tokenizer.ggml.add_eos_token", isWordPiece());
  if (!addEos)
    return addEos.takeError();
  result.set_add_eos(*addEos);
  auto addSpace =
      readFlag("tokenizer.ggml.add_space_prefix", isSentencePiece());
  if (!addSpace)
    return addSpace.takeError();
  result.set_add_space_prefix(*addSpace);
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::optional<format::Tokenizer>>
readTokenizer(const gguf::GgufFile &file) {
  auto kind = file.findString(kKindKey);
  if (!kind)
    return kind.takeError();
  if (!*kind || **kind == "no_vocab" || **kind == "none")
    return std::optional<format::Tokenizer>();
  TokenizerReader reader(file);
  if (llvm::Error failure = reader.read())
    return failure;
  return std::optional<format::Tokenizer>(std::move(reader.result));
}

ArrayRef<StringRef> supportedPreTokenizers() { return kPreTokenizers; }

} // namespace llmc::importer
