// SPDX-License-Identifier: Apache-2.0
//
// Look-ups over a tokenizer's tokens that both kinds of tokenizer need.

#ifndef LLMC_RUNTIME_TEXT_VOCABULARY_H
#define LLMC_RUNTIME_TEXT_VOCABULARY_H

#include "runtime/text/TokenizerSpec.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace llmc::text {

/// Refers to the spec it was made from, which must outlive it unchanged.
class Vocabulary {
public:
  /// `spec` must be valid.
  explicit Vocabulary(const TokenizerSpec &spec);

  const TokenizerSpec &spec() const { return theSpec; }
  int32_t size() const { return static_cast<int32_t>(theSpec.tokens.size()); }

  /// Id of the token that ordinary text may become by merging, or kNoToken.
  /// Control, unknown, unused and byte tokens are never found: merging must
  /// not produce from a user's text what only markup may say. Where two tokens
  /// are spelt alike, the later one counts.
  int32_t findMergeable(std::string_view text) const;

  /// Id of the token <0xXX> for a byte, or kNoToken.
  int32_t byteToken(uint8_t byte) const { return byteTokens[byte]; }

  /// The byte that token `id` of type Byte stands for, or -1.
  int byteOf(int32_t id) const;

  /// Bytes of the longest mergeable token.
  size_t longestToken() const { return longest; }

private:
  const TokenizerSpec &theSpec;
  std::unordered_map<std::string_view, int32_t> mergeable;
  std::array<int32_t, 256> byteTokens;
  size_t longest = 0;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_VOCABULARY_H
