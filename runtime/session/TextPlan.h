// SPDX-License-Identifier: Apache-2.0
//
// Which texts share a step of an encoder, and where in it each begins.

#ifndef LLMC_RUNTIME_SESSION_TEXTPLAN_H
#define LLMC_RUNTIME_SESSION_TEXTPLAN_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace llmc::runtime {

/// A text's first row is a multiple of it: the compiler's kTextAlignment
/// (dialects/Graph/TextAlignment.h), at which a text's bits don't depend on
/// where it begins.
inline constexpr uint32_t kTextAlignment = 64;

struct PlacedText {
  size_t text = 0; // its number
  uint32_t firstRow = 0;
};

struct TextStep {
  uint32_t bucket = 0; // rows the step is compiled for
  uint32_t rows = 0;   // up to the end of the last text
  std::vector<PlacedText> texts;
};

/// Puts texts into steps. A text runs in the smallest bucket that holds it,
/// whatever runs beside it, since kernels of different buckets round
/// differently; texts of one bucket share steps as they fit, in their order.
/// `lengths` are 1 to the largest bucket.
std::vector<TextStep> planTexts(const std::vector<uint32_t> &lengths,
                                std::vector<uint32_t> buckets);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_TEXTPLAN_H
