// SPDX-License-Identifier: Apache-2.0
//
// The best cut by dynamic programming over the word's bytes. Sums are double,
// and of equal ones that with the longer last token stays, as in the
// libraries that these vocabularies come from.

#include "runtime/text/UnigramModel.h"

#include "runtime/text/MarkedWords.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace llmc::text {

namespace {

/// What a character without a token costs beyond the worst token.
constexpr double kUnknownPenalty = 10.0;

/// The `at`-th byte of a token, -1 behind its end.
int byteAt(std::string_view token, size_t at) {
  return at < token.size() ? static_cast<unsigned char>(token[at]) : -1;
}

} // namespace

/// The best way to reach a byte of the word.
struct UnigramModel::Cut {
  static constexpr size_t kUnreached = SIZE_MAX;

  double score = 0;
  size_t begin = kUnreached; // of the last piece
  int32_t id = kNoToken;     // of the last piece; none: an unknown character

  void offer(double otherScore, size_t otherBegin, int32_t otherId) {
    if (begin == kUnreached || otherScore > score)
      *this = {otherScore, otherBegin, otherId};
  }
};

UnigramModel::UnigramModel(const Vocabulary &vocabulary)
    : vocabulary(vocabulary) {
  const TokenizerSpec &spec = vocabulary.spec();
  for (int32_t id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.findMergeable(spec.tokens[id]) == id)
      sorted.push_back(id);
  std::sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) {
    return spec.tokens[a] < spec.tokens[b];
  });
  unknownScore = *std::min_element(spec.scores.begin(), spec.scores.end()) -
                 kUnknownPenalty;
}

Status UnigramModel::encode(std::string_view text,
                            std::vector<int32_t> &ids) const {
  PieceWriter writer(vocabulary, ids);
  for (const std::string &word : markedWords(text, vocabulary.spec().pre))
    LLMC_RETURN_IF_ERROR(encodeWord(word, writer));
  return okStatus();
}

Status UnigramModel::encodeWord(std::string_view word,
                                PieceWriter &writer) const {
  std::vector<Cut> cuts(word.size() + 1);
  for (size_t begin = 0; begin < word.size();
       begin += decodeUtf8(word.substr(begin)).length)
    extend(word, begin, cuts);
  std::vector<size_t> ends;
  for (size_t end = word.size(); end > 0; end = cuts[end].begin)
    ends.push_back(end);
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    const Cut &cut = cuts[*end];
    if (cut.id != kNoToken)
      writer.writeToken(cut.id);
    else
      LLMC_RETURN_IF_ERROR(
          writer.writeCharacter(word.substr(cut.begin, *end - cut.begin)));
  }
  return okStatus();
}

void UnigramModel::extend(std::string_view word, size_t begin,
                          std::vector<Cut> &cuts) const {
  const TokenizerSpec &spec = vocabulary.spec();
  double score = cuts[begin].score;
  size_t character = decodeUtf8(word.substr(begin)).length;
  bool hasCharacter = false;
  // The tokens that agree with the word so far are neighbours.
  auto first = sorted.begin(), last = sorted.end();
  for (size_t length = 0; begin + length < word.size() && first != last;) {
    int byte = byteAt(word, begin + length);
    first = std::lower_bound(first, last, byte, [&](int32_t id, int value) {
      return byteAt(spec.tokens[id], length) < value;
    });
    last = std::upper_bound(first, last, byte, [&](int value, int32_t id) {
      return value < byteAt(spec.tokens[id], length);
    });
    ++length;
    if (first == last || spec.tokens[*first].size() != length)
      continue;
    cuts[begin + length].offer(score + spec.scores[*first], begin, *first);
    hasCharacter |= length == character;
  }
  if (!hasCharacter)
    cuts[begin + character].offer(score + unknownScore, begin,
                                  static_cast<int32_t>(kNoToken));
}

void UnigramModel::appendNormal(int32_t id, std::string &bytes) const {
  appendUnmarked(vocabulary.spec().tokens[id], bytes);
}

} // namespace llmc::text
