// SPDX-License-Identifier: Apache-2.0
//
// The first 64 bytes of a .llmc file. docs/file-format.md has the table.

#ifndef LLMC_RUNTIME_FORMAT_FILEHEADER_H
#define LLMC_RUNTIME_FORMAT_FILEHEADER_H

#include "runtime/format/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace llmc::format {

inline constexpr size_t kFileHeaderBytes = 64;
inline constexpr uint64_t kSectionAlignment = 4096;
inline constexpr uint16_t kMajorVersion = 1; // readers refuse another
inline constexpr uint16_t kMinorVersion = 0; // readers accept any

struct FileHeader {
  uint16_t majorVersion = kMajorVersion;
  uint16_t minorVersion = kMinorVersion;
  uint64_t manifestOffset = 0;   // from the start of the file
  uint64_t manifestSize = 0;     // bytes
  uint64_t manifestChecksum = 0; // XXH3-64 of the manifest's bytes
  uint64_t fileSize =
      0; // bytes; a file of another size is truncated or extended
};

/// The 64 bytes, magic and checksum included.
std::array<uint8_t, kFileHeaderBytes>
encodeFileHeader(const FileHeader &header);

/// Reads a header from the first `size` bytes of a file. Refuses a short or
/// foreign file, another major version, a wrong checksum and a manifest outside
/// of the file the header describes.
StatusOr<FileHeader> decodeFileHeader(const uint8_t *data, size_t size);

} // namespace llmc::format

#endif // LLMC_RUNTIME_FORMAT_FILEHEADER_H
