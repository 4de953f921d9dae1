// SPDX-License-Identifier: Apache-2.0
//
// Plain text to ids for byte-level byte-pair vocabularies.

#include "runtime/text/BytePairModel.h"

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/Utf8.h"

namespace llmc::text {

StatusOr<std::unique_ptr<BytePairModel>>
BytePairModel::create(const Vocabulary &vocabulary) {
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<PreTokenizer> preTokenizer,
                        PreTokenizer::create(vocabulary.spec().pre));
  LLMC_ASSIGN_OR_RETURN(MergeTable merges, MergeTable::create(vocabulary));
  return std::unique_ptr<BytePairModel>(new BytePairModel(
      vocabulary, std::move(preTokenizer), std::move(merges)));
}

BytePairModel::BytePairModel(const Vocabulary &vocabulary,
                             std::unique_ptr<PreTokenizer> preTokenizer,
                             MergeTable table)
    : vocabulary(vocabulary), preTokenizer(std::move(preTokenizer)),
      merges(std::move(table)) {
  for (unsigned byte = 0; byte < 256; ++byte)
    byteSymbols[byte] = merges.symbolOf(spellByte(byte));
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
  mergePairs(symbols, [&](const Symbol &left, const Symbol &right) {
    return merges.find(left.value, right.value);
  });
  for (const Symbol &symbol : symbols) {
    if (isToken(symbol.value)) {
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
  if (!isToken(id)) {
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
