// SPDX-License-Identifier: Apache-2.0
//
// Writes one weight: packed from its sources, or copied from an earlier file
// where that has what packing would give.

#ifndef LLMC_COMPILER_SERIALIZATION_WEIGHTWRITER_H
#define LLMC_COMPILER_SERIALIZATION_WEIGHTWRITER_H

#include "compiler/Serialization/EarlierFile.h"
#include "compiler/Serialization/OutputFile.h"
#include "compiler/Serialization/WeightTable.h"

#include <cstdint>
#include <string>

namespace llmc::serialization {

/// What the manifest says of the bytes, and where they came from.
struct WrittenWeight {
  std::string recipe; // hashRecipe
  uint64_t checksum = 0;
  bool isCopied = false;
};

/// May be used from several threads.
class WeightWriter {
public:
  /// |earlier| may be null; both stay valid meanwhile.
  WeightWriter(OutputFile &file, const EarlierFile *earlier)
      : file(file), earlier(earlier) {}

  /// Writes layout.bytes bytes at |offset|. An error names the weight that
  /// can't be quantized, the file that can't be written, or the earlier file
  /// that is damaged and must not be.
  llvm::Expected<WrittenWeight> write(const StoredWeight &weight,
                                      uint64_t offset) const;

private:
  llvm::Expected<bool> copy(const StoredWeight &weight, uint64_t offset,
                            WrittenWeight &written) const;
  llvm::Error pack(const StoredWeight &weight, uint64_t offset,
                   WrittenWeight &written) const;

  OutputFile &file;
  const EarlierFile *earlier;
};

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_WEIGHTWRITER_H
