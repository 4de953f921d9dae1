// SPDX-License-Identifier: Apache-2.0
//
// DriverFile.h. The file: magic, version, device and driver identity, content
// hash, size and checksum of the blob, blob.

#include "runtime/vulkan/DriverFile.h"

#include "runtime/format/Checksum.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace llmc::vulkan {

namespace {

constexpr char kMagic[8] = {'L', 'L', 'M', 'C', 'P', 'I', 'P', '1'};
constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;

void put(std::vector<uint8_t> &out, const void *data, size_t size) {
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  out.insert(out.end(), bytes, bytes + size);
}

/// Everything that must be equal for a blob to be of use, and the blob's own
/// size and checksum. The file never leaves the machine, so its byte order is
/// the machine's.
std::vector<uint8_t> makeHeader(const DeviceFacts &device, uint64_t contentHash,
                                const uint8_t *blob, size_t size) {
  const uint64_t tail[3] = {contentHash, size, format::checksum(blob, size)};
  std::vector<uint8_t> header;
  header.reserve(256); // the whole header, and more
  put(header, kMagic, sizeof(kMagic));
  put(header, &device.vendorId, sizeof(device.vendorId));
  put(header, &device.deviceId, sizeof(device.deviceId));
  put(header, &device.driverVersion, sizeof(device.driverVersion));
  put(header, device.pipelineCacheUuid.data(), device.pipelineCacheUuid.size());
  put(header, device.deviceUuid.data(), device.deviceUuid.size());
  put(header, device.driverUuid.data(), device.driverUuid.size());
  put(header, tail, sizeof(tail));
  return header;
}

std::vector<uint8_t> readFile(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 ||
      static_cast<uint64_t>(info.st_size) > kMaxFileBytes)
    return {};
  std::ifstream file(path, std::ios::binary);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>());
}

std::string fileName(const DeviceFacts &device, uint64_t contentHash,
                     const std::string &ending) {
  char name[64];
  std::snprintf(name, sizeof(name), "%016llx-%08x-%08x",
                static_cast<unsigned long long>(contentHash), device.vendorId,
                device.deviceId);
  return name + ending;
}

Status createFolders(const std::string &folder) {
  for (size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST)
      return Status(StatusCode::Io,
                    "could not create " + part + ": " + std::strerror(errno));
    if (end == std::string::npos)
      return okStatus();
  }
}

} // namespace

std::vector<uint8_t> encodeDriverFile(const DeviceFacts &device,
                                      uint64_t contentHash,
                                      const std::vector<uint8_t> &blob) {
  std::vector<uint8_t> file =
      makeHeader(device, contentHash, blob.data(), blob.size());
  put(file, blob.data(), blob.size());
  return file;
}

std::vector<uint8_t> decodeDriverFile(const DeviceFacts &device,
                                      uint64_t contentHash,
                                      const std::vector<uint8_t> &file) {
  const size_t headerSize = makeHeader(device, contentHash, nullptr, 0).size();
  if (file.size() <= headerSize)
    return {};
  const uint8_t *blob = file.data() + headerSize;
  const std::vector<uint8_t> expected =
      makeHeader(device, contentHash, blob, file.size() - headerSize);
  if (std::memcmp(expected.data(), file.data(), headerSize) != 0)
    return {};
  return std::vector<uint8_t>(blob, file.data() + file.size());
}

DriverFile::DriverFile(const DeviceFacts &device, const std::string &folder,
                       uint64_t contentHash, const std::string &ending)
    : device(device),
      path(folder.empty()
               ? ""
               : folder + "/" + fileName(device, contentHash, ending)),
      contentHash(contentHash) {}

std::vector<uint8_t> DriverFile::read() const {
  if (path.empty())
    return {};
  return decodeDriverFile(device, contentHash, readFile(path));
}

Status DriverFile::write(const std::vector<uint8_t> &blob) const {
  if (path.empty())
    return okStatus();
  LLMC_RETURN_IF_ERROR(createFolders(path.substr(0, path.rfind('/'))));
  const std::vector<uint8_t> bytes =
      encodeDriverFile(device, contentHash, blob);
  const std::string temporary =
      path + "." + std::to_string(::getpid()) + ".tmp";
  std::ofstream file(temporary, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const Status status(StatusCode::Io, "could not write " + path + ": " +
                                            std::strerror(errno));
    std::remove(temporary.c_str());
    return status;
  }
  return okStatus();
}

} // namespace llmc::vulkan
