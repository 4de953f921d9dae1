// SPDX-License-Identifier: Apache-2.0
//
// Builds the look-up tables of a vocabulary.

#include "runtime/text/Vocabulary.h"

#include <algorithm>

namespace llmc::text {

namespace {

int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return -1;
}

/// The byte that "<0xXX>" spells, or -1.
int parseByteToken(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>')
    return -1;
  int high = hexDigit(text[3]);
  int low = hexDigit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

} // namespace

Vocabulary::Vocabulary(const TokenizerSpec &spec) : theSpec(spec) {
  byteTokens.fill(kNoToken);
  mergeable.reserve(spec.tokens.size());
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const std::string &token = spec.tokens[i];
    auto id = static_cast<int32_t>(i);
    TokenType type = spec.typeOf(i);
    if (type == TokenType::Byte) {
      if (int byte = parseByteToken(token); byte >= 0)
        byteTokens[byte] = id;
      continue;
    }
    if (type == TokenType::Unused || isSpecialToken(spec, i) || token.empty())
      continue;
    mergeable[token] = id;
    longest = std::max(longest, token.size());
  }
}

int32_t Vocabulary::findMergeable(std::string_view text) const {
  if (text.size() > longest)
    return kNoToken;
  auto it = mergeable.find(text);
  return it == mergeable.end() ? kNoToken : it->second;
}

int Vocabulary::byteOf(int32_t id) const {
  return theSpec.typeOf(id) == TokenType::Byte
             ? parseByteToken(theSpec.tokens[id])
             : -1;
}

} // namespace llmc::text
