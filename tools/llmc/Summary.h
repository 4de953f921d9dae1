// SPDX-License-Identifier: Apache-2.0
//
// Figures of a .llmc file that people and scripts want to see.

#ifndef LLMC_TOOLS_LLMC_SUMMARY_H
#define LLMC_TOOLS_LLMC_SUMMARY_H

#include "runtime/format/Reader.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace llmc::tool {

struct EntrySummary {
  std::string function;
  uint32_t rows = 0;
  size_t numDispatches = 0;
  size_t numBarriers = 0;
  /// Dispatches whose label begins with "blk.N.", as "7" or "6-8" over N.
  size_t leastPerLayer = 0;
  size_t mostPerLayer = 0;
  std::string dispatchesPerLayer;
};

struct VariantSummary {
  std::string target;
  uint64_t weightBytes = 0;
  uint64_t arenaBytes = 0;
  uint64_t stateBytes = 0;
  /// Of weights that are matrices, padding and scales included.
  double bytesPerWeight = 0;
  size_t numKernels = 0;
  std::vector<EntrySummary> entries;
};

VariantSummary summarize(const format::Manifest &manifest,
                         const format::Variant &variant);

/// The manifest and the summaries as JSON, without the tokenizer's lists.
std::string toJson(const format::Reader &reader);

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_SUMMARY_H
