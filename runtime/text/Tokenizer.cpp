// SPDX-License-Identifier: Apache-2.0
//
// Cuts out special tokens, gives the rest to the model, and puts ids together.

#include "runtime/text/Tokenizer.h"

#include "runtime/text/BytePairModel.h"
#include "runtime/text/SentencePieceModel.h"
#include "runtime/text/UnigramModel.h"
#include "runtime/text/WordPieceModel.h"

#include <algorithm>

namespace llmc::text {

static StatusOr<std::unique_ptr<TokenModel>>
createModel(const Vocabulary &vocabulary) {
  std::unique_ptr<TokenModel> model;
  switch (vocabulary.spec().kind) {
  case TokenizerKind::SentencePiece: {
    LLMC_ASSIGN_OR_RETURN(model, SentencePieceModel::create(vocabulary));
    break;
  }
  case TokenizerKind::BytePair: {
    LLMC_ASSIGN_OR_RETURN(model, BytePairModel::create(vocabulary));
    break;
  }
  case TokenizerKind::WordPiece:
    model = std::make_unique<WordPieceModel>(vocabulary);
    break;
  case TokenizerKind::Unigram:
    model = std::make_unique<UnigramModel>(vocabulary);
    break;
  }
  return model;
}

/// A token found by its spelling, or a stretch of text for the model.
struct Tokenizer::Fragment {
  int32_t id = kNoToken;
  std::string text;
};

StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::create(TokenizerSpec spec) {
  LLMC_RETURN_IF_ERROR(spec.validate());
  std::unique_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(spec)));
  LLMC_ASSIGN_OR_RETURN(tokenizer->model, createModel(tokenizer->vocabulary));
  return tokenizer;
}

StatusOr<std::unique_ptr<Tokenizer>>
Tokenizer::create(const format::Tokenizer &manifest) {
  LLMC_ASSIGN_OR_RETURN(TokenizerSpec spec,
                        tokenizerSpecFromManifest(manifest));
  return create(std::move(spec));
}

StatusOr<std::unique_ptr<Tokenizer>>
Tokenizer::read(const format::Reader &file) {
  if (!file.hasTokenizer())
    return std::unique_ptr<Tokenizer>();
  LLMC_ASSIGN_OR_RETURN(const auto message, file.readTokenizer());
  return create(**message);
}

void Tokenizer::cut(const Segment &segment,
                    std::vector<Fragment> &fragments) const {
  std::string_view text = segment.text;
  for (size_t at = 0; at < text.size();) {
    SpecialTokens::Match match = specialTokens.find(text, at, segment.isMarkup);
    if (match.begin > at) {
      // Text goes on over the borders of segments.
      if (fragments.empty() || fragments.back().id != kNoToken)
        fragments.emplace_back();
      fragments.back().text.append(text.substr(at, match.begin - at));
    }
    if (match.length != 0)
      fragments.push_back({match.id, {}});
    at = match.begin + match.length;
  }
}

bool Tokenizer::wantsSpacePrefix(const std::string &text,
                                 bool isAtStart) const {
  bool marksSpaces = theSpec.kind == TokenizerKind::SentencePiece ||
                     theSpec.kind == TokenizerKind::Unigram;
  if (!marksSpaces || !theSpec.addSpacePrefix)
    return false;
  if (theSpec.spacePrefixAtStartOnly && !isAtStart)
    return false;
  return !theSpec.spacePrefixUnlessThere || text.empty() || text[0] != ' ';
}

StatusOr<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                                 bool parseSpecial,
                                                 EncodeOptions options) const {
  return encode({Segment{std::string(text), parseSpecial}}, options);
}

StatusOr<std::vector<int32_t>>
Tokenizer::encode(const std::vector<Segment> &segments,
                  EncodeOptions options) const {
  std::vector<Fragment> fragments;
  for (const Segment &segment : segments)
    cut(segment, fragments);

  std::vector<int32_t> ids;
  bool beginsWithBos = !fragments.empty() && fragments[0].id != kNoToken &&
                       fragments[0].id == theSpec.bosId;
  if (options.addBos && theSpec.addBos && theSpec.bosId != kNoToken &&
      !beginsWithBos)
    ids.push_back(static_cast<int32_t>(theSpec.bosId));

  for (size_t i = 0; i < fragments.size(); ++i) {
    const Fragment &fragment = fragments[i];
    if (fragment.id != kNoToken) {
      ids.push_back(fragment.id);
      continue;
    }
    std::string text = normalize(fragment.text, theSpec.normalizations);
    if (wantsSpacePrefix(text, /*isAtStart=*/i == 0))
      text.insert(text.begin(), ' ');
    LLMC_RETURN_IF_ERROR(model->encode(text, ids));
  }
  if (options.addEos && theSpec.addEos && theSpec.eosId != kNoToken)
    ids.push_back(static_cast<int32_t>(theSpec.eosId));
  return ids;
}

StatusOr<std::string> Tokenizer::piece(int32_t id, bool showSpecial) const {
  if (id < 0 || id >= vocabularySize())
    return Status(StatusCode::InvalidArgument,
                  "token id is " + std::to_string(id) + ", allowed are 0 to " +
                      std::to_string(vocabularySize() - 1));
  const std::string &token = theSpec.tokens[id];
  if (isSpecialToken(theSpec, id))
    return showSpecial ? token : std::string();
  TokenType type = theSpec.typeOf(id);
  if (type == TokenType::UserDefined && theSpec.kind == TokenizerKind::BytePair)
    return token;
  if (int byte = vocabulary.byteOf(id); byte >= 0)
    return std::string(1, static_cast<char>(byte));
  std::string bytes;
  model->appendNormal(id, bytes);
  return bytes;
}

StatusOr<std::string> Tokenizer::decode(const std::vector<int32_t> &ids,
                                        bool showSpecial) const {
  std::string bytes;
  for (int32_t id : ids) {
    LLMC_ASSIGN_OR_RETURN(std::string part, piece(id, showSpecial));
    bytes += part;
  }
  return bytes;
}

bool Tokenizer::isStop(int32_t id) const {
  return std::find(theSpec.stopIds.begin(), theSpec.stopIds.end(), id) !=
         theSpec.stopIds.end();
}

} // namespace llmc::text
