// SPDX-License-Identifier: Apache-2.0
//
// Figures of a .llmc file that people and scripts want to see.

#ifndef LLMC_TOOLS_LLMC_SUMMARY_H
#define LLMC_TOOLS_LLMC_SUMMARY_H

#include "runtime/format/Reader.h"
#include "tools/llmc/KernelFigures.h"

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
  /// Element type of KV caches; empty without any.
  std::string kvType;
  /// Of weights that are matrices, padding and scales included.
  double bytesPerWeight = 0;
  size_t numKernels = 0;
  /// Cases of the self-test.
  size_t numSelfTests = 0;
  std::vector<EntrySummary> entries;
};

VariantSummary summarize(const format::Manifest &manifest,
                         const format::Variant &variant);

/// XXH3 of a kernel's code.
uint64_t codeChecksum(const format::Reader &reader,
                      const format::Kernel &kernel);

/// The manifest and the summaries as JSON, without the tokenizer's lists.
/// |figures| may be null; else its kernels get the member "measured".
std::string toJson(const format::Reader &reader,
                   const KernelFiguresFile *figures);

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_SUMMARY_H
