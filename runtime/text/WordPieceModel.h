// SPDX-License-Identifier: Apache-2.0
//
// BERT's algorithm: words at white space and punctuation, each taken apart
// into the longest tokens from its beginning on.

#ifndef LLMC_RUNTIME_TEXT_WORDPIECEMODEL_H
#define LLMC_RUNTIME_TEXT_WORDPIECEMODEL_H

#include "runtime/text/PrefixTable.h"
#include "runtime/text/TokenModel.h"
#include "runtime/text/Vocabulary.h"

namespace llmc::text {

class WordPieceModel final : public TokenModel {
public:
  /// `vocabulary` must outlive the model.
  explicit WordPieceModel(const Vocabulary &vocabulary)
      : vocabulary(vocabulary), tokens(vocabulary) {}

  /// A word that cannot be taken apart is one unknown token.
  Status encode(std::string_view text,
                std::vector<int32_t> &ids) const override;

  /// A space stands in front of tokens that begin a word.
  void appendNormal(int32_t id, std::string &bytes) const override;

private:
  void encodeWord(std::string_view word, std::vector<int32_t> &ids) const;
  int32_t findLongest(std::string_view word, size_t &begin,
                      std::vector<PrefixMatch> &matches) const;

  const Vocabulary &vocabulary;
  PrefixTable tokens;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_WORDPIECEMODEL_H
