// SPDX-License-Identifier: Apache-2.0
//
// Plain text to ids for SentencePiece vocabularies.

#include "runtime/text/SentencePieceModel.h"

#include "runtime/text/PairMerger.h"
#include "runtime/text/Utf8.h"

namespace llmc::text {

namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81"; // U+2581

std::string markSpaces(std::string_view text) {
  std::string marked;
  marked.reserve(text.size() + text.size() / 2);
  for (char c : text) {
    if (c == ' ')
      marked.append(kSpaceMark);
    else
      marked.push_back(c);
  }
  return marked;
}

} // namespace

Status SentencePieceModel::encode(std::string_view text,
                                  std::vector<int32_t> &ids) const {
  std::string marked = markSpaces(text);
  std::string_view view = marked;
  std::vector<Symbol> symbols;
  for (size_t at = 0; at < view.size();) {
    size_t length = decodeUtf8(view.substr(at)).length;
    symbols.push_back(
        {at, length, vocabulary.findMergeable(view.substr(at, length))});
    at += length;
  }
  const std::vector<float> &scores = vocabulary.spec().scores;
  mergePairs(
      symbols,
      [&](const Symbol &left, const Symbol &right) -> std::optional<Merge> {
        int32_t id = vocabulary.findMergeable(
            view.substr(left.begin, left.length + right.length));
        if (id == kNoToken)
          return std::nullopt;
        return Merge{scores.empty() ? 0.0 : -scores[id], id};
      });
  for (const Symbol &symbol : symbols) {
    if (symbol.value != kNoToken)
      ids.push_back(symbol.value);
    else
      LLMC_RETURN_IF_ERROR(
          appendFallback(view.substr(symbol.begin, symbol.length), ids));
  }
  return okStatus();
}

Status SentencePieceModel::appendFallback(std::string_view symbol,
                                          std::vector<int32_t> &ids) const {
  std::vector<int32_t> bytes;
  for (char c : symbol) {
    int32_t id = vocabulary.byteToken(static_cast<uint8_t>(c));
    if (id == kNoToken)
      break;
    bytes.push_back(id);
  }
  if (bytes.size() == symbol.size()) {
    ids.insert(ids.end(), bytes.begin(), bytes.end());
    return okStatus();
  }
  int64_t unknown = vocabulary.spec().unknownId;
  if (unknown == kNoToken)
    return missingTokenError(symbol);
  ids.push_back(static_cast<int32_t>(unknown));
  return okStatus();
}

void SentencePieceModel::appendNormal(int32_t id, std::string &bytes) const {
  std::string_view token = vocabulary.spec().tokens[id];
  while (!token.empty()) {
    size_t mark = token.find(kSpaceMark);
    bytes.append(token.substr(0, mark));
    if (mark == std::string_view::npos)
      return;
    bytes.push_back(' ');
    token.remove_prefix(mark + kSpaceMark.size());
  }
}

} // namespace llmc::text
