// SPDX-License-Identifier: Apache-2.0
//
// How a prompt is cut into steps.

#ifndef LLMC_RUNTIME_SESSION_PREFILLPLAN_H
#define LLMC_RUNTIME_SESSION_PREFILLPLAN_H

#include <cstdint>
#include <vector>

namespace llmc::runtime {

struct PrefillStep {
  uint32_t bucket = 0; // rows the step is compiled for
  uint32_t rows = 0;   // rows it has, 1 … bucket
};

/// Cuts `numTokens` into steps, larger ones first, so that the sum of their
/// costs is the least. A step of bucket b costs b + kStepCost: its padding rows
/// are computed too, and every step reads all weights once, which is worth
/// about kStepCost rows. `buckets` may be in any order, without zeros;
/// numTokens 0 gives no steps.
std::vector<PrefillStep> planPrefill(uint32_t numTokens,
                                     std::vector<uint32_t> buckets);

inline constexpr uint32_t kStepCost = 16;

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_PREFILLPLAN_H
