// SPDX-License-Identifier: Apache-2.0
//
// Text to token ids and back, for any bytes.

#ifndef LLMC_RUNTIME_TEXT_TOKENIZER_H
#define LLMC_RUNTIME_TEXT_TOKENIZER_H

#include "runtime/format/Reader.h"
#include "runtime/format/Status.h"
#include "runtime/text/SpecialTokens.h"
#include "runtime/text/TokenModel.h"
#include "runtime/text/TokenizerSpec.h"
#include "runtime/text/Vocabulary.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::text {

/// A part of a prompt. Only in markup may special tokens be named.
struct Segment {
  std::string text;
  bool isMarkup = false;
};

struct EncodeOptions {
  /// BOS in front, if the model wants it and it is not there already.
  bool addBos = false;
  /// EOS at the end, if the model wants it.
  bool addEos = false;
};

/// Immutable; may be used from several threads.
class Tokenizer {
public:
  /// Fails if `spec` is invalid, its pre-tokenizer unknown or a merge is not
  /// readable.
  static StatusOr<std::unique_ptr<Tokenizer>> create(TokenizerSpec spec);
  static StatusOr<std::unique_ptr<Tokenizer>>
  create(const format::Tokenizer &manifest);
  /// Of a file; null: it has none.
  static StatusOr<std::unique_ptr<Tokenizer>> read(const format::Reader &file);

  Tokenizer(const Tokenizer &) = delete;
  Tokenizer &operator=(const Tokenizer &) = delete;

  const TokenizerSpec &spec() const { return theSpec; }
  int32_t vocabularySize() const { return vocabulary.size(); }

  /// The ids of `text`. With `parseSpecial`, spelt-out control tokens become
  /// their ids; without, they are ordinary text, so that a user's text cannot
  /// end a turn. User-defined tokens that are no markers are always found.
  /// Fails only if the vocabulary has neither a token for some byte nor an
  /// unknown token.
  StatusOr<std::vector<int32_t>> encode(std::string_view text,
                                        bool parseSpecial = false,
                                        EncodeOptions options = {}) const;

  /// The ids of `segments` in a row, as if they were one text in which special
  /// tokens are parsed in markup alone.
  StatusOr<std::vector<int32_t>> encode(const std::vector<Segment> &segments,
                                        EncodeOptions options = {}) const;

  /// The bytes `id` stands for, which may be a part of a character. Special
  /// tokens are nothing, or their spelling with `showSpecial`. Fails for ids
  /// out of range.
  StatusOr<std::string> piece(int32_t id, bool showSpecial = false) const;

  /// The bytes of all `ids`. The space that `encode` puts in front for some
  /// models remains.
  StatusOr<std::string> decode(const std::vector<int32_t> &ids,
                               bool showSpecial = false) const;

  /// True if a turn ends with `id`.
  bool isStop(int32_t id) const;

private:
  struct Fragment;

  explicit Tokenizer(TokenizerSpec spec)
      : theSpec(std::move(spec)), vocabulary(theSpec), specialTokens(theSpec) {}

  void cut(const Segment &segment, std::vector<Fragment> &fragments) const;
  bool wantsSpacePrefix(const std::string &text, bool isAtStart) const;

  const TokenizerSpec theSpec;
  const Vocabulary vocabulary;
  const SpecialTokens specialTokens;
  std::unique_ptr<TokenModel> model;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_TOKENIZER_H
