// SPDX-License-Identifier: Apache-2.0
//
// Byte-level byte-pair encoding: a pre-tokenizer cuts the text into words,
// in each word the pair of the lowest rank merges first.

#ifndef LLMC_RUNTIME_TEXT_BYTEPAIRMODEL_H
#define LLMC_RUNTIME_TEXT_BYTEPAIRMODEL_H

#include "runtime/text/MergeTable.h"
#include "runtime/text/PreTokenizer.h"
#include "runtime/text/TokenModel.h"
#include "runtime/text/Vocabulary.h"

#include <array>
#include <memory>

namespace llmc::text {

class BytePairModel final : public TokenModel {
public:
  /// `vocabulary` must outlive the model. Fails for an unknown pre-tokenizer
  /// and for a merge that is not "left right".
  static StatusOr<std::unique_ptr<BytePairModel>>
  create(const Vocabulary &vocabulary);

  Status encode(std::string_view text,
                std::vector<int32_t> &ids) const override;
  void appendNormal(int32_t id, std::string &bytes) const override;

private:
  BytePairModel(const Vocabulary &vocabulary,
                std::unique_ptr<PreTokenizer> preTokenizer, MergeTable merges);

  bool isToken(int32_t symbol) const {
    return symbol != kNoToken && symbol < vocabulary.size();
  }
  Status encodeWord(std::string_view word, std::vector<int32_t> &ids) const;
  Status appendByte(uint8_t byte, std::vector<int32_t> &ids) const;

  const Vocabulary &vocabulary;
  std::unique_ptr<PreTokenizer> preTokenizer;
  MergeTable merges;
  std::array<int32_t, 256> byteSymbols;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_BYTEPAIRMODEL_H
