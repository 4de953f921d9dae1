// SPDX-License-Identifier: Apache-2.0
//
// TokenizerUse.h.

#include "test/fuzz/TokenizerUse.h"

#include "runtime/text/Tokenizer.h"
#include "test/fuzz/Fuzz.h"

namespace llmc::fuzz {

namespace {

/// Longer ones only take time.
constexpr size_t kMaxTextBytes = 4096;

void encodeAndDecode(const text::Tokenizer &tokenizer, std::string_view text) {
  text::EncodeOptions options;
  options.addBos = options.addEos = true;
  for (bool parsesSpecial : {false, true}) {
    auto ids = tokenizer.encode(text, parsesSpecial, options);
    if (!ids.ok())
      continue;
    for (int32_t id : *ids)
      FUZZ_CHECK(id >= 0 && id < tokenizer.vocabularySize());
    FUZZ_CHECK(tokenizer.decode(*ids, parsesSpecial).ok());
  }
}

} // namespace

void useTokenizer(const format::Tokenizer &manifest, std::string_view text) {
  auto spec = text::tokenizerSpecFromManifest(manifest);
  if (!spec.ok())
    return;
  auto tokenizer = text::Tokenizer::create(std::move(*spec));
  if (!tokenizer.ok())
    return;
  encodeAndDecode(**tokenizer, text.substr(0, kMaxTextBytes));
  for (std::string_view own :
       {"", "Hello  world\n", "\u00c4pfel <s></s><|im_end|> 123",
        "\xff\xfe \xe6\xad"})
    encodeAndDecode(**tokenizer, own);
}

} // namespace llmc::fuzz
