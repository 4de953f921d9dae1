// SPDX-License-Identifier: Apache-2.0
//
// The error that all kinds of tokenizer share.

#include "runtime/text/TokenModel.h"

#include <cstdio>

namespace llmc::text {

Status missingTokenError(std::string_view symbol) {
  std::string hex;
  for (char c : symbol) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), " %02x",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    hex += digits;
  }
  return Status(StatusCode::InvalidArgument,
                "tokenizer: the vocabulary has no token for the bytes" + hex +
                    " and no unknown token");
}

} // namespace llmc::text
