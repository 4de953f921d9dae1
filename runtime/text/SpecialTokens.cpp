// SPDX-License-Identifier: Apache-2.0
//
// A linear search by first byte: vocabularies have few such tokens.

#include "runtime/text/SpecialTokens.h"

#include <algorithm>

namespace llmc::text {

SpecialTokens::SpecialTokens(const TokenizerSpec &spec) {
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    bool isSpecial = isSpecialToken(spec, i);
    if (!isSpecial && spec.typeOf(i) != TokenType::UserDefined)
      continue;
    std::string_view spelling = spec.tokens[i];
    if (spelling.empty())
      continue;
    byFirstByte[static_cast<uint8_t>(spelling[0])].push_back(
        {spelling, static_cast<int32_t>(i), isSpecial});
  }
  for (std::vector<Entry> &entries : byFirstByte)
    std::sort(entries.begin(), entries.end(),
              [](const Entry &a, const Entry &b) {
                return a.spelling.size() != b.spelling.size()
                           ? a.spelling.size() > b.spelling.size()
                           : a.id < b.id;
              });
}

SpecialTokens::Match SpecialTokens::find(std::string_view text, size_t from,
                                         bool parseSpecial) const {
  for (size_t at = from; at < text.size(); ++at)
    for (const Entry &entry : byFirstByte[static_cast<uint8_t>(text[at])])
      if ((parseSpecial || !entry.isSpecial) &&
          text.compare(at, entry.spelling.size(), entry.spelling) == 0)
        return {at, entry.spelling.size(), entry.id};
  return {text.size(), 0, 0};
}

} // namespace llmc::text
