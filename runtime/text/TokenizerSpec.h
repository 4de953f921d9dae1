// SPDX-License-Identifier: Apache-2.0
//
// What a tokenizer is made from, free of the file format it came in.

#ifndef LLMC_RUNTIME_TEXT_TOKENIZERSPEC_H
#define LLMC_RUNTIME_TEXT_TOKENIZERSPEC_H

#include "runtime/format/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::format {
class Tokenizer;
} // namespace llmc::format

namespace llmc::text {

enum class TokenizerKind {
  SentencePiece, // merges by score; spaces are U+2581; bytes as <0xXX>
  BytePair,      // merges by rank on bytes spelt as printable characters
};

/// The numbers are those of model files.
enum class TokenType : uint8_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6,
};

constexpr int64_t kNoToken = -1;

struct TokenizerSpec {
  TokenizerKind kind = TokenizerKind::BytePair;
  /// Name of the pre-tokenizer; only byte pair tokenizers have one.
  std::string pre;
  /// As the model file spells them; the index is the token's id.
  std::vector<std::string> tokens;
  /// One for each token, or none (then all are 0). Larger merges first.
  std::vector<float> scores;
  /// One for each token, or none (then all are normal).
  std::vector<TokenType> types;
  /// "left right", best first; byte pair only.
  std::vector<std::string> merges;
  int64_t bosId = kNoToken;
  int64_t eosId = kNoToken;
  int64_t unknownId = kNoToken;
  int64_t paddingId = kNoToken;
  /// Ids that end a turn.
  std::vector<int64_t> stopIds;
  bool addBos = false;
  bool addEos = false;
  bool addSpacePrefix = false;
  /// As the model file has it; empty: none.
  std::string chatTemplate;

  TokenType typeOf(size_t id) const {
    return types.empty() ? TokenType::Normal : types[id];
  }

  /// Checks counts, ids, types and scores. The sentence names the field, what
  /// was found and what is allowed.
  Status validate() const;
};

/// The spec of a manifest's tokenizer, validated.
StatusOr<TokenizerSpec>
tokenizerSpecFromManifest(const format::Tokenizer &manifest);

/// True for a token that text may only name where the caller trusts it:
/// control and unknown tokens, and user-defined ones that are stop ids or
/// look like markers of turns (`<|…|>`, `</s>` and similar), because files
/// are not careful about the type of those.
bool isSpecialToken(const TokenizerSpec &spec, size_t id);

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_TOKENIZERSPEC_H
