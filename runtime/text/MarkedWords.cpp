// SPDX-License-Identifier: Apache-2.0
//
// MarkedWords.h.

#include "runtime/text/MarkedWords.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

namespace llmc::text {

namespace {

constexpr std::string_view kMark = "\xe2\x96\x81"; // U+2581

std::vector<std::string> cutBeforeMarks(std::string_view marked) {
  std::vector<std::string> words;
  while (!marked.empty()) {
    std::string_view word = marked.substr(0, marked.find(kMark, 1));
    words.emplace_back(word);
    marked.remove_prefix(word.size());
  }
  return words;
}

std::vector<std::string> cutAtWhiteSpace(std::string_view text) {
  std::vector<std::string> words;
  bool isInWord = false;
  while (!text.empty()) {
    Utf8Step step = decodeUtf8(text);
    bool isInside = step.kind != Utf8Kind::Complete || !isSpace(step.codePoint);
    if (isInside && !isInWord)
      words.emplace_back(kMark);
    if (isInside)
      words.back().append(text.substr(0, step.length));
    isInWord = isInside;
    text.remove_prefix(step.length);
  }
  return words;
}

} // namespace

bool isWordRule(std::string_view rule) {
  return rule.empty() || rule == "spaces" || rule == "words";
}

std::vector<std::string> markedWords(std::string_view text,
                                     std::string_view rule) {
  if (rule == "words")
    return cutAtWhiteSpace(text);
  std::string marked;
  marked.reserve(text.size() + text.size() / 2);
  for (char c : text) {
    if (c == ' ')
      marked.append(kMark);
    else
      marked.push_back(c);
  }
  if (rule == "spaces")
    return cutBeforeMarks(marked);
  return {std::move(marked)};
}

void appendUnmarked(std::string_view token, std::string &bytes) {
  while (!token.empty()) {
    size_t mark = token.find(kMark);
    bytes.append(token.substr(0, mark));
    if (mark == std::string_view::npos)
      return;
    bytes.push_back(' ');
    token.remove_prefix(mark + kMark.size());
  }
}

} // namespace llmc::text
