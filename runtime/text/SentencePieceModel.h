// SPDX-License-Identifier: Apache-2.0
//
// SentencePiece's byte-pair algorithm: the pair whose union is the token of
// the highest score merges first; characters without a token become bytes.

#ifndef LLMC_RUNTIME_TEXT_SENTENCEPIECEMODEL_H
#define LLMC_RUNTIME_TEXT_SENTENCEPIECEMODEL_H

#include "runtime/text/TokenModel.h"
#include "runtime/text/Vocabulary.h"

namespace llmc::text {

class SentencePieceModel final : public TokenModel {
public:
  /// `vocabulary` must outlive the model.
  explicit SentencePieceModel(const Vocabulary &vocabulary)
      : vocabulary(vocabulary) {}

  Status encode(std::string_view text,
                std::vector<int32_t> &ids) const override;
  void appendNormal(int32_t id, std::string &bytes) const override;

private:
  Status appendFallback(std::string_view symbol,
                        std::vector<int32_t> &ids) const;

  const Vocabulary &vocabulary;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_SENTENCEPIECEMODEL_H
