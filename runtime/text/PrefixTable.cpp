// SPDX-License-Identifier: Apache-2.0
//
// The tokens that agree with a text so far are neighbours in the table; each
// byte narrows them down.

#include "runtime/text/PrefixTable.h"

#include <algorithm>

namespace llmc::text {

/// The `at`-th byte of a token, -1 behind its end.
static int byteAt(std::string_view token, size_t at) {
  return at < token.size() ? static_cast<unsigned char>(token[at]) : -1;
}

PrefixTable::PrefixTable(const Vocabulary &vocabulary)
    : vocabulary(vocabulary) {
  const std::vector<std::string> &tokens = vocabulary.spec().tokens;
  for (int32_t id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.findMergeable(tokens[id]) == id)
      sorted.push_back(id);
  std::sort(sorted.begin(), sorted.end(),
            [&](int32_t a, int32_t b) { return tokens[a] < tokens[b]; });
}

void PrefixTable::find(std::string_view text,
                       std::vector<PrefixMatch> &matches) const {
  matches.clear();
  const std::vector<std::string> &tokens = vocabulary.spec().tokens;
  auto first = sorted.begin(), last = sorted.end();
  for (size_t length = 0; length < text.size() && first != last;) {
    int byte = byteAt(text, length);
    first = std::lower_bound(first, last, byte, [&](int32_t id, int value) {
      return byteAt(tokens[id], length) < value;
    });
    last = std::upper_bound(first, last, byte, [&](int value, int32_t id) {
      return value < byteAt(tokens[id], length);
    });
    ++length;
    if (first != last && tokens[*first].size() == length)
      matches.push_back({*first, length});
  }
}

} // namespace llmc::text
