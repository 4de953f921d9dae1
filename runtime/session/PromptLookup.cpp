// SPDX-License-Identifier: Apache-2.0
//
// PromptLookup.h. A plain search: contexts have some thousand tokens, a step of
// a model takes a million times as long as looking at one of them.

#include "runtime/session/PromptLookup.h"

#include <algorithm>

namespace llmc::runtime {

static constexpr size_t kLongestEnd = 3;

void draftFromText(const std::vector<int32_t> &text, size_t most,
                   std::vector<int32_t> &draft) {
  for (size_t length = kLongestEnd; length >= 1; --length) {
    if (text.size() <= length)
      continue;
    const auto end = text.end() - static_cast<ptrdiff_t>(length);
    // The last place that begins before the end itself does.
    const auto found =
        std::find_end(text.begin(), text.end() - 1, end, text.end());
    if (found == text.end() - 1)
      continue;
    const auto next = found + static_cast<ptrdiff_t>(length);
    draft.insert(draft.end(), next,
                 next + static_cast<ptrdiff_t>(std::min<size_t>(
                            most, static_cast<size_t>(text.end() - next))));
    return;
  }
}

} // namespace llmc::runtime
