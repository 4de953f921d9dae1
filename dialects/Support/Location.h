// SPDX-License-Identifier: Apache-2.0
//
// Locations as people name places: parts of a model, lines of a file.

#ifndef LLMC_DIALECTS_SUPPORT_LOCATION_H
#define LLMC_DIALECTS_SUPPORT_LOCATION_H

#include "dialects/Support/LLVM.h"

#include "mlir/IR/Location.h"

#include <string>

namespace llmc {

/// "blk.0.attn_q" of a named location, "file:line:column" of one in a file, the
/// first part with a name of a fused one; empty if nothing is known.
std::string describeLocation(Location location);

} // namespace llmc

#endif // LLMC_DIALECTS_SUPPORT_LOCATION_H
