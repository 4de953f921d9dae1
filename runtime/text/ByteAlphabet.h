// SPDX-License-Identifier: Apache-2.0
//
// The printable characters by which byte-level vocabularies spell bytes: a
// printable Latin-1 byte is itself, the other 68 are U+0100, U+0101, … in
// order (the table of GPT-2).

#ifndef LLMC_RUNTIME_TEXT_BYTEALPHABET_H
#define LLMC_RUNTIME_TEXT_BYTEALPHABET_H

#include <cstdint>
#include <string>

namespace llmc::text {

/// The character for `byte`, as UTF-8 (one or two bytes).
const std::string &spellByte(uint8_t byte);

/// The byte that `codePoint` spells, or -1.
int readByte(char32_t codePoint);

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_BYTEALPHABET_H
