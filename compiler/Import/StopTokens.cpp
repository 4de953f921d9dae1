// SPDX-License-Identifier: Apache-2.0
//
// StopTokens.h.

#include "compiler/Import/StopTokens.h"

#include "dialects/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"

namespace llmc::importer {

/// Tokens that end a turn, in the spelling of the models that have them.
static constexpr StringRef kEndsOfTurn[] = {
    "<|eot_id|>",    "<|eom_id|>",    "<|im_end|>",      "<|end|>",
    "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<EOT>"};

enum class TokenType : uint32_t { Control = 3, UserDefined = 4 };

void setStopIds(format::Tokenizer &tokenizer, llvm::ArrayRef<int64_t> ids) {
  std::vector<int64_t> stops(ids);
  for (int i = 0; i < tokenizer.types_size(); ++i) {
    auto type = static_cast<TokenType>(tokenizer.types(i));
    if ((type == TokenType::Control || type == TokenType::UserDefined) &&
        llvm::is_contained(kEndsOfTurn, StringRef(tokenizer.tokens(i))))
      stops.push_back(i);
  }
  llvm::sort(stops);
  stops.erase(llvm::unique(stops), stops.end());
  for (int64_t id : stops)
    if (id != kNoToken)
      tokenizer.add_stop_ids(id);
}

} // namespace llmc::importer
