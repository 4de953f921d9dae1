// SPDX-License-Identifier: Apache-2.0
//
// A file that appears under its name only when it is whole.

#ifndef LLMC_COMPILER_SERIALIZATION_OUTPUTFILE_H
#define LLMC_COMPILER_SERIALIZATION_OUTPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace llmc::serialization {

/// Writes to a temporary name beside the final one. `commit` renames it; a file
/// that is destroyed without is removed, also when a signal ends the process.
class OutputFile {
public:
  /// The folder of |path| must exist.
  static llvm::Expected<std::unique_ptr<OutputFile>>
  create(llvm::StringRef path);

  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// Writes at an offset; bytes never written are zero. May be called from
  /// several threads for different ranges.
  llvm::Error write(uint64_t offset, const void *data, size_t size);

  /// Gives the file its name, replacing a file of that name.
  llvm::Error commit();

private:
  OutputFile(std::string path, std::string temporaryPath, int descriptor);
  llvm::Error failed(llvm::StringRef act) const;

  std::string path;
  std::string temporaryPath;
  int descriptor;
};

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_OUTPUTFILE_H
