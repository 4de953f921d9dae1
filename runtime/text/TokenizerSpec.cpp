// SPDX-License-Identifier: Apache-2.0
//
// Validation of tokenizer data and its translation from the manifest.

#include "runtime/text/TokenizerSpec.h"

#include "runtime/format/manifest.pb.h"
#include "runtime/text/MarkedWords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace llmc::text {

namespace {

/// Ids are int32 everywhere else.
constexpr size_t kMaxTokens = size_t{1} << 30;

/// Looking for a word's pieces takes the square of it.
constexpr uint32_t kMaxWordCharacters = 10000;

Status invalid(const std::string &sentence) {
  return Status(StatusCode::InvalidFile, "tokenizer: " + sentence);
}

Status checkCount(const char *field, size_t found, size_t numTokens) {
  if (found == 0 || found == numTokens)
    return okStatus();
  return invalid(std::string(field) + " has " + std::to_string(found) +
                 " entries, expected 0 or one for each of the " +
                 std::to_string(numTokens) + " tokens");
}

Status checkId(const char *field, int64_t id, size_t numTokens) {
  if (id >= kNoToken && id < static_cast<int64_t>(numTokens))
    return okStatus();
  return invalid(std::string(field) + " is " + std::to_string(id) +
                 ", allowed are -1 (none) to " + std::to_string(numTokens - 1));
}

Status checkIds(const char *field, const std::vector<int64_t> &ids,
                size_t numTokens) {
  for (int64_t id : ids) {
    LLMC_RETURN_IF_ERROR(checkId(field, id, numTokens));
    if (id == kNoToken)
      return invalid(std::string(field) + " holds -1, expected ids of tokens");
  }
  return okStatus();
}

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         text.substr(text.size() - suffix.size()) == suffix;
}

bool looksLikeMarker(std::string_view text) {
  static constexpr std::array<std::string_view, 9> kMarkers = {
      "<s>",   "</s>",   "<unk>",           "<pad>",        "<bos>",
      "<eos>", "<mask>", "<start_of_turn>", "<end_of_turn>"};
  if (startsWith(text, "<|") && endsWith(text, "|>"))
    return true;
  // U+FF5C, the full-width bar.
  if (startsWith(text, "<\xef\xbd\x9c") && endsWith(text, "\xef\xbd\x9c>"))
    return true;
  return std::find(kMarkers.begin(), kMarkers.end(), text) != kMarkers.end();
}

} // namespace

Status TokenizerSpec::validate() const {
  if (tokens.empty() || tokens.size() > kMaxTokens)
    return invalid("tokens has " + std::to_string(tokens.size()) +
                   " entries, allowed are 1 to " + std::to_string(kMaxTokens));
  LLMC_RETURN_IF_ERROR(checkCount("scores", scores.size(), tokens.size()));
  LLMC_RETURN_IF_ERROR(checkCount("types", types.size(), tokens.size()));
  for (size_t i = 0; i < types.size(); ++i) {
    auto type = static_cast<unsigned>(types[i]);
    if (type < 1 || type > 6)
      return invalid("types[" + std::to_string(i) + "] is " +
                     std::to_string(type) + ", allowed are 1 to 6");
  }
  for (size_t i = 0; i < scores.size(); ++i)
    if (!std::isfinite(scores[i]))
      return invalid("scores[" + std::to_string(i) + "] is not finite");
  for (Normalization step : normalizations)
    if (auto number = static_cast<unsigned>(step);
        number < 1 || number > kNumNormalizations)
      return invalid("normalizations holds " + std::to_string(number) +
                     ", allowed are 1 to " +
                     std::to_string(kNumNormalizations));
  LLMC_RETURN_IF_ERROR(validateKind());
  return validateIds();
}

Status TokenizerSpec::validateKind() const {
  bool hasMerges =
      kind == TokenizerKind::BytePair || kind == TokenizerKind::SentencePiece;
  if (!hasMerges && !merges.empty())
    return invalid("merges has " + std::to_string(merges.size()) +
                   " entries, expected none for this kind");
  if (kind != TokenizerKind::BytePair && !isWordRule(pre))
    return invalid("pre is '" + pre +
                   "', allowed for this kind are '', spaces, words");
  if (kind == TokenizerKind::Unigram && scores.empty())
    return invalid("scores is empty, a unigram model needs them");
  if (kind == TokenizerKind::WordPiece &&
      (maxWordCharacters < 1 || maxWordCharacters > kMaxWordCharacters))
    return invalid("max_word_characters is " +
                   std::to_string(maxWordCharacters) + ", allowed are 1 to " +
                   std::to_string(kMaxWordCharacters));
  if (kind == TokenizerKind::WordPiece && unknownId == kNoToken)
    return invalid("unknown_id is -1, a WordPiece model needs one");
  return okStatus();
}

Status TokenizerSpec::validateIds() const {
  LLMC_RETURN_IF_ERROR(checkId("bos_id", bosId, tokens.size()));
  LLMC_RETURN_IF_ERROR(checkId("eos_id", eosId, tokens.size()));
  LLMC_RETURN_IF_ERROR(checkId("unknown_id", unknownId, tokens.size()));
  LLMC_RETURN_IF_ERROR(checkId("padding_id", paddingId, tokens.size()));
  LLMC_RETURN_IF_ERROR(checkIds("stop_ids", stopIds, tokens.size()));
  LLMC_RETURN_IF_ERROR(checkIds("left_strip_ids", leftStripIds, tokens.size()));
  return checkIds("right_strip_ids", rightStripIds, tokens.size());
}

StatusOr<TokenizerSpec>
tokenizerSpecFromManifest(const format::Tokenizer &manifest) {
  TokenizerSpec spec;
  switch (manifest.kind()) {
  case format::Tokenizer::SENTENCE_PIECE:
    spec.kind = TokenizerKind::SentencePiece;
    break;
  case format::Tokenizer::BYTE_PAIR:
    spec.kind = TokenizerKind::BytePair;
    break;
  case format::Tokenizer::WORD_PIECE:
    spec.kind = TokenizerKind::WordPiece;
    break;
  case format::Tokenizer::UNIGRAM:
    spec.kind = TokenizerKind::Unigram;
    break;
  default:
    return invalid("kind is " +
                   std::to_string(static_cast<int>(manifest.kind())) +
                   ", supported are 1 (SentencePiece), 2 (byte pair), 3 "
                   "(WordPiece) and 4 (unigram)");
  }
  spec.pre = manifest.pre();
  spec.tokens.assign(manifest.tokens().begin(), manifest.tokens().end());
  spec.scores.assign(manifest.scores().begin(), manifest.scores().end());
  spec.types.reserve(manifest.types_size());
  for (uint32_t type : manifest.types())
    spec.types.push_back(static_cast<TokenType>(std::min(type, 255u)));
  spec.merges.assign(manifest.merges().begin(), manifest.merges().end());
  spec.bosId = manifest.bos_id();
  spec.eosId = manifest.eos_id();
  spec.unknownId = manifest.unknown_id();
  spec.paddingId = manifest.padding_id();
  spec.stopIds.assign(manifest.stop_ids().begin(), manifest.stop_ids().end());
  spec.addBos = manifest.add_bos();
  spec.addEos = manifest.add_eos();
  spec.addSpacePrefix = manifest.add_space_prefix();
  spec.chatTemplate = manifest.chat_template();
  spec.spacePrefixAtStartOnly = manifest.space_prefix_at_start_only();
  spec.spacePrefixUnlessThere = manifest.space_prefix_unless_there();
  for (int step : manifest.normalizations())
    spec.normalizations.push_back(
        static_cast<Normalization>(std::clamp(step, 0, 255)));
  spec.fuseUnknown = manifest.fuse_unknown();
  spec.leftStripIds.assign(manifest.left_strip_ids().begin(),
                           manifest.left_strip_ids().end());
  spec.rightStripIds.assign(manifest.right_strip_ids().begin(),
                            manifest.right_strip_ids().end());
  spec.continuingPrefix = manifest.continuing_prefix();
  spec.maxWordCharacters = manifest.max_word_characters();
  LLMC_RETURN_IF_ERROR(spec.validate());
  return spec;
}

bool isSpecialToken(const TokenizerSpec &spec, size_t id) {
  TokenType type = spec.typeOf(id);
  if (type == TokenType::Control || type == TokenType::Unknown)
    return true;
  if (type != TokenType::UserDefined)
    return false;
  return looksLikeMarker(spec.tokens[id]) ||
         std::find(spec.stopIds.begin(), spec.stopIds.end(),
                   static_cast<int64_t>(id)) != spec.stopIds.end();
}

} // namespace llmc::text
