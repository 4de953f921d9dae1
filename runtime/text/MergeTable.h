// SPDX-License-Identifier: Apache-2.0
//
// The merges of a vocabulary by rank: which two symbols become which.

#ifndef LLMC_RUNTIME_TEXT_MERGETABLE_H
#define LLMC_RUNTIME_TEXT_MERGETABLE_H

#include "runtime/text/PairMerger.h"
#include "runtime/text/Vocabulary.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace llmc::text {

class MergeTable {
public:
  /// Reads the spec's merges. `vocabulary` must outlive the table. Fails for a
  /// merge that is not "left right".
  static StatusOr<MergeTable> create(const Vocabulary &vocabulary);

  /// The number of a symbol: the id of the token, a larger number for what
  /// merges name and is no token, or kNoToken.
  int32_t symbolOf(std::string_view spelling) const;

  /// What two symbols become.
  std::optional<Merge> find(int32_t left, int32_t right) const;

private:
  struct RankedMerge {
    uint32_t rank;
    int32_t symbol;
  };

  explicit MergeTable(const Vocabulary &vocabulary) : vocabulary(&vocabulary) {}

  Status read();
  int32_t numberSymbol(std::string_view spelling);

  const Vocabulary *vocabulary;
  std::unordered_map<std::string, int32_t> others;
  std::unordered_map<uint64_t, RankedMerge> merges;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_MERGETABLE_H
