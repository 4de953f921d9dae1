// SPDX-License-Identifier: Apache-2.0
//
// SentencePiece's byte-pair algorithm: the pair whose union is the token of
// the highest score, or the merge of the lowest rank, goes first; characters
// without a token become bytes.

#ifndef LLMC_RUNTIME_TEXT_SENTENCEPIECEMODEL_H
#define LLMC_RUNTIME_TEXT_SENTENCEPIECEMODEL_H

#include "runtime/text/MergeTable.h"
#include "runtime/text/PieceWriter.h"
#include "runtime/text/TokenModel.h"
#include "runtime/text/Vocabulary.h"

#include <memory>

namespace llmc::text {

class SentencePieceModel final : public TokenModel {
public:
  /// `vocabulary` must outlive the model. Fails for a merge that is not "left
  /// right".
  static StatusOr<std::unique_ptr<SentencePieceModel>>
  create(const Vocabulary &vocabulary);

  Status encode(std::string_view text,
                std::vector<int32_t> &ids) const override;
  void appendNormal(int32_t id, std::string &bytes) const override;

private:
  SentencePieceModel(const Vocabulary &vocabulary, MergeTable merges)
      : vocabulary(vocabulary), merges(std::move(merges)) {}

  bool mergesByRank() const { return !vocabulary.spec().merges.empty(); }
  Status encodeWord(std::string_view word, PieceWriter &writer) const;
  void merge(std::string_view word, std::vector<Symbol> &symbols) const;

  const Vocabulary &vocabulary;
  MergeTable merges;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_SENTENCEPIECEMODEL_H
