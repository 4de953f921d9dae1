// SPDX-License-Identifier: Apache-2.0
//
// Rows of numbers in a file.

#ifndef LLMC_TOOLS_LLMC_ROWFILE_H
#define LLMC_TOOLS_LLMC_ROWFILE_H

#include "runtime/format/Status.h"

#include <cstdio>
#include <fstream>
#include <string>

namespace llmc::tool {

/// Rows of fp32 in a file that appears when all of them are written.
class RowFile {
public:
  RowFile(std::string path, size_t rowFloats)
      : path(std::move(path)), temporary(this->path + ".tmp"),
        rowBytes(rowFloats * sizeof(float)), file(temporary, std::ios::binary) {
  }
  ~RowFile() { std::remove(temporary.c_str()); }

  Status append(const float *row) {
    file.write(reinterpret_cast<const char *>(row),
               static_cast<std::streamsize>(rowBytes));
    return file ? okStatus() : failure();
  }
  Status finish() {
    file.close();
    if (!file || std::rename(temporary.c_str(), path.c_str()) != 0)
      return failure();
    return okStatus();
  }

private:
  Status failure() const {
    return Status(StatusCode::Io, path + ": could not write");
  }

  std::string path;
  std::string temporary;
  size_t rowBytes;
  std::ofstream file;
};

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_ROWFILE_H
