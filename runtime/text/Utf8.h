// SPDX-License-Identifier: Apache-2.0
//
// UTF-8, one character at a time, with a defined answer for every byte string.

#ifndef LLMC_RUNTIME_TEXT_UTF8_H
#define LLMC_RUNTIME_TEXT_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace llmc::text {

enum class Utf8Kind {
  Complete,   // a well-formed character
  Incomplete, // all bytes so far may begin one, but the string ends
  Invalid,    // no continuation makes these bytes a character
};

/// The first character of a string.
struct Utf8Step {
  Utf8Kind kind;
  /// Bytes it takes, ≥ 1. When invalid, the longest beginning of a character
  /// (Unicode's "maximal subpart").
  size_t length;
  /// Only when complete.
  char32_t codePoint;
};

/// Decodes the start of `bytes`, which must not be empty. Overlong forms,
/// surrogates and values above U+10FFFF are invalid.
Utf8Step decodeUtf8(std::string_view bytes);

/// Appends `codePoint` (≤ U+10FFFF) to `out`.
void appendUtf8(char32_t codePoint, std::string &out);

/// Turns the bytes of generated tokens into text that can be shown at once:
/// only whole characters come out, a character split over tokens is held back.
/// Each maximal ill-formed part becomes one U+FFFD as soon as it is certain.
/// Who needs the raw bytes takes them from the tokenizer.
class Utf8Stream {
public:
  /// Adds `bytes`; returns the characters that are complete now.
  std::string push(std::string_view bytes);

  /// Ends the stream; returns one U+FFFD if a character was left incomplete,
  /// else nothing. The stream is empty afterwards and may be used again.
  std::string finish();

private:
  std::string pending;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_UTF8_H
