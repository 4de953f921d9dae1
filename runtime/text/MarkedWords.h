// SPDX-License-Identifier: Apache-2.0
//
// How SentencePiece's vocabularies write spaces: as U+2581, at the beginning
// of words.

#ifndef LLMC_RUNTIME_TEXT_MARKEDWORDS_H
#define LLMC_RUNTIME_TEXT_MARKEDWORDS_H

#include <string>
#include <string_view>
#include <vector>

namespace llmc::text {

/// True for the rules of `markedWords`.
bool isWordRule(std::string_view rule);

/// `text` with marks for spaces, cut into stretches that are encoded one by
/// one: rule "" leaves it whole, "spaces" cuts before each mark, "words" cuts
/// at white space of any kind, of which nothing is left but one mark in front
/// of each word.
std::vector<std::string> markedWords(std::string_view text,
                                     std::string_view rule);

/// Appends `token` with its marks turned back into spaces.
void appendUnmarked(std::string_view token, std::string &bytes);

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_MARKEDWORDS_H
