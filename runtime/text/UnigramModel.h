// SPDX-License-Identifier: Apache-2.0
//
// SentencePiece's unigram algorithm: of all ways to cut a word into tokens,
// the one with the largest sum of scores.

#ifndef LLMC_RUNTIME_TEXT_UNIGRAMMODEL_H
#define LLMC_RUNTIME_TEXT_UNIGRAMMODEL_H

#include "runtime/text/PieceWriter.h"
#include "runtime/text/PrefixTable.h"
#include "runtime/text/TokenModel.h"
#include "runtime/text/Vocabulary.h"

namespace llmc::text {

class UnigramModel final : public TokenModel {
public:
  /// `vocabulary` must outlive the model.
  explicit UnigramModel(const Vocabulary &vocabulary);

  Status encode(std::string_view text,
                std::vector<int32_t> &ids) const override;
  void appendNormal(int32_t id, std::string &bytes) const override;

private:
  struct Cut;

  Status encodeWord(std::string_view word, PieceWriter &writer) const;
  /// Offers the pieces that begin at byte `begin`, where a character of that
  /// many bytes stands, to the cuts behind them.
  void extend(const std::vector<PrefixMatch> &matches, size_t begin,
              size_t character, std::vector<Cut> &cuts) const;

  const Vocabulary &vocabulary;
  PrefixTable tokens;
  /// Of a character without a token: far below every token's.
  double unknownScore;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_UNIGRAMMODEL_H
