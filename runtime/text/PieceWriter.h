// SPDX-License-Identifier: Apache-2.0
//
// Where the pieces of a text become ids: what no token spells becomes byte
// tokens or the unknown token.

#ifndef LLMC_RUNTIME_TEXT_PIECEWRITER_H
#define LLMC_RUNTIME_TEXT_PIECEWRITER_H

#include "runtime/text/Vocabulary.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace llmc::text {

/// Refers to both for as long as it lives, which is one text.
class PieceWriter {
public:
  PieceWriter(const Vocabulary &vocabulary, std::vector<int32_t> &ids)
      : vocabulary(vocabulary), ids(ids) {}

  /// Appends `id`, which some piece of the text has.
  void writeToken(int32_t id);

  /// Appends the ids of a character that has no token: its bytes if the
  /// vocabulary has them all, else the unknown token, which neighbours share
  /// if the spec fuses them. Fails if there is none.
  Status writeCharacter(std::string_view bytes);

private:
  const Vocabulary &vocabulary;
  std::vector<int32_t> &ids;
  bool lastWasUnknown = false;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_PIECEWRITER_H
