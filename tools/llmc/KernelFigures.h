// SPDX-License-Identifier: Apache-2.0
//
// What the targets' driver compilers made of kernels, as
// `tools/shader-stats/report --json=FILE` wrote it.

#ifndef LLMC_TOOLS_LLMC_KERNELFIGURES_H
#define LLMC_TOOLS_LLMC_KERNELFIGURES_H

#include "runtime/format/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace llmc::tool {

struct KernelFigures {
  /// As the driver counts: vectors of four words on an Adreno, else words.
  uint64_t registers = 0;
  /// Waves of an Adreno's core; 2 or 1 on a Mali, where 2 is full.
  uint64_t occupancy = 0;
  uint64_t spills = 0;
  uint64_t fills = 0;
  /// Thread-local memory, in bytes for each invocation.
  uint64_t threadLocalBytes = 0;
  /// Of the hot loop; absent where none was found.
  std::optional<double> instructionsPerMultiplyAdd;
  /// Bytes that one load of weights takes; absent if it loads none.
  std::optional<double> weightBytesPerLoad;
};

/// Figures by target and by the XXH3 of the code, in 16 hexadecimal digits.
class KernelFiguresFile {
public:
  /// Reads |path|. Refuses what is not written by `report`, with the reason.
  static StatusOr<KernelFiguresFile> open(const std::string &path);

  /// Null if the kernel was not measured, or could not be compiled.
  const KernelFigures *find(const std::string &target,
                            const std::string &checksum) const;

  const std::string &mesaVersion() const { return mesa; }

private:
  std::string mesa;
  std::map<std::pair<std::string, std::string>, KernelFigures> figures;
};

/// |checksum| as `report` and `llmc inspect --json` write it.
std::string checksumText(uint64_t checksum);

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_KERNELFIGURES_H
