// SPDX-License-Identifier: Apache-2.0
//
// Plain, normalised text to ids for WordPiece vocabularies.

#include "runtime/text/WordPieceModel.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace llmc::text {

namespace {

/// Punctuation is a word of its own, each character.
std::vector<std::string_view> cutWords(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  auto endWord = [&](size_t end) {
    if (end > begin)
      words.push_back(text.substr(begin, end - begin));
  };
  for (size_t at = 0; at < text.size();) {
    Utf8Step step = decodeUtf8(text.substr(at));
    size_t next = at + step.length;
    bool isCharacter = step.kind == Utf8Kind::Complete;
    if (isCharacter && isSpace(step.codePoint)) {
      endWord(at);
      begin = next;
    } else if (isCharacter && isPunctuation(step.codePoint)) {
      endWord(at);
      begin = at;
      endWord(next);
      begin = next;
    }
    at = next;
  }
  endWord(text.size());
  return words;
}

bool continuesCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

} // namespace

Status WordPieceModel::encode(std::string_view text,
                              std::vector<int32_t> &ids) const {
  for (std::string_view word : cutWords(text))
    encodeWord(word, ids);
  return okStatus();
}

void WordPieceModel::encodeWord(std::string_view word,
                                std::vector<int32_t> &ids) const {
  const TokenizerSpec &spec = vocabulary.spec();
  auto unknown = static_cast<int32_t>(spec.unknownId);
  size_t numCharacters =
      word.size() - std::count_if(word.begin(), word.end(), continuesCharacter);
  if (numCharacters > spec.maxWordCharacters) {
    ids.push_back(unknown);
    return;
  }
  size_t numBefore = ids.size();
  std::vector<PrefixMatch> matches;
  for (size_t begin = 0; begin < word.size();) {
    int32_t id = findLongest(word, begin, matches);
    if (id == kNoToken) {
      ids.resize(numBefore);
      ids.push_back(unknown);
      return;
    }
    ids.push_back(id);
  }
}

int32_t WordPieceModel::findLongest(std::string_view word, size_t &begin,
                                    std::vector<PrefixMatch> &matches) const {
  std::string spelling;
  if (begin > 0)
    spelling = vocabulary.spec().continuingPrefix;
  size_t prefix = spelling.size();
  spelling += word.substr(begin, vocabulary.longestToken());
  tokens.find(spelling, matches);
  // A token that is the prefix alone says nothing of the word.
  if (matches.empty() || matches.back().length <= prefix)
    return kNoToken;
  begin += matches.back().length - prefix;
  return matches.back().id;
}

void WordPieceModel::appendNormal(int32_t id, std::string &bytes) const {
  std::string_view token = vocabulary.spec().tokens[id];
  std::string_view prefix = vocabulary.spec().continuingPrefix;
  if (!prefix.empty() && token.substr(0, prefix.size()) == prefix) {
    bytes.append(token.substr(prefix.size()));
    return;
  }
  bytes.push_back(' ');
  bytes.append(token);
}

} // namespace llmc::text
