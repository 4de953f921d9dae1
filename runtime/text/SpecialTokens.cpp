// SPDX-License-Identifier: Apache-2.0
//
// A linear search by first byte: vocabularies have few such tokens.

#include "runtime/text/SpecialTokens.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace llmc::text {

namespace {

bool contains(const std::vector<int64_t> &ids, size_t id) {
  return std::find(ids.begin(), ids.end(), static_cast<int64_t>(id)) !=
         ids.end();
}

bool isSpaceStep(const Utf8Step &step) {
  return step.kind == Utf8Kind::Complete && isSpace(step.codePoint);
}

/// Bytes of the white space that `text` begins with.
size_t lengthOfSpaces(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    Utf8Step step = decodeUtf8(text.substr(at));
    if (!isSpaceStep(step))
      break;
    at += step.length;
  }
  return at;
}

/// Bytes of `text` without the white space that it ends with.
size_t lengthBeforeSpaces(std::string_view text) {
  size_t length = 0;
  for (size_t at = 0; at < text.size();) {
    Utf8Step step = decodeUtf8(text.substr(at));
    at += step.length;
    if (!isSpaceStep(step))
      length = at;
  }
  return length;
}

} // namespace

SpecialTokens::SpecialTokens(const TokenizerSpec &spec) {
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    bool isSpecial = isSpecialToken(spec, i);
    if (!isSpecial && spec.typeOf(i) != TokenType::UserDefined)
      continue;
    std::string_view spelling = spec.tokens[i];
    if (spelling.empty())
      continue;
    byFirstByte[static_cast<uint8_t>(spelling[0])].push_back(
        {spelling, static_cast<int32_t>(i), isSpecial,
         contains(spec.leftStripIds, i), contains(spec.rightStripIds, i)});
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
          text.compare(at, entry.spelling.size(), entry.spelling) == 0) {
        size_t begin = at;
        size_t end = at + entry.spelling.size();
        if (entry.stripsLeft)
          begin = from + lengthBeforeSpaces(text.substr(from, at - from));
        if (entry.stripsRight)
          end += lengthOfSpaces(text.substr(end));
        return {begin, end - begin, entry.id};
      }
  return {text.size(), 0, 0};
}

} // namespace llmc::text
