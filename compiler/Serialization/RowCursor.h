// SPDX-License-Identifier: Apache-2.0
//
// Where a row's parts lie in the planes of a tile (docs/layouts.md).

#ifndef LLMC_COMPILER_SERIALIZATION_ROWCURSOR_H
#define LLMC_COMPILER_SERIALIZATION_ROWCURSOR_H

#include "codegen/Lowering/WeightLayout.h"

#include <cstdint>

namespace llmc::serialization {

/// One row's place in the planes of a tile; `Byte` is uint8_t or const uint8_t.
template <typename Byte>
class BasicRowCursor {
public:
  /// |row| is the row's number within the tile.
  BasicRowCursor(const codegen::WeightLayout &layout, Byte *packed,
                 int64_t tile, int64_t row)
      : layout(layout), packed(packed), tile(tile), quad(row / 4),
        lane(row % 4) {}

  /// The quad's element of the plane for the group of columns that holds
  /// |column|.
  Byte *element(codegen::PlaneKind kind, int64_t column) const {
    const codegen::Plane &plane = layout.plane(kind);
    int64_t index = tile * layout.elementsPerTile(kind) +
                    column / plane.columnsPerElement * codegen::kQuadsPerTile +
                    quad;
    return packed + plane.offset + index * plane.bytesPerElement;
  }

  /// The row within its quad, 0 … 3.
  int64_t row() const { return lane; }

private:
  const codegen::WeightLayout &layout;
  Byte *packed;
  int64_t tile;
  int64_t quad;
  int64_t lane;
};

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_ROWCURSOR_H
