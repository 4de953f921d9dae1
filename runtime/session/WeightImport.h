// SPDX-License-Identifier: Apache-2.0
//
// Which pages of a file a device that takes the program's memory would use as
// the weights of a variant.

#ifndef LLMC_RUNTIME_SESSION_WEIGHTIMPORT_H
#define LLMC_RUNTIME_SESSION_WEIGHTIMPORT_H

#include "runtime/format/manifest.pb.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace llmc::runtime {

/// Bytes of the file, from `begin` to `end` (not included).
struct FileRange {
  uint64_t begin = 0, end = 0;
};

/// Bytes of a weight buffer of the file's plan, and where they are.
struct ImportedPiece {
  uint32_t buffer = 0;
  uint64_t offset = 0, size = 0; // in that buffer
  uint32_t range = 0;
  uint64_t offsetInRange = 0;
};

struct ImportPlan {
  std::vector<FileRange> ranges;     // multiples of the alignment
  std::vector<ImportedPiece> pieces; // by buffer, then offset

  /// The piece that `slice` of a weight buffer lies in; null: in none.
  const ImportedPiece *find(const format::Slice &slice) const;
};

/// Sections of `variant` that follow each other in the file share a range of at
/// most `mostBytes` (0: any); what other variants use is in none. None when
/// sections don't begin at multiples of `alignment`, or a dispatch binds what
/// no single section fills.
std::optional<ImportPlan> planImport(const format::Manifest &manifest,
                                     const format::Variant &variant,
                                     uint64_t alignment, uint64_t mostBytes);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_WEIGHTIMPORT_H
