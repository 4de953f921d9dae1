// SPDX-License-Identifier: Apache-2.0
//
// Plain text to ids for byte-level byte-pair vocabularies.

#include "runtime/text/BytePairModel.h"

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/PairMerger.h"
#include "runtime/text/Utf8.h"

namespace llmc::text {

namespace {

uint64_t pairKey(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) |
         static_cast<uint32_t>(right);
}

/// Gives every spelling a number: the token's id, or one beyond all tokens.
class SymbolNumbers {
public:
  explicit SymbolNumbers(const Vocabulary &vocabulary)
      : vocabulary(vocabulary) {}

  int32_t numberOf(std::string_view spelling) {
    if (int32_t id = vocabulary.findMergeable(spelling); id != kNoToken)
      return id;
    auto next = static_cast<int32_t>(vocabulary.size() + others.size());
    return others.try_emplace(std::string(spelling), next).first->second;
  }

private:
  const Vocabulary &vocabulary;
  std::unordered_map<std::string, int32_t> others;
};

} // namespace

StatusOr<std::unique_ptr<BytePairModel>>
BytePairModel::create(const Vocabulary &vocabulary) {
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<PreTokenizer> preTokenizer,
                        PreTokenizer::create(vocabulary.spec().pre));
  std::unique_ptr<BytePairModel> model(
      new BytePairModel(vocabulary, std::move(preTokenizer)));
  LLMC_RETURN_IF_ERROR(model->readMerges());
  return model;
}

Status BytePairModel::readMerges() {
  const std::vector<std::string> &lines = vocabulary.spec().merges;
  SymbolNumbers numbers(vocabulary);
  for (unsigned byte = 0; byte < 256; ++byte)
    byteSymbols[byte] = numbers.numberOf(spellByte(byte));
  merges.reserve(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    // From 1 on: the left symbol may not be empty.
    size_t space = line.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == line.size())
      return Status(StatusCode::InvalidFile,
                    "tokenizer: merges[" + std::to_string(i) + "] is '" +
                        std::string(line) + "', expected 'left right'");
    std::string left(line.substr(0, space));
    std::string right(line.substr(space + 1));
    int32_t whole = numbers.numberOf(left + right);
    // Of equal merges the first counts: it has the lower rank.
    merges.try_emplace(pairKey(numbers.numberOf(left), numbers.numberOf(right)),
                       RankedMerge{static_cast<uint32_t>(i), whole});
  }
  return okStatus();
}

Status BytePairModel::encode(std::string_view text,
                             std::vector<int32_t> &ids) const {
  LLMC_ASSIGN_OR_RETURN(std::vector<std::string_view> words,
                        preTokenizer->split(text));
  for (std::string_view word : words)
    LLMC_RETURN_IF_ERROR(encodeWord(word, ids));
  return okStatus();
}

Status BytePairModel::encodeWord(std::string_view word,
                                 std::vector<int32_t> &ids) const {
  if (preTokenizer->prefersWholeWords()) {
    // A byte is spelt with at most two.
    if (word.size() <= vocabulary.longestToken()) {
      std::string spelling;
      for (char c : word)
        spelling += spellByte(static_cast<uint8_t>(c));
      if (int32_t id = vocabulary.findMergeable(spelling); id != kNoToken) {
        ids.push_back(id);
        return okStatus();
      }
    }
  }
  std::vector<Symbol> symbols(word.size());
  for (size_t i = 0; i < word.size(); ++i)
    symbols[i] = {i, 1, byteSymbols[static_cast<uint8_t>(word[i])]};
  mergePairs(
      symbols,
      [&](const Symbol &left, const Symbol &right) -> std::optional<Merge> {
        auto it = merges.find(pairKey(left.value, right.value));
        if (it == merges.end())
          return std::nullopt;
        return Merge{static_cast<double>(it->second.rank), it->second.symbol};
      });
  for (const Symbol &symbol : symbols) {
    if (symbol.value < vocabulary.size()) {
      ids.push_back(symbol.value);
      continue;
    }
    for (char c : word.substr(symbol.begin, symbol.length))
      LLMC_RETURN_IF_ERROR(appendByte(static_cast<uint8_t>(c), ids));
  }
  return okStatus();
}

Status BytePairModel::appendByte(uint8_t byte,
                                 std::vector<int32_t> &ids) const {
  int32_t id = byteSymbols[byte];
  if (id >= vocabulary.size()) {
    int64_t unknown = vocabulary.spec().unknownId;
    if (unknown == kNoToken) {
      char c = static_cast<char>(byte);
      return missingTokenError(std::string_view(&c, 1));
    }
    id = static_cast<int32_t>(unknown);
  }
  ids.push_back(id);
  return okStatus();
}

void BytePairModel::appendNormal(int32_t id, std::string &bytes) const {
  std::string_view token = vocabulary.spec().tokens[id];
  while (!token.empty()) {
    Utf8Step step = decodeUtf8(token);
    int byte = step.kind == Utf8Kind::Complete ? readByte(step.codePoint) : -1;
    // A character outside of the alphabet stands for itself.
    if (byte >= 0)
      bytes.push_back(static_cast<char>(byte));
    else
      bytes.append(token.substr(0, step.length));
    token.remove_prefix(step.length);
  }
}

} // namespace llmc::text
