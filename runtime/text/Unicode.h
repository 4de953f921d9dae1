// SPDX-License-Identifier: Apache-2.0
//
// What tokenizers need to know of characters beyond UTF-8: categories, lower
// case, canonical decomposition and composition. The data is Unicode's, of the
// version that UnicodeTables.inc names.

#ifndef LLMC_RUNTIME_TEXT_UNICODE_H
#define LLMC_RUNTIME_TEXT_UNICODE_H

#include <string>
#include <string_view>

namespace llmc::text {

/// Unicode's White_Space.
bool isSpace(char32_t codePoint);

/// Category P, or one of ASCII's printable characters that is neither letter
/// nor digit (`$`, `+`, … are symbols to Unicode).
bool isPunctuation(char32_t codePoint);

/// Category Mn.
bool isNonspacingMark(char32_t codePoint);

/// Category M.
bool isMark(char32_t codePoint);

/// Categories Cc, Cf and Co.
bool isControl(char32_t codePoint);

/// The blocks of Han ideographs, which BERT's vocabularies spell one by one.
bool isHan(char32_t codePoint);

/// Appends the lower case of `codePoint`, whatever stands beside it.
void appendLower(char32_t codePoint, std::u32string &out);

/// Normal form D; in linear time but for sorting runs of marks. Values beyond
/// Unicode stay as they are.
std::u32string decompose(std::u32string_view text);

/// Normal form C of a text in normal form D.
std::u32string compose(std::u32string_view decomposed);

/// First value that `toCodePoints` gives to bytes that are not UTF-8: the byte
/// is the difference.
constexpr char32_t kFirstIllFormed = 0x110000;

/// The characters of `bytes`, and each byte of ill-formed parts as a value of
/// its own, so that `fromCodePoints` gives the bytes back.
std::u32string toCodePoints(std::string_view bytes);
std::string fromCodePoints(std::u32string_view codePoints);

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_UNICODE_H
