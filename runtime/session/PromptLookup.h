// SPDX-License-Identifier: Apache-2.0
//
// Guesses what comes next from what was there before: texts repeat themselves.

#ifndef LLMC_RUNTIME_SESSION_PROMPTLOOKUP_H
#define LLMC_RUNTIME_SESSION_PROMPTLOOKUP_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace llmc::runtime {

/// Appends up to `most` tokens to `draft`: those that followed the last earlier
/// place where the text's end stood. The longest end of 3, 2 or 1 tokens that
/// stood anywhere counts. Nothing when none did.
void draftFromText(const std::vector<int32_t> &text, size_t most,
                   std::vector<int32_t> &draft);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_PROMPTLOOKUP_H
