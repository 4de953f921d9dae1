// SPDX-License-Identifier: Apache-2.0
//
// PieceWriter.h.

#include "runtime/text/PieceWriter.h"

#include "runtime/text/TokenModel.h"

#include <algorithm>

namespace llmc::text {

void PieceWriter::writeToken(int32_t id) {
  ids.push_back(id);
  lastWasUnknown = false;
}

Status PieceWriter::writeCharacter(std::string_view bytes) {
  auto tokenOf = [&](char c) {
    return vocabulary.byteToken(static_cast<uint8_t>(c));
  };
  if (std::none_of(bytes.begin(), bytes.end(),
                   [&](char c) { return tokenOf(c) == kNoToken; })) {
    for (char c : bytes)
      writeToken(tokenOf(c));
    return okStatus();
  }
  const TokenizerSpec &spec = vocabulary.spec();
  if (spec.unknownId == kNoToken)
    return missingTokenError(bytes);
  if (!lastWasUnknown || !spec.fuseUnknown)
    ids.push_back(static_cast<int32_t>(spec.unknownId));
  lastWasUnknown = true;
  return okStatus();
}

} // namespace llmc::text
