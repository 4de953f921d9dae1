// SPDX-License-Identifier: Apache-2.0
//
// The well-formed byte sequences are those of table 3-7 of the Unicode
// standard.

#include "runtime/text/Utf8.h"

#include <cstdint>

namespace llmc::text {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd"; // U+FFFD

/// What a leading byte promises: length and the range of the second byte.
struct Lead {
  unsigned length;
  uint8_t secondMin;
  uint8_t secondMax;
};

Lead classifyLead(uint8_t byte) {
  if (byte < 0x80)
    return {1, 0, 0};
  if (byte >= 0xc2 && byte <= 0xdf)
    return {2, 0x80, 0xbf};
  if (byte >= 0xe0 && byte <= 0xef)
    return {3, static_cast<uint8_t>(byte == 0xe0 ? 0xa0 : 0x80),
            static_cast<uint8_t>(byte == 0xed ? 0x9f : 0xbf)};
  if (byte >= 0xf0 && byte <= 0xf4)
    return {4, static_cast<uint8_t>(byte == 0xf0 ? 0x90 : 0x80),
            static_cast<uint8_t>(byte == 0xf4 ? 0x8f : 0xbf)};
  return {0, 0, 0};
}

} // namespace

Utf8Step decodeUtf8(std::string_view bytes) {
  auto first = static_cast<uint8_t>(bytes[0]);
  Lead lead = classifyLead(first);
  if (lead.length == 0)
    return {Utf8Kind::Invalid, 1, 0};
  if (lead.length == 1)
    return {Utf8Kind::Complete, 1, first};
  char32_t codePoint = first & (0x7f >> lead.length);
  for (unsigned i = 1; i < lead.length; ++i) {
    if (i == bytes.size())
      return {Utf8Kind::Incomplete, i, 0};
    auto byte = static_cast<uint8_t>(bytes[i]);
    uint8_t least = i == 1 ? lead.secondMin : 0x80;
    uint8_t most = i == 1 ? lead.secondMax : 0xbf;
    if (byte < least || byte > most)
      return {Utf8Kind::Invalid, i, 0};
    codePoint = (codePoint << 6) | (byte & 0x3f);
  }
  return {Utf8Kind::Complete, lead.length, codePoint};
}

void appendUtf8(char32_t codePoint, std::string &out) {
  auto tail = [&](unsigned shift) {
    out.push_back(static_cast<char>(0x80 | ((codePoint >> shift) & 0x3f)));
  };
  if (codePoint < 0x80) {
    out.push_back(static_cast<char>(codePoint));
  } else if (codePoint < 0x800) {
    out.push_back(static_cast<char>(0xc0 | (codePoint >> 6)));
    tail(0);
  } else if (codePoint < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | (codePoint >> 12)));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xf0 | (codePoint >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string Utf8Stream::push(std::string_view bytes) {
  pending.append(bytes);
  std::string out;
  std::string_view rest = pending;
  while (!rest.empty()) {
    Utf8Step step = decodeUtf8(rest);
    if (step.kind == Utf8Kind::Incomplete)
      break;
    out.append(step.kind == Utf8Kind::Complete ? rest.substr(0, step.length)
                                               : kReplacement);
    rest.remove_prefix(step.length);
  }
  pending.erase(0, pending.size() - rest.size());
  return out;
}

std::string Utf8Stream::finish() {
  bool wasIncomplete = !pending.empty();
  pending.clear();
  return wasIncomplete ? std::string(kReplacement) : std::string();
}

} // namespace llmc::text
