// SPDX-License-Identifier: Apache-2.0
//
// Small vocabularies that need no model file.

#ifndef LLMC_TEST_UNIT_RUNTIME_TEXT_TOY_VOCABULARIES_H
#define LLMC_TEST_UNIT_RUNTIME_TEXT_TOY_VOCABULARIES_H

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/Tokenizer.h"
#include "runtime/text/TokenizerSpec.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace llmc::text::test {

inline int32_t addToken(TokenizerSpec &spec, const std::string &spelling,
                        TokenType type = TokenType::Normal, float score = 0) {
  spec.tokens.push_back(spelling);
  spec.types.push_back(type);
  if (spec.kind == TokenizerKind::SentencePiece)
    spec.scores.push_back(score);
  return static_cast<int32_t>(spec.tokens.size()) - 1;
}

/// The id of the last token of that spelling.
inline int32_t idOf(const TokenizerSpec &spec, const std::string &spelling) {
  auto it = std::find(spec.tokens.rbegin(), spec.tokens.rend(), spelling);
  EXPECT_NE(it, spec.tokens.rend()) << spelling;
  return static_cast<int32_t>(spec.tokens.rend() - it) - 1;
}

/// Byte pair: the id of a byte is the byte; then one token for each merge.
inline TokenizerSpec bytePairSpec(const std::vector<std::string> &merges) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::BytePair;
  spec.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte)
    addToken(spec, spellByte(static_cast<uint8_t>(byte)));
  for (const std::string &merge : merges) {
    size_t space = merge.find(' ', 1);
    std::string whole = merge.substr(0, space) + merge.substr(space + 1);
    if (std::find(spec.tokens.begin(), spec.tokens.end(), whole) ==
        spec.tokens.end())
      addToken(spec, whole);
  }
  spec.merges = merges;
  return spec;
}

/// Byte pair with a turn's markers and a user-defined token.
inline TokenizerSpec chatSpec() {
  TokenizerSpec spec =
      bytePairSpec({"h e", "l l", "he ll", "hell o", "\u0120 w", "i m"});
  addToken(spec, "<tool>", TokenType::UserDefined);
  spec.bosId = addToken(spec, "<|im_start|>", TokenType::Control);
  spec.eosId = addToken(spec, "<|im_end|>", TokenType::Control);
  spec.stopIds = {spec.eosId};
  return spec;
}

/// SentencePiece: <unk>, <s>, </s>, the bytes from id 3 on, then pieces, of
/// which the earlier merge first.
inline TokenizerSpec sentencePieceSpec(const std::vector<std::string> &pieces) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::SentencePiece;
  spec.unknownId = addToken(spec, "<unk>", TokenType::Unknown);
  spec.bosId = addToken(spec, "<s>", TokenType::Control);
  spec.eosId = addToken(spec, "</s>", TokenType::Control);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", byte);
    addToken(spec, name, TokenType::Byte);
  }
  float score = 0;
  for (const std::string &piece : pieces)
    addToken(spec, piece, TokenType::Normal, score -= 1);
  spec.stopIds = {spec.eosId};
  spec.addBos = true;
  spec.addSpacePrefix = true;
  return spec;
}

inline std::unique_ptr<Tokenizer> makeTokenizer(TokenizerSpec spec) {
  auto tokenizer = Tokenizer::create(std::move(spec));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return tokenizer.ok() ? std::move(*tokenizer) : nullptr;
}

/// The message with which `spec` is refused; "" if it is not.
inline std::string refusal(TokenizerSpec spec) {
  auto tokenizer = Tokenizer::create(std::move(spec));
  return tokenizer.ok() ? "" : tokenizer.status().message();
}

inline std::vector<int32_t> encode(const Tokenizer &tokenizer,
                                   std::string_view text,
                                   bool parseSpecial = false,
                                   EncodeOptions options = {}) {
  auto ids = tokenizer.encode(text, parseSpecial, options);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return ids.ok() ? *ids : std::vector<int32_t>();
}

inline std::string decode(const Tokenizer &tokenizer,
                          const std::vector<int32_t> &ids,
                          bool showSpecial = false) {
  auto bytes = tokenizer.decode(ids, showSpecial);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? *bytes : std::string();
}

} // namespace llmc::text::test

#endif // LLMC_TEST_UNIT_RUNTIME_TEXT_TOY_VOCABULARIES_H
