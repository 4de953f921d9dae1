// SPDX-License-Identifier: Apache-2.0
//
// Which tokens a text begins with.

#ifndef LLMC_RUNTIME_TEXT_PREFIXTABLE_H
#define LLMC_RUNTIME_TEXT_PREFIXTABLE_H

#include "runtime/text/Vocabulary.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace llmc::text {

/// A token that a text begins with.
struct PrefixMatch {
  int32_t id;
  /// Bytes.
  size_t length;
};

/// The tokens that ordinary text may become, in the order of their bytes.
class PrefixTable {
public:
  /// `vocabulary` must outlive the table.
  explicit PrefixTable(const Vocabulary &vocabulary);

  /// All tokens that `text` begins with, the shortest first, in time linear in
  /// the longest. The result is overwritten, so that a loop needs one buffer.
  void find(std::string_view text, std::vector<PrefixMatch> &matches) const;

private:
  const Vocabulary &vocabulary;
  std::vector<int32_t> sorted;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_PREFIXTABLE_H
