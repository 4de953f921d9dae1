// SPDX-License-Identifier: Apache-2.0
//
// The part of a tokenizer that differs between its kinds: plain text to ids,
// and an ordinary token to bytes.

#ifndef LLMC_RUNTIME_TEXT_TOKENMODEL_H
#define LLMC_RUNTIME_TEXT_TOKENMODEL_H

#include "runtime/format/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::text {

/// Immutable; may be used from several threads.
class TokenModel {
public:
  virtual ~TokenModel() = default;

  /// Appends the ids of `text`, which holds no special tokens and may be any
  /// bytes. Fails where a part has no token and the model no unknown token.
  virtual Status encode(std::string_view text,
                        std::vector<int32_t> &ids) const = 0;

  /// Appends the bytes that the token `id` of type Normal or Unused stands for.
  virtual void appendNormal(int32_t id, std::string &bytes) const = 0;
};

/// The failure for bytes that nothing in the vocabulary stands for.
Status missingTokenError(std::string_view symbol);

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_TOKENMODEL_H
