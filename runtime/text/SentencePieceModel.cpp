// SPDX-License-Identifier: Apache-2.0
//
// Plain text to ids for SentencePiece vocabularies.

#include "runtime/text/SentencePieceModel.h"

#include "runtime/text/MarkedWords.h"
#include "runtime/text/Utf8.h"

namespace llmc::text {

StatusOr<std::unique_ptr<SentencePieceModel>>
SentencePieceModel::create(const Vocabulary &vocabulary) {
  LLMC_ASSIGN_OR_RETURN(MergeTable merges, MergeTable::create(vocabulary));
  return std::unique_ptr<SentencePieceModel>(
      new SentencePieceModel(vocabulary, std::move(merges)));
}

Status SentencePieceModel::encode(std::string_view text,
                                  std::vector<int32_t> &ids) const {
  PieceWriter writer(vocabulary, ids);
  for (const std::string &word : markedWords(text, vocabulary.spec().pre))
    LLMC_RETURN_IF_ERROR(encodeWord(word, writer));
  return okStatus();
}

Status SentencePieceModel::encodeWord(std::string_view word,
                                      PieceWriter &writer) const {
  std::vector<Symbol> symbols;
  for (size_t at = 0; at < word.size();) {
    size_t length = decodeUtf8(word.substr(at)).length;
    std::string_view character = word.substr(at, length);
    symbols.push_back({at, length,
                       mergesByRank() ? merges.symbolOf(character)
                                      : vocabulary.findMergeable(character)});
    at += length;
  }
  merge(word, symbols);
  for (const Symbol &symbol : symbols) {
    std::string_view rest = word.substr(symbol.begin, symbol.length);
    if (symbol.value != kNoToken && symbol.value < vocabulary.size()) {
      writer.writeToken(symbol.value);
      continue;
    }
    // Merged into something that is no token: its characters, one by one.
    while (!rest.empty()) {
      std::string_view character = rest.substr(0, decodeUtf8(rest).length);
      rest.remove_prefix(character.size());
      if (int32_t id = vocabulary.findMergeable(character); id != kNoToken)
        writer.writeToken(id);
      else
        LLMC_RETURN_IF_ERROR(writer.writeCharacter(character));
    }
  }
  return okStatus();
}

void SentencePieceModel::merge(std::string_view word,
                               std::vector<Symbol> &symbols) const {
  if (mergesByRank()) {
    mergePairs(symbols, [&](const Symbol &left, const Symbol &right) {
      return merges.find(left.value, right.value);
    });
    return;
  }
  const std::vector<float> &scores = vocabulary.spec().scores;
  mergePairs(
      symbols,
      [&](const Symbol &left, const Symbol &right) -> std::optional<Merge> {
        int32_t id = vocabulary.findMergeable(
            word.substr(left.begin, left.length + right.length));
        if (id == kNoToken)
          return std::nullopt;
        return Merge{scores.empty() ? 0.0 : -scores[id], id};
      });
}

void SentencePieceModel::appendNormal(int32_t id, std::string &bytes) const {
  appendUnmarked(vocabulary.spec().tokens[id], bytes);
}

} // namespace llmc::text
