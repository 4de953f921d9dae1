// SPDX-License-Identifier: Apache-2.0
//
// What happens to a tokenizer after it has been read.

#ifndef LLMC_TEST_FUZZ_TOKENIZERUSE_H
#define LLMC_TEST_FUZZ_TOKENIZERUSE_H

#include "runtime/format/manifest.pb.h"

#include <string_view>

namespace llmc::fuzz {

/// Makes a tokenizer, if `manifest` describes one, and lets it encode and
/// decode `text` and a few texts of its own. Ids out of range are a finding.
void useTokenizer(const format::Tokenizer &manifest, std::string_view text);

} // namespace llmc::fuzz

#endif // LLMC_TEST_FUZZ_TOKENIZERUSE_H
