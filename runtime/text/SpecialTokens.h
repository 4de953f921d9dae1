// SPDX-License-Identifier: Apache-2.0
//
// Finds tokens that are spelt out in text and are never made by merging.

#ifndef LLMC_RUNTIME_TEXT_SPECIALTOKENS_H
#define LLMC_RUNTIME_TEXT_SPECIALTOKENS_H

#include "runtime/text/TokenizerSpec.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace llmc::text {

/// Refers to the spec it was made from, which must outlive it unchanged.
class SpecialTokens {
public:
  /// Collects user-defined tokens and those for which `isSpecialToken` holds.
  explicit SpecialTokens(const TokenizerSpec &spec);

  struct Match {
    size_t begin;
    size_t length;
    int32_t id;
  };

  /// The leftmost token in `text` at or after `from`, of those that begin
  /// there the longest, together with the white space that it takes with it;
  /// length 0: there is none. Special ones count only with
  /// `parseSpecial`; user-defined ones that are not special always do, as
  /// SentencePiece has it.
  Match find(std::string_view text, size_t from, bool parseSpecial) const;

private:
  struct Entry {
    std::string_view spelling;
    int32_t id;
    bool isSpecial;
    bool stripsLeft;
    bool stripsRight;
  };

  /// By the first byte, the longest first.
  std::array<std::vector<Entry>, 256> byFirstByte;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_SPECIALTOKENS_H
