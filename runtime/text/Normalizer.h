// SPDX-License-Identifier: Apache-2.0
//
// What some tokenizers do to a text before they cut it.

#ifndef LLMC_RUNTIME_TEXT_NORMALIZER_H
#define LLMC_RUNTIME_TEXT_NORMALIZER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::text {

/// One step. The numbers are those of manifest.proto.
enum class Normalization : uint8_t {
  Nfc = 1,
  Nfd = 2,
  Lowercase = 3,
  StripNonspacingMarks = 4, // category Mn, as BERT's accents
  StripMarks = 5,           // all of category M
  CleanControls = 6, // BERT: control characters and U+FFFD vanish, white space
                     // becomes spaces
  SpaceHan = 7,      // BERT: a space on both sides of each Han ideograph
};

/// The last number.
constexpr unsigned kNumNormalizations = 7;

/// `text` after `steps`, one after another. Any bytes: those that are not
/// UTF-8 stay as they are.
std::string normalize(std::string_view text,
                      const std::vector<Normalization> &steps);

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_NORMALIZER_H
