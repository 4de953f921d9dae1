// SPDX-License-Identifier: Apache-2.0
//
// Weights larger than a device binds at once, cut by rows. The bytes stay as
// docs/layouts.md says: since every plane is ordered by tiles of rows, the rows
// of a part are one range of each plane.

#ifndef LLMC_CODEGEN_LOWERING_WEIGHTPARTS_H
#define LLMC_CODEGEN_LOWERING_WEIGHTPARTS_H

#include "codegen/Lowering/WeightLayout.h"
#include "dialects/Support/LLVM.h"
#include "dialects/Target/Target.h"

#include <optional>
#include <vector>

namespace llmc::codegen {

/// Some rows of a weight.
struct RowRange {
  int64_t first = 0;
  int64_t rows = 0;
};

/// Bytes of `plane` that one tile of 16 rows takes.
int64_t planeBytesPerTile(const WeightLayout &layout, const Plane &plane);

/// Cuts a `tile16` weight by rows so that each part's share of every plane has
/// at most `maxBytes` and begins at a multiple of `alignment` (a power of two).
/// All parts but the last have equal sizes, multiples of 64 rows. One part when
/// the whole fits; nothing when 64 rows (or what the alignment asks for) do
/// not.
std::optional<std::vector<RowRange>>
splitRows(const WeightLayout &layout, int64_t maxBytes, int64_t alignment);

/// `splitRows` for what the device binds at once; an error at `op` names the
/// plane that does not fit.
FailureOr<std::vector<RowRange>> partsForDevice(Operation *op,
                                                const WeightLayout &layout,
                                                target::DeviceAttr device);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_WEIGHTPARTS_H
