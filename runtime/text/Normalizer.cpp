// SPDX-License-Identifier: Apache-2.0
//
// The steps, on code points.

#include "runtime/text/Normalizer.h"

#include "runtime/text/Unicode.h"

#include <algorithm>

namespace llmc::text {

namespace {

std::u32string cleanControls(std::u32string_view text) {
  std::u32string out;
  for (char32_t c : text) {
    // The other characters of white space that are controls vanish.
    if (c == '\t' || c == '\n' || c == '\r')
      out.push_back(' ');
    else if (c != 0xfffd && !isControl(c))
      out.push_back(isSpace(c) ? U' ' : c);
  }
  return out;
}

std::u32string spaceHan(std::u32string_view text) {
  std::u32string out;
  for (char32_t c : text) {
    if (isHan(c))
      out.append({' ', c, ' '});
    else
      out.push_back(c);
  }
  return out;
}

std::u32string strip(std::u32string text, bool (*isStripped)(char32_t)) {
  text.erase(std::remove_if(text.begin(), text.end(), isStripped), text.end());
  return text;
}

std::u32string lowercase(std::u32string_view text) {
  std::u32string out;
  for (char32_t c : text)
    appendLower(c, out);
  return out;
}

std::u32string apply(Normalization step, std::u32string text) {
  switch (step) {
  case Normalization::Nfc:
    return compose(decompose(text));
  case Normalization::Nfd:
    return decompose(text);
  case Normalization::Lowercase:
    return lowercase(text);
  case Normalization::StripNonspacingMarks:
    return strip(std::move(text), isNonspacingMark);
  case Normalization::StripMarks:
    return strip(std::move(text), isMark);
  case Normalization::CleanControls:
    return cleanControls(text);
  case Normalization::SpaceHan:
    return spaceHan(text);
  }
  return text;
}

/// Below U+0300 every text is in normal form C.
bool mayChangeInNfc(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0xcc;
  });
}

} // namespace

std::string normalize(std::string_view text,
                      const std::vector<Normalization> &steps) {
  bool isNfcAlone = steps.size() == 1 && steps[0] == Normalization::Nfc;
  if (steps.empty() || (isNfcAlone && !mayChangeInNfc(text)))
    return std::string(text);
  std::u32string codePoints = toCodePoints(text);
  for (Normalization step : steps)
    codePoints = apply(step, std::move(codePoints));
  return fromCodePoints(codePoints);
}

} // namespace llmc::text
