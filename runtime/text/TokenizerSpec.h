// SPDX-License-Identifier: Apache-2.0
//
// What a tokenizer is made from, free of the file format it came in.

#ifndef LLMC_RUNTIME_TEXT_TOKENIZERSPEC_H
#define LLMC_RUNTIME_TEXT_TOKENIZERSPEC_H

#include "runtime/format/Status.h"
#include "runtime/text/Normalizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::format {
class Tokenizer;
} // namespace llmc::format

namespace llmc::text {

enum class TokenizerKind {
  SentencePiece, // merges by score or rank; spaces are U+2581; bytes as <0xXX>
  BytePair,      // merges by rank on bytes spelt as printable characters
  WordPiece,     // words from their longest beginnings on
  Unigram,       // the pieces of the largest sum of scores; else SentencePiece
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
  /// Name of the pre-tokenizer: PreTokenizer's for byte pair, empty for
  /// WordPiece, else empty or one that `markedWords` knows.
  std::string pre;
  /// As the model file spells them; the index is the token's id.
  std::vector<std::string> tokens;
  /// One for each token, or none (then all are 0). Larger merges first.
  std::vector<float> scores;
  /// One for each token, or none (then all are normal).
  std::vector<TokenType> types;
  /// "left right", best first; byte pair, and SentencePiece by rank.
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
  /// Then only at the start of the text, not behind special tokens.
  bool spacePrefixAtStartOnly = false;
  /// Then only where the text does not begin with a space.
  bool spacePrefixUnlessThere = false;
  /// Applied to the text between special tokens.
  std::vector<Normalization> normalizations;
  /// Neighbouring characters without a token become one unknown token.
  bool fuseUnknown = false;
  /// Special tokens that take neighbouring white space with them.
  std::vector<int64_t> leftStripIds;
  std::vector<int64_t> rightStripIds;
  /// WordPiece: in front of tokens that go on with a word, and how many
  /// characters a word may have before it is unknown.
  std::string continuingPrefix;
  uint32_t maxWordCharacters = 0;
  /// As the model file has it; empty: none.
  std::string chatTemplate;

  TokenType typeOf(size_t id) const {
    return types.empty() ? TokenType::Normal : types[id];
  }

  /// Checks counts, ids, types and scores, and what a kind needs and may not
  /// have. The sentence names the field, what was found and what is allowed.
  Status validate() const;

private:
  Status validateKind() const;
  Status validateIds() const;
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
