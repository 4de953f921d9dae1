// SPDX-License-Identifier: Apache-2.0
//
// Cuts text into the words within which a byte-pair tokenizer merges.

#ifndef LLMC_RUNTIME_TEXT_PRETOKENIZER_H
#define LLMC_RUNTIME_TEXT_PRETOKENIZER_H

#include "runtime/format/Status.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::text {

/// Immutable; may be used from several threads.
class PreTokenizer {
public:
  /// The rules that model files call `name` (empty: "default"). An unknown
  /// name is refused, with the names that are supported.
  static StatusOr<std::unique_ptr<PreTokenizer>> create(std::string_view name);

  ~PreTokenizer();
  PreTokenizer(const PreTokenizer &) = delete;
  PreTokenizer &operator=(const PreTokenizer &) = delete;

  /// Cuts `text`, which may be any bytes, into words that together are the
  /// text. Bytes that are not UTF-8 become words of their own.
  StatusOr<std::vector<std::string_view>> split(std::string_view text) const;

  /// True if a word that is a token stays whole even where merging would not
  /// arrive at that token.
  bool prefersWholeWords() const { return wholeWords; }

private:
  struct Pattern;

  PreTokenizer() = default;

  std::vector<Pattern> patterns;
  bool wholeWords = false;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_PRETOKENIZER_H
