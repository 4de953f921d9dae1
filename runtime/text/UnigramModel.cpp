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
    : vocabulary(vocabulary), tokens(vocabulary) {
  const std::vector<float> &scores = vocabulary.spec().scores;
  unknownScore =
      *std::min_element(scores.begin(), scores.end()) - kUnknownPenalty;
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
  std::vector<PrefixMatch> matches;
  for (size_t begin = 0; begin < word.size();) {
    tokens.find(word.substr(begin), matches);
    size_t character = decodeUtf8(word.substr(begin)).length;
    extend(matches, begin, character, cuts);
    begin += character;
  }
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

void UnigramModel::extend(const std::vector<PrefixMatch> &matches, size_t begin,
                          size_t character, std::vector<Cut> &cuts) const {
  double score = cuts[begin].score;
  bool hasCharacter = false;
  for (const PrefixMatch &match : matches) {
    cuts[begin + match.length].offer(score + vocabulary.spec().scores[match.id],
                                     begin, match.id);
    hasCharacter |= match.length == character;
  }
  if (!hasCharacter)
    cuts[begin + character].offer(score + unknownScore, begin,
                                  static_cast<int32_t>(kNoToken));
}

void UnigramModel::appendNormal(int32_t id, std::string &bytes) const {
  appendUnmarked(vocabulary.spec().tokens[id], bytes);
}

} // namespace llmc::text
