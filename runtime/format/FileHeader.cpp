// SPDX-License-Identifier: Apache-2.0
//
// FileHeader.h: fixed offsets, little endian whatever the host is.

#include "runtime/format/FileHeader.h"

#include "runtime/format/Checksum.h"

#include <cstring>

namespace llmc::format {

namespace {

constexpr uint8_t kMagic[4] = {'L', 'L', 'M', 'C'};
constexpr size_t kChecksumOffset = 56;

template <typename T>
void putLittleEndian(uint8_t *out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out[i] = static_cast<uint8_t>(value >> (8 * i));
}

template <typename T>
T getLittleEndian(const uint8_t *in) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | (static_cast<T>(in[i]) << (8 * i)));
  return value;
}

Status invalid(const std::string &sentence) {
  return Status(StatusCode::InvalidFile, sentence);
}

} // namespace

std::array<uint8_t, kFileHeaderBytes>
encodeFileHeader(const FileHeader &header) {
  std::array<uint8_t, kFileHeaderBytes> bytes{};
  std::memcpy(bytes.data(), kMagic, sizeof(kMagic));
  putLittleEndian(&bytes[4], header.majorVersion);
  putLittleEndian(&bytes[6], header.minorVersion);
  putLittleEndian(&bytes[8], header.manifestOffset);
  putLittleEndian(&bytes[16], header.manifestSize);
  putLittleEndian(&bytes[24], header.manifestChecksum);
  putLittleEndian(&bytes[32], header.fileSize);
  putLittleEndian(&bytes[kChecksumOffset],
                  checksum(bytes.data(), kChecksumOffset));
  return bytes;
}

StatusOr<FileHeader> decodeFileHeader(const uint8_t *data, size_t size) {
  if (size < kFileHeaderBytes)
    return invalid("the file has " + std::to_string(size) +
                   " bytes, a header alone needs " +
                   std::to_string(kFileHeaderBytes));
  if (std::memcmp(data, kMagic, sizeof(kMagic)) != 0)
    return invalid("the magic is not \"LLMC\": this is not a .llmc file");
  FileHeader header;
  header.majorVersion = getLittleEndian<uint16_t>(data + 4);
  header.minorVersion = getLittleEndian<uint16_t>(data + 6);
  header.manifestOffset = getLittleEndian<uint64_t>(data + 8);
  header.manifestSize = getLittleEndian<uint64_t>(data + 16);
  header.manifestChecksum = getLittleEndian<uint64_t>(data + 24);
  header.fileSize = getLittleEndian<uint64_t>(data + 32);
  // Version before checksum: another major version may protect its header
  // differently.
  if (header.majorVersion != kMajorVersion)
    return invalid("the format's major version is " +
                   std::to_string(header.majorVersion) +
                   ", this program reads " + std::to_string(kMajorVersion) +
                   "; compile the model again with this version");
  if (getLittleEndian<uint64_t>(data + kChecksumOffset) !=
      checksum(data, kChecksumOffset))
    return invalid("the header's checksum does not match: the file is damaged");
  if (header.manifestOffset < kFileHeaderBytes ||
      header.manifestOffset > header.fileSize ||
      header.manifestSize > header.fileSize - header.manifestOffset)
    return invalid(
        "the manifest is at " + std::to_string(header.manifestOffset) +
        " with " + std::to_string(header.manifestSize) + " bytes, allowed is " +
        std::to_string(kFileHeaderBytes) + " up to the file's end at " +
        std::to_string(header.fileSize));
  return header;
}

} // namespace llmc::format
