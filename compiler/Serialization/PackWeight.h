// SPDX-License-Identifier: Apache-2.0
//
// From a model file's bytes to the planes of docs/layouts.md. Plain C++.

#ifndef LLMC_COMPILER_SERIALIZATION_PACKWEIGHT_H
#define LLMC_COMPILER_SERIALIZATION_PACKWEIGHT_H

#include "codegen/Lowering/WeightLayout.h"
#include "dialects/Graph/Packing.h"

#include <cstdint>
#include <vector>

namespace llmc::serialization {

/// Packs one weight. Rows of several sources follow one another.
class WeightPacker {
public:
  /// |sources| have |layout|.rows rows of |layout|.columns numbers in all, or
  /// for a `vector` |layout|.columns numbers; they are in |encoding| and stay
  /// valid meanwhile. The layout's format is the one |encoding| is packed as.
  WeightPacker(graph::Encoding encoding, const codegen::WeightLayout &layout,
               const std::vector<graph::RowSource> &sources);

  /// Tiles of 16 rows; 1 for a `vector`.
  int64_t numTiles() const;

  /// Packs tiles [begin, end) into |packed|: layout.bytes bytes, which are zero
  /// where the tiles lie. Different tiles may be packed by different threads.
  /// Gives what is wrong when a number can't be quantized as it should.
  std::optional<std::string> packTiles(int64_t begin, int64_t end,
                                       uint8_t *packed) const;

private:
  void packVector(uint8_t *packed) const;
  std::optional<std::string> packTile(int64_t tile, uint8_t *packed) const;
  std::vector<const uint8_t *>
  rowsOfTile(int64_t tile, std::vector<uint8_t> &scratch,
             std::optional<std::string> &problem) const;

  graph::Encoding encoding;
  const codegen::WeightLayout &layout;
  std::vector<graph::RowSource> sources;
};

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_PACKWEIGHT_H
