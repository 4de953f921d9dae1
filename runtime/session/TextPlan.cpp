// SPDX-License-Identifier: Apache-2.0
//
// TextPlan.h.

#include "runtime/session/TextPlan.h"

#include <algorithm>

namespace llmc::runtime {

std::vector<TextStep> planTexts(const std::vector<uint32_t> &lengths,
                                std::vector<uint32_t> buckets) {
  std::sort(buckets.begin(), buckets.end());
  std::vector<TextStep> steps;
  uint32_t shorter = 0; // than these are texts of smaller buckets
  for (const uint32_t bucket : buckets) {
    bool isOpen = false;
    for (size_t text = 0; text < lengths.size(); ++text) {
      const uint32_t length = lengths[text];
      if (length <= shorter || length > bucket)
        continue;
      const uint32_t next = isOpen ? (steps.back().rows + kTextAlignment - 1) /
                                         kTextAlignment * kTextAlignment
                                   : 0;
      if (!isOpen || next + length > bucket) {
        steps.push_back({bucket, length, {{text, 0}}});
        isOpen = true;
        continue;
      }
      steps.back().texts.push_back({text, next});
      steps.back().rows = next + length;
    }
    shorter = bucket;
  }
  return steps;
}

} // namespace llmc::runtime
