// SPDX-License-Identifier: Apache-2.0
//
// The two tables of the byte alphabet, made once.

#include "runtime/text/ByteAlphabet.h"

#include "runtime/text/Utf8.h"

#include <array>

namespace llmc::text {

namespace {

constexpr unsigned kFirstSubstitute = 0x100;
constexpr unsigned kNumSubstitutes = 68;

bool isPrintable(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) ||
         byte >= 0xae;
}

struct Tables {
  std::array<std::string, 256> spelling;
  std::array<int16_t, kFirstSubstitute + kNumSubstitutes> byteOf;

  Tables() {
    byteOf.fill(-1);
    unsigned substitute = kFirstSubstitute;
    for (unsigned byte = 0; byte < 256; ++byte) {
      unsigned codePoint = isPrintable(byte) ? byte : substitute++;
      appendUtf8(codePoint, spelling[byte]);
      byteOf[codePoint] = static_cast<int16_t>(byte);
    }
  }
};

const Tables &tables() {
  static const Tables instance;
  return instance;
}

} // namespace

const std::string &spellByte(uint8_t byte) { return tables().spelling[byte]; }

int readByte(char32_t codePoint) {
  return codePoint < tables().byteOf.size() ? tables().byteOf[codePoint] : -1;
}

} // namespace llmc::text
